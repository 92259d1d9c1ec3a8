"""What goes wrong in front of and behind the lens of a time-lapse camera, worked out for every frame of one movie."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from tracer.filming import Conditions
from tracer.scenery import Floats, Picture, Sprite, covers, draw_sprite, leaf

PACE_FRAMES = 120
_CARD_FRAMES, _BLACK_FRAMES = 10, 2
_TARGETS = ("Apex", "Leaf")  # what the strange leaf passes over, in turn

Place = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A strange leaf on its way over a marker: `share` is -1 when it comes, 0 when it lies over it, 1 when it goes."""

    target: str
    share: float


@dataclass(frozen=True)
class Disturbance:
    """Everything that differs from frame to frame, from the seed. Lengths are pixels of the filmed picture.

    Arrays have one entry per frame: `times` where in the movement it was taken, in units of `PACE_FRAMES` frames;
    `shifts` the camera's (dx, dy, turn); `gains` light; `darks` 0 day to 1 night; `blurs` defocus; `smears` motion
    blur (dx, dy); `passages` the strange leaf; `card_from` the first frame that shows no plant.
    """

    kind: Conditions
    times: npt.NDArray[np.float64]
    shifts: npt.NDArray[np.float64]
    gains: npt.NDArray[np.float64]
    darks: npt.NDArray[np.float64]
    blurs: npt.NDArray[np.float64]
    smears: npt.NDArray[np.float64]
    passages: tuple[Passage | None, ...]
    stranger: Sprite
    card_from: int
    seed: int
    unit: float

    def cover(self, canvas: Picture, number: int, places: dict[str, Place]) -> None:
        """Draw what passes in front of the plant; `places` are the markers' on the canvas."""
        at = self._stranger_at(number, places)
        if at is not None:
            draw_sprite(canvas, self.stranger, at, 4.0)

    def hides(self, place: Place, number: int, places: dict[str, Place]) -> bool:
        """Is this place of the canvas behind the strange leaf, or the plant not shown at all?"""
        at = self._stranger_at(number, places)
        return number >= self.card_from or (at is not None and covers(self.stranger, at, 4.0, 1.0, place))

    def moved(self, place: Place, number: int, width: int, height: int) -> tuple[float, float]:
        """Where the camera's own movement puts a point."""
        x, y = self.camera(number, width, height) @ np.array([place[0], place[1], 1.0])
        return float(x), float(y)

    def camera(self, number: int, width: int, height: int) -> npt.NDArray[np.float64]:
        """The camera's movement as a 2x3 matrix: a turn about the middle, then a shift."""
        dx, dy, turn = self.shifts[number]
        c, s = np.cos(turn), np.sin(turn)
        cx, cy = width / 2, height / 2
        return np.array([[c, -s, cx - c * cx + s * cy + dx], [s, c, cy - s * cx - c * cy + dy]])

    def filmed(self, canvas: Picture, number: int) -> Picture:
        """The picture as the camera's file holds it before compression."""
        if number >= self.card_from:
            black = number < self.card_from + _BLACK_FRAMES
            return np.full_like(canvas, 3) if black else _card(canvas.shape[1], canvas.shape[0], self.unit)
        height, width = canvas.shape[:2]
        if self.shifts[number].any():
            matrix = self.camera(number, width, height)
            canvas = cv2.warpAffine(
                canvas, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
            )
        if self.smears[number].any():
            canvas = cv2.filter2D(canvas, -1, _line(*self.smears[number]), borderType=cv2.BORDER_REFLECT)
        if self.blurs[number] > 0.05:
            canvas = cv2.GaussianBlur(canvas, (0, 0), float(self.blurs[number]) * self.unit)
        return self._exposed(canvas, number)

    def _exposed(self, canvas: Picture, number: int) -> Picture:
        dark, gain, kind = float(self.darks[number]), float(self.gains[number]), self.kind
        if dark == 0 and gain == 1 and kind.noise == 0 and kind.shadow == 0:
            return canvas
        light: Floats = canvas.astype(np.float32)
        if dark > 0:  # infrared: no colour, leaves turn light
            gray = light @ np.array([0.2, 0.3, 0.5], np.float32)
            infrared = 0.55 * gray + 24.0
            light = (1 - dark) * light + dark * infrared[..., None]
        light = light * gain
        if kind.shadow:
            light *= _shadow(light.shape[1], number, kind.shadow)
        if kind.noise:
            rng = np.random.default_rng([self.seed, number])
            light += np.float32(kind.noise) * rng.standard_normal((*light.shape[:2], 1), np.float32)
        exposed: Picture = np.clip(light + 0.5, 0, 255).astype(np.uint8)
        return exposed

    def _stranger_at(self, number: int, places: dict[str, Place]) -> tuple[float, float] | None:
        passage = self.passages[number]
        if passage is None:
            return None
        x, y = places[passage.target][:2]
        away = 190 * self.unit * passage.share
        return x - 75 * self.unit + away, y + 0.4 * away


