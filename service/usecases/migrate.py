"""Bring the tables of an older service to what this one needs, once, however often and by however many it is run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.domain.address import normal_email
from service.domain.errors import InvalidParameter
from service.domain.movie import ORIGIN, Movie, is_legacy_frame, turned_points
from service.store.indexes import add_index, gaps
from service.store.legacy import LAST_FRAME, Legacy
from service.store.schema import EMAILS, FRAMES, MOVIES, USERS, create_tables
from service.store.stores import Stores
from service.usecases.known_markers import known_markers

_AT_ONCE = 20
Tell = Callable[[str, int], None]
"""Told after each batch: the movie's id, and how many of its old frames have been looked at."""


@dataclass
class Migrated:
    """What a run did, or with `dry_run` would do. `skipped`: movies and people left as they are, and why."""

    tables: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    movies: int = 0
    rows_completed: int = 0
    marker_maps: int = 0
    movies_turned: int = 0
    frames_turned: int = 0
    people: int = 0
    addresses_corrected: int = 0
    addresses_claimed: int = 0
    skipped: list[str] = field(default_factory=list)


def _untold(_movie_id: str, _frames: int) -> None:
    """Nobody asked to be told."""


async def migrate(stores: Stores, *, dry_run: bool = False, tell: Tell = _untold) -> Migrated:
    """Add tables and indexes, then complete movie rows, write marker maps, turn points from the upper left, and bring
    people's addresses to the one form under which they are looked up.

    Deletes nothing. Every write has its own condition, so a run that was killed is finished by the next one, and runs
    beside each other or beside the service harm nothing. Raises Unavailable (run it again), ClientError.
    """
    done = Migrated()
    missing = await _shapes(stores, done, dry_run)
    legacy = Legacy(stores.database)

    def there(*tables: str) -> bool:
        return not any(stores.database.prefix + table in missing for table in tables)

    if there(MOVIES, FRAMES):
        async for movie in legacy.movies():
            done.movies += 1
            await _movie(stores, legacy, movie, done, dry_run, tell)
    if there(USERS):
        await _people(stores, legacy, done, dry_run, claims_there=there(EMAILS))
    return done


async def _shapes(stores: Stores, done: Migrated, dry_run: bool) -> Sequence[str]:
    """Tables and indexes; returns the names of tables that are still missing, which only a dry run leaves."""
    client, prefix = stores.database.client, stores.database.prefix
    found = await gaps(client, prefix)
    done.differing += found.differing
    if dry_run:
        done.tables += found.tables
        done.indexes += [f"{prefix}{shape.name}.{index.name}" for shape, index in found.indexes]
        return found.tables
    done.tables += (await create_tables(client, prefix)).created
    for shape, index in found.indexes:
        if await add_index(client, prefix, shape, index):
            done.indexes.append(f"{prefix}{shape.name}.{index.name}")
    return ()


async def _movie(stores: Stores, legacy: Legacy, movie: Movie, done: Migrated, dry_run: bool, tell: Tell) -> None:
    lacking = _lacking(movie)
    if lacking and (dry_run or await legacy.complete(movie, lacking)):
        done.rows_completed += 1
    if movie.row.get("trackpoint_origin") == ORIGIN:
        return
    old = [
        item
        async for item in stores.frames.span(movie.movie_id, 0, LAST_FRAME, consistent=True)
        if item.get("trackpoints") and is_legacy_frame(movie, item)
    ]
    if old and not movie.frame_height:
        done.skipped.append(f"{movie.movie_id}: width and height are not known")
        return
    labels, unwritten = await known_markers(stores, movie)
    if unwritten and (dry_run or await legacy.write_markers(movie.movie_id, labels)):
        done.marker_maps += 1
    for start in range(0, len(old), _AT_ONCE):
        batch = old[start : start + _AT_ONCE]
        if not dry_run:
            turned = await asyncio.gather(*(legacy.turn(item, turned_points(movie, item, labels)) for item in batch))
            done.frames_turned += sum(turned)
        tell(movie.movie_id, start + len(batch))
    if dry_run:
        done.frames_turned += len(old)
    # Only now: until the row says so, whatever a killed run left is still known for what it is.
    if dry_run or await legacy.say_turned(movie.movie_id):
        done.movies_turned += 1


async def _people(stores: Stores, legacy: Legacy, done: Migrated, dry_run: bool, *, claims_there: bool) -> None:
    """Let people be found by their addresses, however the older service wrote them (A30)."""
    planned: dict[str, str] = {}  # what a dry run would have claimed
    async for user in legacy.people():
        done.people += 1
        user_id, written = user["user_id"], str(user.get("email") or "")
        try:
            address = normal_email(written)
        except InvalidParameter:
            done.skipped.append(f"{user_id}: has no address that can be written to")
            continue
        owner = planned.get(address) or (await stores.people.user_id_of_email(address) if claims_there else None)
        if owner is None:
            if dry_run:
                planned[address] = user_id
            if dry_run or await legacy.claim(address, user_id):
                done.addresses_claimed += 1
                owner = user_id
            else:
                owner = await stores.people.user_id_of_email(address)
        if owner != user_id:
            done.skipped.append(f"{user_id}: has the same address as {owner}")
        elif address != written and (dry_run or await legacy.write_address(user_id, written, address)):
            done.addresses_corrected += 1


def _lacking(movie: Movie) -> dict[str, Any]:
    """Attributes that the row lacks or has in another form, as this service writes them."""
    row = movie.row
    found: dict[str, Any] = {
        name: bool(row.get(name)) for name in ("deleted", "published") if not isinstance(row.get(name), bool)
    }
    if row.get("edit_seq") is None:
        found["edit_seq"] = 0
    if movie.frame_height and not (row.get("frame_width") and row.get("frame_height")):
        found["frame_width"], found["frame_height"] = movie.frame_size
    return found
