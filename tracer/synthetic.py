"""Procedural plant movies with exact truth: what a tracer is judged by, and what a demonstration shows.

`scene("circumnutation")` and `scene("gravitropism")` are the two experiments; every other name is a nodding shoot with
something that stumps trackers: see `filming.CONDITIONS`. All points are analysis pixels (origin upper left), like
everything else in this package.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

from tracer import measures
from tracer.disturbances import Disturbance, disturbance
from tracer.filming import CONDITIONS, PLAIN
from tracer.geometry import LONG_SIDE, to_analysis
from tracer.model import Marker
from tracer.scenery import (
    PX_PER_MM,
    Bench,
    Floats,
    Picture,
    bench,
    bud,
    covers,
    draw_sprite,
    draw_stem,
    leaf,
    skin,
    sprite_matrix,
    stem_covers,
)

SCENES = tuple(CONDITIONS)
FPS = 20
FPM = 2.0  # frames that the imagined camera takes per minute
_STEM_POINTS = 72


@dataclass(frozen=True, slots=True)
class TruthRow:
    """Where a marker truly is in a frame. `visible` False: hidden or not in the picture; x and y are then where it
    would be.
    """

    frame_number: int
    label: str
    x: float
    y: float
    visible: bool


@dataclass(frozen=True)
class Scene:
    """A movie that has not been filmed yet. The same name, seed, length and size give the same pixels.

    `markers` are the true places on frame 0. `truth` holds one row per frame and marker.
    """

    name: str
    seed: int
    frames: int
    width: int
    height: int
    markers: tuple[Marker, ...]
    truth: tuple[TruthRow, ...]
    _stage: _Stage = field(repr=False)

    def pictures(self) -> Iterator[Picture]:
        """The frames in order, uint8 (height, width, 3), blue first."""
        for number in range(self.frames):
            yield self._stage.picture(number)

    @property
    def crf(self) -> int:
        """How hard `write` compresses (x264's constant rate factor)."""
        return self._stage.disturbance.kind.crf

    @property
    def mm_per_px(self) -> float:
        """The true scale: millimetres per analysis pixel."""
        return 1.0 / (PX_PER_MM * self._stage.unit * self._stage.scale)

    def path(self, label: str) -> npt.NDArray[np.float64]:
        """The marker's true positions where it is visible: (n, 2)."""
        return np.array([(row.x, row.y) for row in self.truth if row.label == label and row.visible])

    @property
    def amplitude(self) -> float:
        """True amplitude of the apex, analysis pixels; see `measures.amplitude`."""
        return measures.amplitude(self.path(measures.TIP))

    @property
    def distance(self) -> float:
        """True displacement of the apex, analysis pixels; see `measures.displacement`."""
        return measures.displacement(self.path(measures.TIP))


def scene(name: str, seed: int = 1, frames: int = 120, width: int = 640, height: int = 480) -> Scene:
    """Prepare a scene. KeyError for an unknown name (`SCENES` lists them), ValueError for a size or length that
    cannot be.
    """
    if name not in SCENES:
        raise KeyError(name)
    if frames < 1 or min(width, height) < 96 or width % 2 or height % 2:
        raise ValueError("a scene has at least one frame and even sides of at least 96 pixels")
    stage = _Stage(name, seed, frames, width, height)
    truth = tuple(row for number in range(frames) for row in stage.truth(number))
    markers = tuple(Marker(f"m{n}", row.label, row.x, row.y) for n, row in enumerate(stage.truth(0)))
    return Scene(name, seed, frames, width, height, markers, truth, stage)


def write(scene: Scene, path: str | Path) -> None:
    """Film the scene: H.264 in MP4. No half file is left after an error."""
    target = Path(path)
    try:
        with av.open(str(target), "w", format="mp4", container_options={"movflags": "+faststart"}) as container:
            options = {"preset": "veryfast", "crf": str(scene.crf)}
            stream = container.add_stream("libx264", rate=FPS, options=options)
            stream.width, stream.height, stream.pix_fmt = scene.width, scene.height, "yuv420p"
            stream.codec_context.thread_count = 1
            for number, bgr in enumerate(scene.pictures()):
                picture = av.VideoFrame.from_ndarray(bgr, format="bgr24")
                picture.pts, picture.time_base = number, Fraction(1, FPS)
                container.mux(stream.encode(picture))
            container.mux(stream.encode(None))
    except BaseException:
        target.unlink(missing_ok=True)
        raise


class _Stage:
    """Bench, plant and what disturbs them; knows where everything is at any frame."""

    def __init__(self, name: str, seed: int, frames: int, width: int, height: int) -> None:
        rng = np.random.default_rng([seed, 20190712])
        self.frames, self.width, self.height = frames, width, height
        self.unit = min(width / 640, height / 480)
        self.scale = LONG_SIDE / max(width, height)
        self.kind = CONDITIONS[name]
        self.disturbance: Disturbance = disturbance(self.kind, seed, frames, self.unit)
        self.bends = name == "gravitropism"
        self.hard = name not in PLAIN
        self.bench: Bench = bench(
            rng,
            width,
            height,
            self.unit,
            lying=self.bends,
            ruler_x=0.60 if self.kind.beside_ruler else 0.86,
            squared=self.kind.squared,
        )
        self.length = (230 if not self.bends else 250) * self.unit
        self.half_width = 6.0 * self.unit
        self.phase = float(rng.uniform(-0.4, 0.4))
        self.skin = skin(rng, self.length, self.half_width, ringed=self.kind.ringed)
        self.bud = bud(rng, self.unit)
        sizes = ((0.38, -1, 74, 26), (0.58, 1, 66, 24), (0.76, -1, 50, 18))
        self.leaves = [(s, side, leaf(rng, self.unit, long, wide)) for s, side, long, wide in sizes]

    def picture(self, number: int) -> Picture:
        time = self.time_of(number)
        line = self.line(time)
        canvas = self.bench.picture.copy()
        for n in range(len(self.leaves)):
            at, degrees, size = self.leaf_pose(n, line, time)
            draw_sprite(canvas, self.leaves[n][2], at, degrees, size)
        draw_stem(canvas, line, self.skin, self.half_width)
        draw_sprite(canvas, self.bud, *_end(line))
        self.disturbance.cover(canvas, number, self.places(line, time))
        return self.disturbance.filmed(canvas, number)

    def truth(self, number: int) -> Iterator[TruthRow]:
        time = self.time_of(number)
        line = self.line(time)
        places = self.places(line, time)
        for label, place in places.items():
            x, y = self.disturbance.moved(place, number, self.width, self.height)
            visible = 0 <= x <= self.width - 1 and 0 <= y <= self.height - 1
            visible = visible and not self.disturbance.hides(place, number, places)
            visible = visible and not (label.startswith("Ruler") and self.covered(place, line, time))
            yield TruthRow(number, label, to_analysis(x, self.scale), to_analysis(y, self.scale), visible)

    def time_of(self, number: int) -> float:
        """Units of 120 frames; an experiment's movement is over with its movie, however long that is."""
        if self.hard:
            return float(self.disturbance.times[number])
        return number / max(1, self.frames - 1)

    def places(self, line: Floats, time: float) -> dict[str, tuple[float, ...]]:
        """The markers before the camera's own movement."""
        places: dict[str, tuple[float, ...]] = {"Apex": _end(line)[0]}
        places |= {"Ruler 0mm": self.bench.ruler_zero, "Ruler 10mm": self.bench.ruler_ten}
        sprite = self.leaves[0][2]
        matrix = sprite_matrix(sprite, *self.leaf_pose(0, line, time))
        places["Leaf"] = tuple(matrix @ [0.62 * sprite.cover.shape[1], sprite.root[1], 1.0])
        if self.bends:
            places["Inflection Point"] = tuple(line[round(0.12 * (len(line) - 1))])
        if self.hard:
            places["Leaf tip"] = tuple(matrix @ [sprite.cover.shape[1] - 9.0, sprite.root[1], 1.0])
            places["Stem"] = tuple(line[round(0.48 * (len(line) - 1))])
        return places

    def covered(self, place: tuple[float, ...], line: Floats, time: float) -> bool:
        """Is this place of the bench behind the plant?"""
        poses = [(self.leaves[n][2], self.leaf_pose(n, line, time)) for n in range(len(self.leaves))]
        poses.append((self.bud, (*_end(line), 1.0)))
        behind = any(covers(sprite, *pose, place) for sprite, pose in poses)
        return behind or stem_covers(line, self.half_width, place)

    def line(self, time: float) -> Floats:
        """The stem's centre line: (points, 2), equal steps."""
        s = np.linspace(0.0, 1.0, _STEM_POINTS)
        if self.bends:
            ease = time * time * (3 - 2 * time)
            heading = -np.radians(82) * ease * s**0.8 + np.radians(6) * np.sin(2.2 * s + self.phase)
        else:
            around = 2 * np.pi * self.kind.pace * time + self.phase
            lean = self.kind.swing * np.sin(around) * s + 0.06 * np.cos(around) * s
            heading = -np.pi / 2 + lean + 0.08 * np.sin(4 * s)
        step = self.length * self.grown(time) / (_STEM_POINTS - 1)
        moves = np.stack([np.cos(heading), np.sin(heading)], 1)[1:] * step
        way = np.concatenate([np.zeros((1, 2)), np.cumsum(moves, axis=0)])
        return (way + self.bench.mouth).astype(np.float32)

    def grown(self, time: float) -> float:
        """The stem's length in units of its first one. It slows down, so that a long movie keeps it in the picture.

        A shoot that grows begins smaller than one that does not.
        """
        growth = self.kind.growth
        return (1 - 0.4 * growth) * (1 + growth * (1 - float(np.exp(-1.2 * time)))) if growth else 1.0

    def leaf_pose(self, n: int, line: Floats, time: float) -> tuple[tuple[float, float], float, float]:
        """Root, direction (degrees) and size of leaf `n`."""
        s, side, _ = self.leaves[n]
        index = round(s * (len(line) - 1))
        dx, dy = line[index + 1] - line[index - 1]
        sway = 5.0 * np.sin(2 * np.pi * 2.0 * time + n)
        degrees = float(np.degrees(np.arctan2(dy, dx)) + side * 58 + sway)
        return (float(line[index, 0]), float(line[index, 1])), degrees, 0.5 + 0.5 * self.grown(time)


def _end(line: Floats) -> tuple[tuple[float, float], float]:
    """The tip and the direction in which it points, degrees clockwise from the x axis."""
    dx, dy = line[-1] - line[-4]
    return (float(line[-1, 0]), float(line[-1, 1])), float(np.degrees(np.arctan2(dy, dx)))
