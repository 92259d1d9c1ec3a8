"""Whatever a person uploads ends `ready` or `unusable` with a reason, never stuck, within one job's memory.

Everything is real here: the signed form, the queue, the worker, its child process, the decoder.
"""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator
from pathlib import Path

import av
import pytest
import pytest_asyncio

from service.local.emulator import Emulator
from service.usecases.export_trackpoints import json_document
from service.usecases.manage_movie import set_research
from service.usecases.read_movie import trackpoints
from service.usecases.trackpoint_sheet import sheet_of
from tests.support import uploads
from tests.support.workshop import SHARED, Workshop, open_workshop

pytestmark = pytest.mark.asyncio(loop_scope="module")
MEGABYTES = 700
GOOD = uploads.mp4()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workshop(emulator: Emulator) -> AsyncIterator[Workshop]:
    async with open_workshop(emulator.endpoint) as opened:
        yield opened


def peak_megabytes(workshop: Workshop) -> float:
    """The most that the engine's present child ever held, as the kernel counted it."""
    pid = workshop.pool.engines[-1].pid  # the slot that inspects
    assert pid is not None
    told = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert told
    return int(told.group(1)) / 1024


HOSTILE = {
    "one byte": (b"\0", "movie_unreadable"),
    "text": (b"This is my homework.\n" * 50, "movie_unreadable"),
    "a web page b31": (b"<!doctype html><title>movie</title>", "movie_unreadable"),
    "a play list that names a local file b31": (uploads.playlist("file:///etc/hostname"), "movie_unreadable"),
    "a play list that names an address b31": (uploads.playlist("http://127.0.0.1:9/x.ts"), "movie_unreadable"),
    "a concat script b31": (uploads.concat_script("/etc/hostname"), "movie_unreadable"),
    "sound without a picture": (uploads.sound(), "movie_no_picture"),
    "an index that was cut off b15": (uploads.mp4(60, faststart=False)[:-2000], "movie_unreadable"),
    "only the header b15": (GOOD[:100], "movie_unreadable"),
    "a giant raster b32": (uploads.wide(), "movie_too_many_pixels"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_file_that_is_no_movie_ends_unusable_with_a_sentence(workshop: Workshop, name: str) -> None:
    body, code = HOSTILE[name]
    movie = await workshop.upload(body)
    assert (movie.status, movie.row["failure_code"]) == ("unusable", code)
    assert movie.row["status_reason"].endswith(".")
    assert "/" not in movie.row["status_reason"]
    assert "movie_data_urn" not in movie.row
    receipt = await workshop.stores.receipts.get(movie.row["upload_receipt_id"])
    assert receipt
    assert (receipt.state, receipt.failure_code) == ("failed", code)
    assert peak_megabytes(workshop) < MEGABYTES


async def test_a_file_changed_on_its_way_is_refused(workshop: Workshop) -> None:
    changed = GOOD[:-1] + bytes([GOOD[-1] ^ 1])
    movie = await workshop.upload(changed, announced=GOOD)
    assert (movie.status, movie.row["failure_code"]) == ("unusable", "upload_checksum")


async def test_a_movie_longer_than_allowed_is_refused_by_its_real_length(emulator: Emulator) -> None:
    async with open_workshop(emulator.endpoint, max_frames=10) as small:
        movie = await small.upload(GOOD)
    assert movie.row["failure_code"] == "movie_too_many_frames"
    assert "10 frames" in movie.row["status_reason"]


async def test_a_good_movie_after_all_of_them_is_inspected_and_traced(workshop: Workshop) -> None:
    movie = await workshop.upload(GOOD)
    assert movie.status == "ready", movie.row.get("status_reason")
    assert movie.total_frames == 12
    assert (movie.row["frame_width"], movie.row["frame_height"]) == (640, 480)
    assert movie.row["inspection"]["codec"] == "h264"
    assert movie.row["movie_zipfile_urn"].endswith("frames.zip")
    lease = await workshop.place(movie)
    allowed = {"research_use": 1, "credit_by_name": 1, "attribution_name": "Łukasz Ä"}
    await set_research(workshop.stores, workshop.student, movie.movie_id, allowed)
    await workshop.submit(movie, lease)
    traced = await workshop.settled(movie.movie_id)
    assert traced.status == "tracing completed", traced.row.get("tracing_failure_summary")
    assert traced.row["last_frame_tracked"] == 11
    stored = await workshop.stores.objects.get(workshop.stores.objects.key_of(traced.row["movie_traced_urn"]))
    with av.open(io.BytesIO(stored)) as labelled:  # what its owner allowed goes with every copy
        tags = labelled.metadata
        assert sum(1 for _ in labelled.decode(video=0)) == 12
    assert (tags["title"], tags["artist"]) == ("A movie", "Łukasz Ä")
    assert tags["comment"] == "Whoever made this movie allows its use in research."


async def test_the_largest_frame_allowed_stays_within_one_jobs_memory(workshop: Workshop) -> None:
    movie = await workshop.upload(uploads.wide(5312, 2988))
    assert movie.status == "ready", movie.row.get("status_reason")
    assert peak_megabytes(workshop) < MEGABYTES


async def test_a_movie_that_lost_its_end_in_storage_fails_and_says_how_far_it_goes_b01(workshop: Workshop) -> None:
    """Sixty frames were inspected; what is stored by the time of the trace holds fewer. Never `completed`."""
    body = uploads.mp4(60)
    movie = await workshop.upload(body)
    assert movie.total_frames == 60
    lease = await workshop.place(movie)
    stored = workshop.stores.objects.key_of(movie.row["movie_data_urn"])
    await workshop.stores.objects.put(stored, body[: len(body) * 6 // 10], "video/mp4")
    await workshop.submit(movie, lease)
    traced = await workshop.settled(movie.movie_id)
    assert (traced.status, traced.row["failure_code"]) == ("tracing failed", "movie_cut_off")
    told = re.fullmatch(r"The movie ends after frame (\d+) of 60: .*\.", traced.row["tracing_failure_summary"])
    assert told
    assert 0 < int(told.group(1)) < 59
    assert "movie_traced_urn" not in traced.row
    rows = [point async for point in trackpoints(workshop.stores, traced)]
    assert max(row["frame_number"] for row in rows) == int(told.group(1))


REAL = {
    "audio_only.mp4": ("unusable", "movie_no_picture", 0),
    "header_only_5544_frames.mp4": ("unusable", "movie_no_frames", 0),
    "av1_video.mkv": ("ready", None, 125),
    "claims_117000_frames.mp4": ("ready", None, 240),
    "hevc_10bit.mp4": ("ready", None, 30),
    "iphone_rot90_gps.mov": ("ready", None, 120),
    "phone_vfr_FLIR_Thermal.mp4": ("ready", None, 84),
    "sar_2x1.mp4": ("ready", None, 150),
    "truncated_annex-b.mp4": ("ready", None, 6),
}


@pytest.mark.skipif(not (SHARED / "odd").is_dir(), reason="the real movies do not lie beside this repository")
@pytest.mark.parametrize("name", REAL)
async def test_real_odd_files_end_as_they_should_b01_b15_b16(workshop: Workshop, name: str) -> None:
    status, code, frames = REAL[name]
    movie = await workshop.upload((SHARED / "odd" / name).read_bytes())
    assert (movie.status, movie.row.get("failure_code")) == (status, code), movie.row.get("status_reason")
    assert movie.total_frames == frames
    assert peak_megabytes(workshop) < MEGABYTES


@pytest.mark.skipif(not (SHARED / "plants").is_dir(), reason="the real movies do not lie beside this repository")
async def test_a_header_that_promises_seven_frames_of_six_is_traced_to_its_end_a28(workshop: Workshop) -> None:
    """Six frames in the row, in the progress, in the export and in the labelled movie."""
    movie = await workshop.upload((SHARED / "plants" / "plantmovie_2019-07-31_short.mov").read_bytes())
    assert movie.total_frames == 6
    assert (movie.row["inspection"]["promised_frames"], movie.row["inspection"]["decoded_frames"]) == (7, 6)
    assert movie.row["inspection"]["completeness"] == "partial"
    await workshop.submit(movie, await workshop.place(movie))
    traced = await workshop.settled(movie.movie_id)
    assert (traced.status, traced.row["last_frame_tracked"]) == ("tracing completed", 5)
    rows = [point async for point in trackpoints(workshop.stores, traced)]
    told = json_document(traced.row, sheet_of(traced.row, rows))["trackpoint_dicts"]
    assert sorted({point["frame_number"] for point in told}) == [0, 1, 2, 3, 4, 5]
    times = {point["time"] for point in told}  # b04: the movie's own
    assert sorted(times) == pytest.approx([0.0, 0.05, 0.1, 0.15, 0.2, 0.25])
    key = workshop.stores.objects.key_of(traced.row["movie_traced_urn"])
    with av.open(io.BytesIO(await workshop.stores.objects.get(key))) as labelled:
        assert sum(1 for _ in labelled.decode(video=0)) == 6
