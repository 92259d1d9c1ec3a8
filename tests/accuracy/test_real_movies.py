"""Real movies: plants from laboratories, a labelled pair of flies, and files that break programs.

They lie beside the repository, not in it; without them these tests are skipped and say so.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from service.cli.trace import trace as trace_command
from tests.support.movies import real_movie
from tracer.errors import NoPicture, UnreadableMovie
from tracer.follow import Follower
from tracer.frames import Frame
from tracer.geometry import to_analysis
from tracer.media import inspect, open_movie
from tracer.model import FrameResult, Marker, Status, TraceRequest

DOUBTFUL = 2.0  # estimated error, pixels, above which a page marks a point as doubtful


def trace(path: Path, markers: list[Marker]) -> list[FrameResult]:
    follower = Follower(TraceRequest(tuple(markers)))
    with open_movie(path) as movie:
        return [result for frame in movie.frames() if (result := follower.step(frame)) is not None]


@pytest.mark.parametrize(
    ("name", "promised", "decoded"),
    [
        ("odd/corrupted_midfile.mp4", 50, (28, 50)),
        ("odd/truncated_annex-b.mp4", 745, (6, 6)),
        ("odd/claims_117000_frames.mp4", 117_000, (240, 240)),
        ("odd/av1_video.mkv", 125, (125, 125)),
        ("odd/hevc_10bit.mp4", 30, (30, 30)),
        ("plants/plantmovie_2019-07-31_short.mov", 7, (6, 6)),
    ],
)
def test_promised_and_decoded_frames_are_both_told(name: str, promised: int, decoded: tuple[int, int]) -> None:
    """A28, B01, B16: what decodes counts; the header's word is kept beside it."""
    found = inspect(real_movie(name))
    assert found.promised_frames == promised
    assert decoded[0] <= found.decoded_frames <= decoded[1]
    assert any("promised" in warning for warning in found.warnings) == (found.decoded_frames < promised)


def test_a_file_that_holds_only_a_header_is_unreadable() -> None:
    """B01, B15: and the sentence names what was promised."""
    with pytest.raises(UnreadableMovie, match="None of the 5544 frames that this file promises can be read"):
        inspect(real_movie("odd/header_only_5544_frames.mp4"))


