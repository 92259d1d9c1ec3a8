"""Taking over the tables of an older service: on the real emulator, interrupted, repeated, and by many at once."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from click.testing import CliRunner

from service.cli import main
from service.domain.markers import label_id
from service.local.emulator import Emulator
from service.store.indexes import Gaps, gaps
from service.store.schema import FRAMES, MOVIES, TABLES, USERS, definition
from service.store.table import Put
from service.usecases.migrate import Migrated, migrate
from service.usecases.read_movie import frames as shown_frames
from tests.support.lab import Lab, open_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")
COUNT = 45
LABELS = ("Apex", "Ruler 0mm")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(emulator: Emulator) -> AsyncIterator[Lab]:
    async with open_lab(emulator.endpoint) as running:
        yield running


async def old_movie(lab: Lab, **row: Any) -> str:
    """A row with little in it, and frames whose points have labels and y downwards."""
    movie_id = lab.stores.ids.movie_id()
    item = {"movie_id": movie_id, "user_id": "u1", "course_id": "bio", "status": "ready", "total_frames": COUNT,
            "width": 1280, "height": 960, "published": 1, **row}  # fmt: skip
    await lab.stores.database.write(Put(MOVIES, item))
    for number in range(COUNT):
        points = [{"label": label, "x": 10, "y": 100 + number} for label in LABELS]
        await lab.stores.database.write(
            Put(FRAMES, {"movie_id": movie_id, "frame_number": number, "trackpoints": points})
        )
    return movie_id


async def everything(lab: Lab) -> tuple[list[Any], list[Any]]:
    rows = {
        name: sorted(map(repr, [{k: r[k] for k in sorted(r)} for r in await lab.rows(name)]))
        for name in (MOVIES, FRAMES)
    }
    return rows[MOVIES], rows[FRAMES]


async def as_shown(lab: Lab, movie_id: str) -> dict[int, list[tuple[str, str, float]]]:
    found = await shown_frames(lab.stores, await lab.movie(movie_id), 0, COUNT)
    return {int(n): [(m["marker_id"], m["label"], m["y"]) for m in frame["markers"]] for n, frame in found.items()}


async def check_turned_once(lab: Lab, movie_id: str) -> None:
    movie = await lab.movie(movie_id)
    assert (movie.row["trackpoint_origin"], movie.edit_seq, movie.frame_size) == ("lower-left", 0, (640, 480))
    assert (movie.row["published"], movie.row["deleted"]) == (True, False)
    stored = await lab.frames(movie_id)
    assert {n: [(p["marker_id"], p["y"]) for p in item["trackpoints"]] for n, item in stored.items()} == {
        n: [(label_id(label), 480 - 100.0 - n) for label in LABELS] for n in range(COUNT)
    }
    assert [e["label"] for e in (await lab.stores.frames.markers(movie_id)).values()] == [*LABELS]


async def test_old_points_are_turned_once_by_twenty_at_once_and_read_the_same_a24(lab: Lab) -> None:
    movie_id = await old_movie(lab)
    before = await as_shown(lab, movie_id)
    runs: list[Migrated] = await asyncio.gather(*(migrate(lab.stores) for _ in range(20)))
    assert sum(run.frames_turned for run in runs) == COUNT
    assert [sum(getattr(run, what) for run in runs) for what in ("movies_turned", "marker_maps", "rows_completed")] == [
        1,
        1,
        1,
    ]
    await check_turned_once(lab, movie_id)
    assert await as_shown(lab, movie_id) == before
    settled = await everything(lab)
    again = await migrate(lab.stores)
    assert (again.frames_turned, again.movies_turned, again.marker_maps, again.rows_completed) == (0, 0, 0, 0)
    assert await everything(lab) == settled


async def test_a_run_that_was_killed_half_way_is_finished_by_the_next(lab: Lab) -> None:
    class Killed(Exception):
        """The process ended here."""

    def die(_movie_id: str, _frames: int) -> None:
        raise Killed

    movie_id = await old_movie(lab)
    before = await as_shown(lab, movie_id)
    with pytest.raises(Killed):
        await migrate(lab.stores, tell=die)
    stored = (await lab.frames(movie_id)).values()
    assert {"edit_seq" in item for item in stored} == {True, False}
    assert await as_shown(lab, movie_id) == before
    await migrate(lab.stores)
    await check_turned_once(lab, movie_id)


async def test_a_dry_run_tells_the_same_and_changes_nothing(lab: Lab) -> None:
    await old_movie(lab)
    before = await everything(lab)
    planned = await migrate(lab.stores, dry_run=True)
    assert await everything(lab) == before
    assert planned == await migrate(lab.stores)
    assert (planned.frames_turned, planned.movies_turned) == (COUNT, 1)


async def test_what_was_edited_or_traced_here_stays_as_it_is_and_a_movie_without_a_size_is_named(lab: Lab) -> None:
    movie_id, unsized = await old_movie(lab), await old_movie(lab, width=None)
    own = {"movie_id": movie_id, "frame_number": 3, "trackpoints": [{"marker_id": "m", "x": 1, "y": 2}], "edit_seq": 5}
    traced = {**own, "frame_number": 4, "job_id": "j"}
    del traced["edit_seq"]
    for item in (own, traced):
        await lab.stores.database.write(Put(FRAMES, item))
    old = await lab.frames(unsized)
    done = await migrate(lab.stores)
    assert (done.frames_turned, done.skipped) == (COUNT - 2, [f"{unsized}: width and height are not known"])
    stored = await lab.frames(movie_id)
    assert (stored[3], stored[4]) == (own, traced)
    assert await lab.frames(unsized) == old


async def test_people_are_found_by_addresses_that_an_older_service_wrote_its_own_way_a30(lab: Lab) -> None:
    """Each claimed once by twenty runs; who shares an address or has none is named and left alone."""
    tag = uuid.uuid4().hex[:8]
    people = {f"{tag}-1": f" Ada.{tag}@Example.ORG ", f"{tag}-2": f"bo.{tag}@example.org", f"{tag}-3": "nobody"}
    for user_id, email in people.items():
        await lab.stores.database.write(Put(USERS, {"user_id": user_id, "email": email, "enabled": 1}))
    planned = await migrate(lab.stores, dry_run=True)
    assert await lab.stores.people.user_of_email(f"ada.{tag}@example.org") is None
    runs: list[Migrated] = await asyncio.gather(*(migrate(lab.stores) for _ in range(20)))
    for told in ("addresses_corrected", "addresses_claimed"):
        assert sum(getattr(run, told) for run in runs) == getattr(planned, told)
    found = await lab.stores.people.user_of_email(f"ada.{tag}@example.org")
    assert found
    assert (found["user_id"], found["email"]) == (f"{tag}-1", f"ada.{tag}@example.org")
    assert await lab.stores.people.user_id_of_email(people[f"{tag}-2"]) == f"{tag}-2"
    twin = {"user_id": f"{tag}-4", "email": f"ADA.{tag}@example.org"}
    await lab.stores.database.write(Put(USERS, twin))
    done = await migrate(lab.stores)
    assert (done.addresses_corrected, done.addresses_claimed) == (0, 0)
    ours = [line for line in done.skipped if tag in line]
    assert sorted(ours) == [
        f"{tag}-3: has no address that can be written to",
        f"{tag}-4: has the same address as {tag}-1",
    ]
    assert await lab.stores.people.user(f"{tag}-4", consistent=True) == twin


async def test_tables_of_a_laboratory_get_the_indexes_that_they_lack(
    lab: Lab, emulator: Emulator, tmp_path: Path
) -> None:
    client, prefix = lab.stores.database.client, f"old{uuid.uuid4().hex[:8]}-"
    for shape in TABLES:
        if shape.name in ("movies", "logs", "users"):
            request = definition(shape, prefix)
            request.pop("GlobalSecondaryIndexes")
            request["AttributeDefinitions"] = [
                a for a in request["AttributeDefinitions"] if a["AttributeName"] in shape.key
            ]
            await client.create_table(**request)
    command = ["admin", "migrate", "--json", "--data", str(tmp_path)]
    aws = {
        "TIPTRACE_BACKEND": "aws", "TIPTRACE_TABLE_PREFIX": prefix,
        "TIPTRACE_QUEUE_URL": lab.stores.queue.urls["trace"],
        "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        **{f"AWS_ENDPOINT_URL_{name}": emulator.endpoint for name in ("DYNAMODB", "S3", "SQS")},
    }  # fmt: skip
    answers = []
    for words in ([*command, "--dry-run"], command, command):
        result = await asyncio.to_thread(CliRunner(env=aws).invoke, main, words)
        assert result.exit_code == 0, result.stderr
        answers.append(json.loads(result.stdout))
    planned, done, again = answers
    assert await gaps(client, prefix) == Gaps((), (), ())
    assert (
        {*planned["indexes"]} == {*done["indexes"]} >= {f"{prefix}movies.sweep_idx", f"{prefix}logs.course_time_t_idx"}
    )
    assert {*planned["tables"]} == {*done["tables"]} >= {f"{prefix}receipts"}
    assert (again["tables"], again["indexes"], again["differing"]) == ([], [], [])