def disturbance(kind: Conditions, seed: int, frames: int, unit: float) -> Disturbance:
    """The conditions for each of `frames` frames."""
    rng = np.random.default_rng([seed, 4711])
    number = np.arange(frames)
    shifts = rng.normal(0, 1, (frames, 3)) * [kind.shake / 2 * unit, kind.shake / 2 * unit, 0.0012 * kind.shake]
    shifts[0] = 0
    for bump in range(kind.jump_every, frames, kind.jump_every) if kind.jump else ():
        way = rng.uniform(0, 2 * np.pi)
        # Back and forth, so that the plant stays in the picture.
        aside = kind.jump * unit * (1 if (bump // kind.jump_every) % 2 else -1)
        shifts[bump:] += [aside * np.cos(way), 0.7 * aside * np.sin(way), rng.normal(0, 0.006)]
    return Disturbance(
        kind=kind,
        times=_times(rng, frames, kind.dropped),
        shifts=shifts,
        gains=_gains(rng, number, kind.flicker),
        darks=_nights(number, kind.night_every),
        blurs=kind.defocus * np.sin(np.pi * 3 * number / PACE_FRAMES) ** 2,
        smears=_smears(rng, frames, kind.smear * unit),
        passages=tuple(_passage(n, kind.strangers_every) for n in range(frames)),
        stranger=leaf(np.random.default_rng([seed, 77]), unit, 150, 92),
        card_from=max(1, frames - _CARD_FRAMES - _BLACK_FRAMES) if kind.card else frames,
        seed=seed,
        unit=unit,
    )


def _times(rng: np.random.Generator, frames: int, dropped: float) -> npt.NDArray[np.float64]:
    """Frames are dropped in runs, as a busy phone does."""
    steps = np.ones(frames)
    if dropped:
        steps = np.where(rng.uniform(size=frames) < dropped, rng.integers(2, 8, frames), 1).astype(float)
    return np.asarray((np.cumsum(steps) - steps[0]) / PACE_FRAMES, float)


def _gains(rng: np.random.Generator, number: npt.NDArray[np.int_], flicker: float) -> npt.NDArray[np.float64]:
    """Half of the flicker jumps from frame to frame, half swells slowly."""
    jumps, swell = rng.normal(0, flicker / 2, len(number)), np.sin(number / 5.0) * flicker / 2
    return np.asarray(np.exp(jumps + swell), float)


def _nights(number: npt.NDArray[np.int_], every: int) -> npt.NDArray[np.float64]:
    """Day and night in turn; the change takes two frames."""
    if not every:
        return np.zeros(len(number))
    night = (number // every % 2).astype(float)
    return np.asarray(np.convolve(np.pad(night, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid"), float)


def _smears(rng: np.random.Generator, frames: int, longest: float) -> npt.NDArray[np.float64]:
    """The way of the picture while the shutter was open, about the place where it truly is."""
    way, length = rng.uniform(0, np.pi, frames), longest * rng.uniform(0, 1, frames) ** 2
    length[0] = 0
    return np.stack([length * np.cos(way), length * np.sin(way)], 1)


def _passage(number: int, every: int) -> Passage | None:
    """The strange leaf needs half of the time between two passages; nothing is hidden in the first frames."""
    if not every or number < every // 3:
        return None
    turn, frame = divmod(number - every // 3, every)
    last = every // 2
    return None if frame > last else Passage(_TARGETS[turn % len(_TARGETS)], 2 * frame / last - 1)


def _shadow(width: int, number: int, depth: float) -> Floats:
    """What a soft-edged band a quarter as wide as the picture leaves of the light: (1, width, 1)."""
    middle = (number / 50 % 1 * 1.6 - 0.3) * width
    away = np.abs(np.arange(width) - middle) / (0.125 * width)
    band: Floats = (1 - depth * np.clip(1.5 - away, 0, 1))[None, :, None].astype(np.float32)
    return band


def _line(dx: float, dy: float) -> Floats:
    """A kernel that smears evenly from -d/2 to d/2."""
    half = int(np.ceil(max(abs(dx), abs(dy)) / 2)) + 1
    kernel = np.zeros((2 * half + 1, 2 * half + 1), np.float32)
    steps = 8 * half
    for share in (np.arange(steps) + 0.5) / steps - 0.5:
        x, y = half + dx * share, half + dy * share
        left, top = int(x), int(y)
        for column, row in ((left, top), (left + 1, top), (left, top + 1), (left + 1, top + 1)):
            kernel[row, column] += (1 - abs(x - column)) * (1 - abs(y - row))
    return np.asarray(kernel / kernel.sum(), np.float32)


def _card(width: int, height: int, unit: float) -> Picture:
    """The promotion card that a phone's app puts at the end."""
    card = np.full((height, width, 3), (40, 28, 24), np.uint8)
    cv2.circle(card, (width // 2, round(0.4 * height)), round(70 * unit), (60, 120, 240), -1, cv2.LINE_AA)
    cv2.circle(card, (width // 2, round(0.4 * height)), round(40 * unit), (255, 255, 255), -1, cv2.LINE_AA)
    at = (round(width / 2 - 150 * unit), round(0.75 * height))
    thick = max(1, round(2 * unit))
    cv2.putText(card, "made with LapseApp", at, cv2.FONT_HERSHEY_SIMPLEX, unit, (240, 240, 240), thick, cv2.LINE_AA)
    return card
