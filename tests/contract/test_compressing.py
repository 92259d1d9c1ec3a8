"""Large answers travel compressed, small ones as they are; whoever takes no gzip is told the same."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest
import pytest_asyncio
from flask import Flask, Response

from service.store.schema import FRAMES
from service.store.table import Put
from service.web import compressing
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ, EXPORT = "/api/get-movie-metadata", "/api/get-movie-trackpoints"
PLAIN = {"accept-encoding": "identity"}
FRAMES_MADE, MARKERS = 10, 20


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def movie_id(lab: Lab) -> str:
    """A traced movie whose positions are some twenty kilobytes of JSON."""
    made = await lab.movie(status="tracing completed", last_frame_tracked=FRAMES_MADE - 1, results_job_id="j")
    write = lab.runtime.stores.database.write
    labels = {f"m{n}": {"label": f"Leaf {n}", "color": "#0072B2"} for n in range(MARKERS)}
    await write(Put(FRAMES, {"movie_id": made, "frame_number": -100, "markers": labels}))
    for frame in range(FRAMES_MADE):
        points = [
            {"marker_id": marker, "x": 50.0 + frame, "y": 100.5, "status": 1, "err": 0.1, "placed": "trace"}
            for marker in labels
        ]
        await write(Put(FRAMES, {"movie_id": made, "frame_number": frame, "trackpoints": points, "job_id": "j"}))
    return made


async def test_positions_come_compressed_and_the_same(lab: Lab, movie_id: str) -> None:
    asked = {"movie_id": movie_id, "frame_start": 0, "frame_count": FRAMES_MADE}
    small = await lab.get(READ, lab.people.ada, **asked)
    plain = await lab.get(READ, lab.people.ada, headers=PLAIN, **asked)
    assert (small.headers["content-encoding"], plain.headers.get("content-encoding")) == ("gzip", None)
    assert small.json()["frames"] == plain.json()["frames"]
    assert len(small.json()["frames"]["0"]["markers"]) == MARKERS
    assert int(small.headers["content-length"]) * 5 < int(plain.headers["content-length"]) == len(plain.content)
    for answer in (small, plain):
        assert "Accept-Encoding" in [name.strip() for name in answer.headers["vary"].split(",")]


async def test_a_poll_is_told_that_nothing_changed_whichever_way_it_came(lab: Lab, movie_id: str) -> None:
    asked = {"movie_id": movie_id, "frame_start": 0, "frame_count": FRAMES_MADE}
    small = await lab.get(READ, lab.people.ada, **asked)
    plain = await lab.get(READ, lab.people.ada, headers=PLAIN, **asked)
    assert small.headers["etag"] == f"W/{plain.headers['etag']}", "other bytes, so no strong tag; the same told"
    for tag in (small.headers["etag"], plain.headers["etag"]):
        again = await lab.get(READ, lab.people.ada, headers={"if-none-match": tag}, **asked)
        assert (again.status_code, again.content) == (304, b"")


async def test_a_poll_without_frames_is_left_as_it_is(lab: Lab, movie_id: str) -> None:
    answer = await lab.get(READ, lab.people.ada, movie_id=movie_id)
    assert len(answer.content) < compressing.WORTH_BYTES
    assert "content-encoding" not in answer.headers
    assert not answer.headers["etag"].startswith("W/")


@pytest.mark.parametrize("kind", ["json", "csv"])
async def test_an_export_is_compressed_while_it_is_drawn(lab: Lab, movie_id: str, kind: str) -> None:
    small = await lab.get(EXPORT, lab.people.ada, movie_id=movie_id, format=kind)
    plain = await lab.get(EXPORT, lab.people.ada, headers=PLAIN, movie_id=movie_id, format=kind)
    assert small.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert small.content == plain.content
    assert "attachment" in small.headers["content-disposition"]
    if kind == "json":
        assert len(json.loads(small.content)["trackpoint_dicts"]) == FRAMES_MADE * MARKERS


async def test_who_leaves_in_the_middle_leaves_the_rest_undrawn() -> None:
    ended = []

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield bytes(str(list(range(100_000))), "ascii")
        finally:
            ended.append(True)

    with Flask("lab").test_request_context(headers={"Accept-Encoding": "gzip"}):
        answer = compressing.compressed(Response(pieces(), mimetype="application/json"))
        drawn = iter(answer.response)
        assert gzip.compress(b"")[:2] == next(drawn)[:2]
        answer.close()
    assert ended == [True]
