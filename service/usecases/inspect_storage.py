"""What lies in the store for one movie, and whether it is what the movie's row says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.access import Actor, check_oversee
from service.domain.movie import PROCESSING, UPLOADING, Movie, condition
from service.store.objects import ObjectMissing
from service.store.stores import Stores

_KINDS = {
    "movie_data": "movie_data_urn",
    "movie_zipfile": "movie_zipfile_urn",
    "movie_traced": "movie_traced_urn",
    "first_frame": "first_frame_urn",
}


@dataclass(frozen=True, slots=True)
class Health:
    """`objects`: each file that the row names. `strays`: keys under the movie's own prefix that it does not name."""

    movie_id: str
    status: str
    problems: list[str]
    objects: list[dict[str, Any]]
    strays: list[str]


async def media(stores: Stores, actor: Actor, movie_id: str) -> list[dict[str, Any]]:
    """Each file that the movie's row names, with a signed link where it exists.

    Raises MovieNotFound, NoRight, Unavailable.
    """
    movie = check_oversee(actor, await stores.movies.get(movie_id))
    found = await _objects(stores, movie)
    for entry in found:
        if entry["exists"]:
            entry["url"] = await stores.objects.link(stores.objects.key_of(entry["urn"]))
    return found


async def storage_health(stores: Stores, actor: Actor, movie_id: str) -> Health:
    """Is every file there that the row names, as long as it says? Raises MovieNotFound, NoRight, Unavailable."""
    movie = check_oversee(actor, await stores.movies.get(movie_id))
    objects = await _objects(stores, movie)
    told = condition(movie, stores.clock.now(), stores.policy.max_attempts)
    problems = [f"{entry['kind']} is named by the movie but does not exist" for entry in objects if not entry["exists"]]
    problems += [
        f"{entry['kind']} has {entry['bytes']} bytes instead of {entry['expected_bytes']}"
        for entry in objects
        if entry["exists"] and entry["expected_bytes"] not in (None, entry["bytes"])
    ]
    if told.status not in (UPLOADING, PROCESSING) and not any(entry["kind"] == "movie_data" for entry in objects):
        problems.append("the movie names no file of its own")
    named = {entry["urn"] for entry in objects}
    kept = await stores.objects.keys(f"movies/{movie.movie_id}/")
    strays = sorted(key for key in kept if stores.objects.urn(key) not in named)
    return Health(movie.movie_id, told.status, problems, objects, strays)


async def _objects(stores: Stores, movie: Movie) -> list[dict[str, Any]]:
    named = [(kind, movie.row[attribute]) for kind, attribute in _KINDS.items() if movie.row.get(attribute)]
    return list(await asyncio.gather(*(_object(stores, kind, urn, movie.row) for kind, urn in named)))


async def _object(stores: Stores, kind: str, urn: str, row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        stored = await stores.objects.head(stores.objects.key_of(urn))
    except ObjectMissing:  # another bucket's
        stored = None
    expected = row.get("total_bytes") if kind == "movie_data" else None
    return {
        "kind": kind,
        "urn": urn,
        "exists": stored is not None,
        "bytes": stored.length if stored else None,
        "expected_bytes": int(expected) if expected is not None else None,
    }