@pytest.mark.parametrize("name", ["plants/plantmovie_2019-07-31.mov", "odd/iphone_rot90_gps.mov"])
def test_a_movie_without_its_index_is_unreadable(name: str, tmp_path: Path) -> None:
    """B15: the first 60 % of a movie whose index is last."""
    whole = real_movie(name).read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole[: len(whole) * 6 // 10])
    with pytest.raises(UnreadableMovie):
        inspect(cut)


def test_sound_without_a_picture_is_told_apart() -> None:
    with pytest.raises(NoPicture):
        inspect(real_movie("odd/audio_only.mp4"))


def test_a_phones_uneven_clock_is_read_from_its_timestamps() -> None:
    """B03, B04: gaps from 0.04 to 2 seconds."""
    found = inspect(real_movie("odd/phone_vfr_FLIR_Thermal.mp4"))
    assert found.variable_frame_rate
    with open_movie(real_movie("odd/phone_vfr_FLIR_Thermal.mp4")) as movie:
        times = [frame.time for frame in movie.frames()]
    gaps = np.diff(np.array(times, float))
    assert gaps.max() > 1.9
    assert 0.03 < gaps.min() < 0.05


@pytest.mark.parametrize(
    ("name", "size", "analysis"),
    [
        ("odd/iphone_rot90_gps.mov", (320, 568), (361, 640)),
        ("odd/rotate-buck-bunny.mp4", (1080, 1920), (360, 640)),
        ("odd/sar_2x1.mp4", (640, 360), (640, 180)),
    ],
)
def test_turned_and_oblong_movies_have_an_upright_square_analysis_frame(
    name: str, size: tuple[int, int], analysis: tuple[int, int]
) -> None:
    """B06, B07, B29."""
    with open_movie(real_movie(name)) as movie:
        assert (movie.width, movie.height) == size
        assert (movie.frame_width, movie.frame_height) == analysis
        frame = next(movie.frames())
        assert frame.bgr().shape == (analysis[1], analysis[0], 3)


def test_a_promotion_card_is_cut_off_from_the_plant() -> None:
    """A01, A03: every marker has a row in all 54 frames, is seen in 0-43 and in none of the card's."""
    peer = json.loads(real_movie("plants/plantmovie_2019-07-31_trackpoints.json").read_text())["frames"]
    enlarged = 640 / 480  # their points are pixels of the 480 x 360 source
    first = [Marker(m["label"], m["label"], m["x"] * enlarged, m["y"] * enlarged) for m in peer["0"]["markers"]]
    path = real_movie("plants/plantmovie_2019-07-31.mov")
    results = trace(path, first)
    assert [result.frame_number for result in results] == list(range(54))
    assert [int(result.status.sum()) for result in results] == [3] * 44 + [0] * 10
    assert inspect(path).cuts == (44,)
    for n, marker in enumerate(first):
        for frame in range(44):
            theirs = next(m for m in peer[str(frame)]["markers"] if m["label"] == marker.label)
            ours = results[frame].points[n]
            assert math.dist(ours, (theirs["x"] * enlarged, theirs["y"] * enlarged)) < 8


def test_the_numbers_of_a_plant_do_not_hear_of_the_card_behind_it(tmp_path: Path) -> None:
    """A03: traced to the card's last frame or to the trim that is offered, the results are the same."""
    path = real_movie("plants/plantmovie_2019-07-31.mov")
    assert inspect(path).trim_end == 43
    markers = [
        item for marker in ("Apex=271,221", "Ruler 0mm=358,253", "Ruler 10mm=285,263") for item in ("--marker", marker)
    ]
    told = []
    for end in ([], ["--end", "43"]):
        result = CliRunner().invoke(trace_command, [str(path), *markers, *end, "--json", str(tmp_path / "o.json")])
        assert result.exit_code == 0, result.output
        told.append(json.loads((tmp_path / "o.json").read_text())["results"])
    assert [one.pop("frames") for one in told] == [{"seen": 44, "lost": 10}, {"seen": 44, "lost": 0}]
    assert told[0] == told[1]


def test_a_nodding_shoot_is_followed_and_its_ruler_stands_still() -> None:
    """296 frames of circumnutation: the tip stays on the shoot, the amplitude agrees with the laboratory's."""
    with real_movie("plants/circumnutation_2019-07-12_trackpoints.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    mm_per_px = float(rows[0]["Apex x (mm)"]) / 278  # the marker was placed at x = 278
    peer = np.array([(float(r["Apex x (mm)"]), float(r["Apex y (mm)"])) for r in rows]) / mm_per_px
    peer[:, 1] = 480 - peer[:, 1]
    markers = [Marker("a", "Apex", *peer[0]), Marker("b", "Ruler 0mm", 477, 246), Marker("c", "Ruler 10mm", 479, 198)]
    results = trace(real_movie("plants/circumnutation_2019-07-12.mp4"), markers)
    points = np.stack([result.points for result in results])
    status = np.stack([result.status for result in results])
    assert status.shape == (296, 3)
    assert status[:, 1:].all()
    assert np.ptp(points[:, 1:], axis=0).max() < 2.5
    assert status[:, 0].mean() > 0.95
    assert np.ptp(points[:, 0, 0]) == pytest.approx(np.ptp(peer[:, 0]), rel=0.06)
    assert np.linalg.norm(points[:, 0] - peer, axis=1).max() < 25


def test_labelled_flies_are_followed_and_where_a_marker_slides_it_says_so() -> None:
    """B13: 1500 frames, four points that a person labelled; plain flow reaches a mean error of 1.3 to 4.2 px.

    A head is a smooth bright edge: a patch on it rolls along. No point may be more than 10 px off without a flag, which
    is a marker that is lost or one whose estimated error is as large as the page calls doubtful.
    """
    with real_movie("labelled/sleap_clip.2node.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    scale = 640 / 1024
    truth = {
        (int(r["frame"]), r["track"] + r["node"]): tuple(
            to_analysis(float(r[axis]), scale) for axis in ("x_px", "y_px")
        )
        for r in rows
        if r["visible"] == "1"
    }
    names = sorted({name for frame, name in truth if frame == 0})
    results = trace(real_movie("labelled/sleap_clip.mp4"), [Marker(name, name, *truth[0, name]) for name in names])
    for n, name in enumerate(names):
        labelled = [r for r in results if (r.frame_number, name) in truth]
        error = np.array([math.dist(r.points[n], truth[r.frame_number, name]) for r in labelled])
        flagged = np.array([r.status[n] == Status.LOST or r.err[n] > DOUBTFUL for r in labelled])
        assert len(error) == 1500
        assert error.mean() < 2.0
        assert flagged.mean() < 0.25
        assert not ((error > 10) & ~flagged).any()


def test_the_frame_that_is_shown_is_the_frame_that_is_traced() -> None:
    """B08: two runs through one movie number the same pictures alike."""
    path = real_movie("plants/circumnutation_2019-07-12.mp4")
    shown: dict[int, float] = {}

    def keep(frame: Frame) -> None:
        if frame.number in (0, 57, 295):
            shown[frame.number] = float(frame.gray().mean())

    inspect(path, on_frame=keep)
    with open_movie(path) as movie:
        again = {frame.number: float(frame.gray().mean()) for frame in movie.frames() if frame.number in shown}
    assert len(shown) == 3
    assert shown == again
