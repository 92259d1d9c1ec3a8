"""Opening files from strangers, and decoding them (B01, B03, B06, B15, B16, B31, B32)."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support import quicktime
from tests.support.movies import textured, write_movie
from tests.support.uploads import greedy
from tracer.errors import MovieError, NoPicture, TooManyFrames, TooManyPixels, UnreadableMovie, UnsupportedCodec
from tracer.media import inspect, open_movie
from tracer.model import Limits


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve frames of 160 x 120, each brighter than the one before."""
    picture = textured(160, 120) // 2
    return write_movie(tmp_path_factory.mktemp("m") / "plain.mp4", [picture + 6 * n for n in range(12)])


@pytest.fixture
def canary() -> Iterator[tuple[str, list[str]]]:
    """An HTTP server that nobody may ever ask for anything; it keeps the paths that somebody did."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def disguises(url: str, other: Path) -> dict[str, str]:
    return {
        "hls to a file": f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{other}\n#EXT-X-ENDLIST\n",
        "hls to an address": f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{url}/a.ts\n#EXT-X-ENDLIST\n",
        "concat": f"ffconcat version 1.0\nfile '{other}'\n",
        "concat to an address": f"ffconcat version 1.0\nfile '{url}/b.mp4'\n",
        "dash": f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{url}/</BaseURL></MPD>',
        "description": f"v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=control:{url}\n",
    }


@pytest.mark.parametrize("kind", list(disguises("", Path())))
def test_a_playlist_in_disguise_reads_no_other_file_and_no_address(
    kind: str, plain: Path, tmp_path: Path, canary: tuple[str, list[str]]
) -> None:
    """B31: whatever the file is called."""
    url, asked = canary
    for suffix in (".mp4", ".m3u8"):
        disguised = tmp_path / f"movie{suffix}"
        disguised.write_text(disguises(url, plain)[kind])
        with pytest.raises(UnreadableMovie) as refusal:
            inspect(disguised)
        assert str(tmp_path) not in str(refusal.value)
    assert asked == []


def test_an_index_that_names_another_file_is_not_followed(plain: Path, tmp_path: Path) -> None:
    """B31: a reader that follows such references decodes the other file's pictures; this one decodes none."""
    borrowed = tmp_path / "borrowed.mov"
    borrowed.write_bytes(quicktime.elsewhere(plain.read_bytes(), str(plain)))
    careless = {"enable_drefs": "1", "use_absolute_path": "1"}
    with av.open(str(borrowed), container_options=careless) as container:
        assert sum(1 for _ in container.decode(video=0)) == 12
    with pytest.raises(UnreadableMovie, match="None of the 12 frames"):
        inspect(borrowed)


