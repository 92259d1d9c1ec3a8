"""Files that were damaged on their way: every one gives frames or an error that a person can read (B01, B15)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.movies import textured, write_movie
from tracer.errors import MovieError, UnreadableMovie
from tracer.media import inspect
from tracer.model import Limits

FRAMES = 20


@pytest.fixture(scope="module", params=["mp4", "mkv", "ts", "avi"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("d") / f"m.{request.param}"
    codec, options = ("mjpeg", {}) if request.param == "avi" else ("libx264", {"g": "5", "bf": "0"})
    pictures = [textured(96, 64, n) for n in range(FRAMES)]
    form = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    return write_movie(path, pictures, codec=codec, pix_fmt=form, options=options).read_bytes()


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """The file with bytes changed, at the front, at the end or anywhere; cut off; or with a piece of it twice."""
    data = bytearray(whole)
    kind = chance.choice(("anywhere", "front", "end", "cut", "twice"))
    if kind == "cut":
        return bytes(data[: chance.randrange(len(data))])
    if kind == "twice":
        start, length = chance.randrange(len(data)), chance.randrange(2000)
        data[start:start] = data[start : start + length]
        return bytes(data)
    reach = {"anywhere": range(len(data)), "front": range(min(2000, len(data))), "end": range(-2000, 0)}[kind]
    for _ in range(chance.randint(1, 60)):
        data[chance.choice(reach)] = chance.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 400), marks=pytest.mark.long)])
def test_whatever_is_damaged_gives_frames_or_a_plain_error(whole: bytes, seeds: range, tmp_path: Path) -> None:
    path, ends, sentences = tmp_path / "damaged", set(), set()
    for seed in seeds:
        path.write_bytes(damaged(whole, random.Random(seed)))
        try:
            found = inspect(path, limits=Limits(max_pixels=1_000_000, max_frames=500))
        except MovieError as error:
            ends.add(type(error).__name__)
            sentences.add(str(error))
        else:
            ends.add("frames")
            assert 1 <= found.decoded_frames <= 500
            assert found.duration >= 0
    assert not any(tmp_path.name in sentence for sentence in sentences)
    assert "frames" in ends
    assert len(seeds) < 50 or len(ends) > 1  # a few may all be harmless


def test_an_index_that_tells_of_giant_things_is_damage_and_no_lack_of_memory(tmp_path: Path) -> None:
    """The library calls both "cannot allocate memory"."""
    path = write_movie(tmp_path / "m.mp4", [textured(96, 64, n) for n in range(FRAMES)], options={"g": "5", "bf": "0"})
    whole = path.read_bytes()
    sizes, steps = whole.index(b"stsz") + 16, whole.index(b"stts") + 8
    path.write_bytes(whole[: sizes + 48] + b"\x3f\xff\xff\xff" + whole[sizes + 52 :])  # the thirteenth packet's size
    found = inspect(path)
    assert 10 <= found.decoded_frames < FRAMES
    assert any("damaged" in warning for warning in found.warnings)
    path.write_bytes(whole[:steps] + b"\x3f\xff\xff\xff" + whole[steps + 4 :])  # how many durations are told
    with pytest.raises(UnreadableMovie):
        inspect(path)
