"""The labelled movie (A02, B17) and the frame archive (A25)."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests.support.movies import textured, write_movie
from tracer.archive import FrameArchive
from tracer.media import inspect, open_movie
from tracer.planes import of_bgr
from tracer.render import LabelledMovie, drawable

RED, LABELS = ["#ff0000"], ["Apex"]


def film(path: Path, pictures: list[np.ndarray], places: list[tuple[float, float] | None], seen: int = 1) -> Path:
    height, width = pictures[0].shape[:2]
    with LabelledMovie(path, width, height, fps=20, labels=LABELS, colors=RED, crf=1, tags={"title": "Bean"}) as movie:
        for picture, place in zip(pictures, places, strict=True):
            points = None if place is None else np.array([place])
            movie.add(of_bgr(picture), points, np.array([seen], np.int8))
    return path


def pictures_of(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


def red_at(picture: np.ndarray) -> tuple[float, float]:
    """Middle of what is red."""
    blue, green, red = (picture[..., n].astype(int) for n in range(3))
    ys, xs = np.nonzero((red - np.maximum(blue, green)) > 60)
    return (xs.min() + xs.max()) / 2, (ys.min() + ys.max()) / 2


def test_browsers_can_play_it_while_it_loads(tmp_path: Path) -> None:
    """B17: H.264, yuv420p, even sides, the index in front, every frame there."""
    path = film(tmp_path / "l.mp4", [np.full((427, 361, 3), 90, np.uint8)] * 5, [(9.0, 9.0)] * 5)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.width, stream.height) == (362, 428)
        assert stream.average_rate == 20
        assert container.metadata["title"] == "Bean"
        assert sum(1 for _ in container.decode(stream)) == 5
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize("size", [(640, 480), (360, 640), (361, 640)])
def test_a_marker_is_drawn_where_it_is(size: tuple[int, int], tmp_path: Path) -> None:
    """A02: the drawn pixel is the analysis pixel, near the corner too."""
    for place in ((100.0, 60.0), (10.0, 10.0)):
        path = tmp_path / "l.mp4"
        with LabelledMovie(path, *size, fps=20, labels=[""], colors=RED, crf=1) as movie:
            movie.add(of_bgr(np.full((size[1], size[0], 3), 90, np.uint8)), np.array([place]), np.array([1], np.int8))
        assert red_at(pictures_of(path)[0]) == pytest.approx(place, abs=1.0)


def test_the_trail_stays_and_has_a_gap_where_the_marker_was_lost(tmp_path: Path) -> None:
    blank = np.full((200, 300, 3), 90, np.uint8)
    path = tmp_path / "l.mp4"
    with LabelledMovie(path, 300, 200, fps=20, labels=[""], colors=RED, crf=1) as movie:
        for x, seen in ((40, 1), (90, 1), (140, 0), (190, 1), (240, 1)):
            movie.add(of_bgr(blank), np.array([(float(x), 100.0)]), np.array([seen], np.int8))
    last = pictures_of(path)[-1].astype(int)
    trodden = [last[99:102, x, 2].max() - last[99:102, x, 1].min() > 50 for x in (65, 115, 165, 215)]
    assert trodden == [True, False, False, True]


def test_frames_are_as_far_apart_as_those_of_the_source(tmp_path: Path) -> None:
    """B03: a phone that skips; where a time is missing or goes back, the usual gap stands in.

    An hour is the most that is believed.
    """
    told = [7.0, 7.04, 7.08, 9.08, None, 9.0, 9.5, 1e9]
    path = tmp_path / "l.mp4"
    with LabelledMovie(path, 64, 48, fps=20, labels=[], colors=[]) as movie:
        for time in told:
            movie.add(of_bgr(np.zeros((48, 64, 3), np.uint8)), time=time)
    with open_movie(path) as movie:
        shown = [frame.time for frame in movie.frames()]
    assert shown == pytest.approx([0, 0.04, 0.08, 2.08, 2.13, 2.18, 2.68, 3602.68], abs=1e-4)


def test_frame_k_of_archive_and_labelled_movie_is_frame_k_of_the_source(tmp_path: Path) -> None:
    """B08: B-frames and one key frame in all. Each frame is brighter than the one before."""
    pictures = [np.full((96, 128, 3), 20 + 5 * n, np.uint8) for n in range(40)]
    source = write_movie(tmp_path / "long.mp4", pictures, options={"bf": "8", "g": "300", "crf": "8"})
    with av.open(str(source)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    assert sum(packet.is_keyframe for packet in packets) == 1
    stored = [packet.pts for packet in packets]
    assert stored != sorted(stored)
    with FrameArchive(tmp_path / "f.zip") as archive:
        inspect(source, on_frame=archive.add)
    with zipfile.ZipFile(tmp_path / "f.zip") as packed:
        archived = [cv2.imdecode(np.frombuffer(packed.read(name), np.uint8), 0).mean() for name in packed.namelist()]
    with (
        open_movie(source) as movie,
        LabelledMovie(tmp_path / "l.mp4", movie.frame_width, movie.frame_height, fps=20, labels=[], colors=[]) as drawn,
    ):
        for frame in movie.frames():
            drawn.add(frame.planes(), time=frame.time)
    labelled = [picture.mean() for picture in pictures_of(tmp_path / "l.mp4")]
    for brightness in (archived, labelled):
        assert len(brightness) == 40
        assert np.diff(brightness).min() > 2


def test_a_picture_without_markers_stays_as_it_is(tmp_path: Path) -> None:
    picture = textured(160, 120)
    shown = pictures_of(film(tmp_path / "l.mp4", [picture], [None]))[0]
    assert np.abs(shown.astype(int) - picture).mean() < 3


def test_no_half_file_is_left_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "l.mp4"
    with pytest.raises(ValueError), LabelledMovie(path, 64, 48, fps=20, labels=[], colors=[]) as movie:  # noqa: PT012
        movie.add(of_bgr(np.zeros((48, 64, 3), np.uint8)))
        path.touch()  # the encoder looks ahead before it creates the file
        movie.add(of_bgr(np.zeros((24, 64, 3), np.uint8)))
    assert not path.exists()


def test_a_movie_without_frames_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "l.mp4"
    with LabelledMovie(path, 64, 48, fps=20, labels=[], colors=[]):
        pass
    assert not path.exists()


def test_labels_in_any_script_can_be_drawn(tmp_path: Path) -> None:
    assert drawable("Spitze ä ß Łukasz") == "Spitze a ss Lukasz"
    assert drawable("頂点") == "??"
    blank = np.full((48, 64, 3), 9, np.uint8)
    with LabelledMovie(tmp_path / "l.mp4", 64, 48, fps=20, labels=["頂点 " * 30], colors=["red?"]) as movie:
        movie.add(of_bgr(blank), np.array([(63.0, 0.0)]), np.array([0], np.int8))
    assert len(pictures_of(tmp_path / "l.mp4")) == 1


def test_the_archive_holds_every_frame_stored_and_upright(tmp_path: Path) -> None:
    source = write_movie(tmp_path / "m.mov", [np.rot90(textured(120, 160, n)) for n in range(3)], rotation=90)
    with FrameArchive(tmp_path / "f.zip") as archive:
        found = inspect(source, on_frame=archive.add)
    assert found.decoded_frames == archive.frames == 3
    with zipfile.ZipFile(tmp_path / "f.zip") as packed:
        assert packed.namelist() == ["frame_0000.jpeg", "frame_0001.jpeg", "frame_0002.jpeg"]
        assert {member.compress_type for member in packed.infolist()} == {zipfile.ZIP_STORED}
        assert packed.read("frame_0000.jpeg") == archive.first_jpeg
        picture = cv2.imdecode(np.frombuffer(packed.read("frame_0002.jpeg"), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (640, 480, 3)
    with open_movie(source) as movie:
        shown = list(movie.frames())[2].bgr()
    assert np.abs(picture.astype(int) - shown).mean() < 4


def test_the_same_movie_gives_the_same_archive(tmp_path: Path) -> None:
    source = write_movie(tmp_path / "m.mp4", [textured(64, 48, n) for n in range(2)])
    packed = []
    for name in ("a.zip", "b.zip"):
        with FrameArchive(tmp_path / name) as archive:
            inspect(source, on_frame=archive.add)
        packed.append(io.BytesIO((tmp_path / name).read_bytes()).getvalue())
    assert packed[0] == packed[1]


def test_a_broken_archive_is_taken_away(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), FrameArchive(tmp_path / "f.zip"):
        raise RuntimeError
    assert not (tmp_path / "f.zip").exists()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_planes_show_the_same_picture_as_bgr(rotation: int, tmp_path: Path) -> None:
    """Upright, at analysis size, whatever the file's rotation."""
    source = write_movie(tmp_path / "m.mov", [textured(160, 120, 3)], rotation=rotation)
    with open_movie(source) as movie:
        frame = next(movie.frames())
        y, u, v = frame.planes()
        even = cv2.cvtColor(
            np.concatenate([y.ravel(), u.ravel(), v.ravel()]).reshape(-1, y.shape[1]), cv2.COLOR_YUV2BGR_I420
        )
        assert np.abs(even[: movie.frame_height, : movie.frame_width].astype(int) - frame.bgr()).mean() < 4