def test_a_name_that_looks_like_an_address_is_only_a_name(
    plain: Path, tmp_path: Path, canary: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B31: ffmpeg would read `concat:` and `http:` as protocols."""
    url, asked = canary
    monkeypatch.chdir(tmp_path)
    for name in (f"concat:{plain}|{plain}", f"{url}/x.mp4", "subfile,,start,0,end,0,,:x.mp4"):
        with pytest.raises(UnreadableMovie):
            inspect(name)
    assert asked == []


def test_a_giant_raster_is_refused_before_anything_is_decoded(plain: Path) -> None:
    """B32: the header's pixels count; the limit is told in millions."""
    with pytest.raises(TooManyPixels) as refusal:
        open_movie(plain, limits=Limits(max_pixels=160 * 120 - 1))
    assert refusal.value.numbers == {"width": 160, "height": 120, "limit": 0}
    assert open_movie(plain, limits=Limits(max_pixels=160 * 120)).width == 160


def test_more_frames_than_allowed_are_refused(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(TooManyFrames) as refusal:
        inspect(plain, limits=Limits(max_frames=11))
    assert refusal.value.numbers == {"limit": 11}
    assert inspect(plain, limits=Limits(max_frames=12)).decoded_frames == 12
    silent_header = write_movie(tmp_path / "m.mkv", [textured(64, 48)] * 9)
    seen: list[int] = []
    with pytest.raises(TooManyFrames):
        inspect(silent_header, limits=Limits(max_frames=5), on_frame=lambda frame: seen.append(frame.number))
    assert seen == [0, 1, 2, 3, 4]


def test_a_file_without_its_index_is_refused_in_plain_words(plain: Path, tmp_path: Path) -> None:
    """B15: first 60 % of a movie whose index is last, nothing at all, and noise."""
    whole = plain.read_bytes()
    pieces = (whole[: len(whole) * 6 // 10], b"", b"\x00" * 100, b"not a movie", np.random.default_rng(1).bytes(4000))
    for piece in pieces:
        cut = tmp_path / "cut.mp4"
        cut.write_bytes(piece)
        with pytest.raises(UnreadableMovie) as refusal:
            inspect(cut)
        assert str(refusal.value).startswith("This file cannot be read as a movie.")


def test_a_missing_file_and_a_folder_are_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.mp4", tmp_path):
        with pytest.raises(UnreadableMovie):
            open_movie(path)


def test_sound_alone_has_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        sound.sample_rate, sound.pts = 8000, 0
        container.mux(stream.encode(sound))
        container.mux(stream.encode(None))
    with pytest.raises(NoPicture):
        inspect(path)


def test_a_codec_that_nothing_here_decodes_is_named_as_the_reason(plain: Path, tmp_path: Path) -> None:
    """B16: refused with a reason, never "0 of 12 frames" for ever."""
    strange = tmp_path / "strange.mp4"
    strange.write_bytes(plain.read_bytes().replace(b"avc1", b"zzzz"))
    with pytest.raises(UnsupportedCodec):
        inspect(strange)


def test_what_is_promised_and_what_is_decoded_are_both_told(tmp_path: Path) -> None:
    """B01: the index is in front and says 40, but the file ends in the middle."""
    front = write_movie(tmp_path / "a.mp4", [textured(160, 120, n) for n in range(40)], front=True)
    whole = front.read_bytes()
    assert inspect(front).completeness == "whole"
    front.write_bytes(whole[: len(whole) * 6 // 10])
    found = inspect(front)
    assert (found.promised_frames, found.completeness) == (40, "partial")
    assert 10 < found.decoded_frames < 40
    assert f"Only {found.decoded_frames} of 40 promised frames can be read." in found.warnings


def test_decoding_goes_on_behind_a_damaged_stretch(tmp_path: Path) -> None:
    """B01: frames after the damage are not thrown away with it."""
    options = {"g": "5", "bf": "0"}
    path = write_movie(tmp_path / "a.mp4", [textured(160, 120, n) for n in range(40)], options=options)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = b"\xff" * 3000
    path.write_bytes(data)
    numbers: list[int] = []
    found = inspect(path, on_frame=lambda frame: numbers.append(frame.number))
    assert numbers == list(range(found.decoded_frames))
    assert 30 <= found.decoded_frames < 40
    assert any("damaged" in warning for warning in found.warnings)
    assert found.completeness == "partial"


def test_times_come_from_timestamps_not_from_a_mean_rate(tmp_path: Path) -> None:
    """B03, B04: a phone that skips."""
    times = [0, 40, 80, 1000, 1040, 3000]
    path = write_movie(
        tmp_path / "vfr.mp4", [textured(64, 48, n) for n in range(6)], times=times, time_base=Fraction(1, 1000)
    )
    with open_movie(path) as movie:
        assert [frame.time for frame in movie.frames()] == pytest.approx([t / 1000 for t in times])
    found = inspect(path)
    assert found.variable_frame_rate
    assert found.fps == pytest.approx(5 / 3)


def test_a_steady_movie_is_not_called_variable(plain: Path) -> None:
    found = inspect(plain)
    assert not found.variable_frame_rate
    assert found.fps == pytest.approx(20)
    assert found.duration == pytest.approx(0.6)
    assert found.browser_playable
    assert found.warnings == ()


PLANT, CARD, BLACK = textured(160, 120, 1), textured(160, 120, 2), np.zeros((120, 160, 3), np.uint8)
SCENES = {
    "a card at the end": (
        [PLANT] * 5 + [CARD] * 3, (5,), (0, 4), "The scene changes at frame 5; trim the movie to end at frame 4."
    ),
    "a card that fades in from black": (
        [PLANT] * 5 + [BLACK] * 2 + [CARD] * 2, (5,), (0, 4),
        "The scene changes at frame 5; trim the movie to end at frame 4.",
    ),
    "a title in front": (
        [CARD] * 3 + [PLANT] * 5, (3,), (3, 7), "The scene changes at frame 3; trim the movie to begin at frame 3."
    ),
    "a card at each end": (
        [CARD] * 2 + [PLANT] * 6 + [CARD] * 2, (2, 8), (2, 7),
        "The scene changes at frames 2, 8; trim the movie to frames 2 to 7.",
    ),
    "a black end": (
        [PLANT] * 6 + [BLACK] * 2, (), (0, 5),
        "The picture is black from frame 6 to the end; trim the movie to end at frame 5.",
    ),
    "many scenes": (
        ([PLANT] * 5 + [CARD] * 3) * 4, (5, 8, 13, 16, 21, 24, 29), (None, None),
        "The scene changes at frames 5, 8, 13, 16, 21 and later; trim the movie to one scene.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_scene_changes_are_told_with_the_trim_that_mends_them(name: str, tmp_path: Path) -> None:
    """A03."""
    pictures, cuts, trim, sentence = SCENES[name]
    found = inspect(write_movie(tmp_path / "m.mp4", pictures))
    assert found.cuts == cuts
    assert (found.trim_start, found.trim_end) == trim
    assert sentence in found.warnings


def test_one_scene_and_a_black_frame_in_it_propose_no_trim(tmp_path: Path) -> None:
    """B12."""
    found = inspect(write_movie(tmp_path / "m.mp4", [PLANT] * 4 + [BLACK] + [PLANT] * 4))
    assert (found.cuts, found.trim_start, found.trim_end, found.warnings) == ((), None, None, ())


@pytest.mark.parametrize("flag", [0, 90, 180, 270])
@pytest.mark.parametrize("user", [0, 90])
def test_the_picture_is_upright_whatever_the_flag(flag: int, user: int, tmp_path: Path) -> None:
    """B06, B07: a mark near the upper left corner, stored lying on its side, the file's flag applied once."""
    upright = np.full((96, 144, 3), 60, np.uint8)
    upright[8:24, 12:36] = 230
    path = write_movie(tmp_path / "turned.mov", [np.rot90(upright, (flag + user) // 90)] * 2, rotation=flag)
    with open_movie(path, rotation=user) as movie:
        assert (movie.width, movie.height, movie.rotation) == (144, 96, flag)
        assert (movie.frame_width, movie.frame_height) == (640, 427)
        frame = next(movie.frames())
    assert frame.gray().shape == (96, 144)
    assert frame.gray()[16, 24] > 180
    assert frame.gray()[80, 24] < 90
    assert frame.gray()[16, 120] < 90
    assert frame.bgr().shape == (427, 640, 3)
    assert frame.bgr()[71, 106].min() > 180
    assert frame.bgr()[356, 106].max() < 90


def test_oblong_pixels_are_made_square(tmp_path: Path) -> None:
    """B29: x and y have one scale in the analysis frame."""
    path = write_movie(tmp_path / "sar.mp4", [textured(160, 120)] * 2, aspect=Fraction(2))
    with open_movie(path) as movie:
        assert (movie.frame_width, movie.frame_height) == (640, 240)
        assert next(movie.frames()).gray().shape == (120, 320)


def test_the_frames_of_a_movie_are_read_once(plain: Path) -> None:
    with open_movie(plain) as movie:
        assert len(list(movie.frames())) == 12
        with pytest.raises(RuntimeError):
            next(movie.frames())


def test_what_a_listener_raises_ends_the_inspection(plain: Path) -> None:
    def full(frame: object) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        inspect(plain, on_frame=full)


def test_an_error_survives_the_way_back_from_a_child_process() -> None:
    import pickle

    kept = pickle.loads(pickle.dumps(TooManyPixels(width=9, height=8, limit=7)))
    assert isinstance(kept, MovieError)
    assert (
        str(kept) == "Each frame of this movie is 9 x 8 pixels, more than the 7 million allowed. Export a smaller one."
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_giant_raster_costs_no_memory_while_it_is_refused(plain: Path, tmp_path: Path) -> None:
    """B32: opening a file already decodes a picture to learn its format; the decoder must know the limit by then.

    Measured in a child, since a process's peak memory never falls. A frame of this movie takes 19 MB.
    """
    path = write_movie(tmp_path / "big.mp4", [np.zeros((3072, 4096, 3), np.uint8)], options={"preset": "ultrafast"})
    report = (
        "import pathlib, sys\n"
        "from tracer.errors import TooManyPixels\n"
        "from tracer.media import open_movie\n"
        "from tracer.model import Limits\n"
        "def peak():\n"
        "    lines = pathlib.Path('/proc/self/status').read_text().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
        "open_movie(sys.argv[2]).close()  # the libraries' own memory\n"
        "before = peak()\n"
        "try:\n"
        "    open_movie(sys.argv[1], limits=Limits(max_pixels=1_000_000))\n"
        "except TooManyPixels:\n"
        "    print(peak() - before)\n"
    )
    child = subprocess.run([sys.executable, "-c", report, path, plain], capture_output=True, text=True, check=True)
    assert int(child.stdout) < 12_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit on data memory is Linux's")
def test_a_decoder_without_memory_is_no_damaged_movie(plain: Path, tmp_path: Path) -> None:
    """A25: or else a movie that needs more than a job may have would be called short, and traced as such."""
    path = tmp_path / "greedy.mp4"
    path.write_bytes(greedy(1200, 900))
    report = (
        "import pathlib, re, resource, sys\n"
        "from tracer.media import inspect\n"
        "inspect(sys.argv[2])  # the libraries' own memory\n"
        "now = int(re.search(r'VmData:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1]) << 10\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (now + (36 << 20),) * 2)\n"
        "try:\n"
        "    print(inspect(sys.argv[1]).decoded_frames)\n"
        "except MemoryError:\n"
        "    print('no memory')\n"
    )
    child = subprocess.run([sys.executable, "-c", report, path, plain], capture_output=True, text=True, check=False)
    assert (child.stdout, child.stderr) == ("no memory\n", "")
