"""What goes wrong in front of and behind the lens of a time-lapse camera, as numbers per frame."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from tracer.scenery import Floats, Picture, draw_sprite, leaf

# name -> what differs from an undisturbed circumnutation movie
_KINDS: dict[str, dict[str, float | bool]] = {
    "noise": {"noise": 9.0},
    "flicker": {"flicker": 0.16},
    "daynight": {"night": True},
    "shake": {"shake": 3.0},
    "jump": {"jump": 26.0},
    "occlusion": {"occluded": True},
    "blur": {"blur": 2.4},
    "texture": {"ringed": True},
    "dropped": {"dropped": 0.35},
    "compression": {"crf": 38},
    "sweep": {"sweeps": True, "swing": 0.9, "turns": 3.0},
    "endcard": {"card": True},
    "combined": {
        "noise": 5.0,
        "flicker": 0.08,
        "shake": 1.5,
        "jump": 14.0,
        "occluded": True,
        "blur": 1.0,
        "dropped": 0.2,
        "crf": 30,
        "card": True,
    },
}
DISTURBED = tuple(_KINDS)
_CARD_FRAMES = 10


@dataclass(frozen=True)
class Disturbance:
    """Everything that differs from frame to frame, worked out beforehand from the seed.

    Lengths are pixels of the filmed picture. Arrays have one entry per frame.
    """

    times: npt.NDArray[np.float64]
    shifts: npt.NDArray[np.float64]
    gains: npt.NDArray[np.float64]
    darks: npt.NDArray[np.float64]
    blurs: npt.NDArray[np.float64]
    hidden: npt.NDArray[np.float64]
    noise: float
    ringed: bool
    sweeps: bool
    swing: float
    turns: float
    crf: int
    card_from: int
    seed: int
    unit: float

    def time_of(self, number: int) -> float:
        """Where in the movement (0 to 1) this frame was taken; dropped frames leave gaps."""
        return float(self.times[number])

    def cover(self, canvas: Picture, number: int, tip: tuple[float, float]) -> None:
        """Draw what passes in front of the plant: a strange leaf over the tip."""
        share = float(self.hidden[number])
        if np.isnan(share):
            return
        stranger = leaf(np.random.default_rng([self.seed, 77]), self.unit, 150, 92)
        away = 190 * self.unit * share
        draw_sprite(canvas, stranger, (tip[0] - 75 * self.unit + away, tip[1] + 0.4 * away), 4.0)

    def shows(self, label: str, number: int) -> bool:
        """Can the marker be seen? The strange leaf hides the tip while it lies over it; a card hides everything."""
        if number >= self.card_from:
            return False
        share = float(self.hidden[number])
        return label != "Apex" or np.isnan(share) or abs(share) > 0.42

    def moved(self, place: tuple[float, ...], number: int, width: int, height: int) -> tuple[float, float]:
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
            return _card(canvas.shape[1], canvas.shape[0], self.unit)
        height, width = canvas.shape[:2]
        if self.shifts[number].any():
            matrix = self.camera(number, width, height)
            canvas = cv2.warpAffine(
                canvas, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
            )
        if self.blurs[number] > 0.05:
            canvas = cv2.GaussianBlur(canvas, (0, 0), float(self.blurs[number]) * self.unit)
        return self._exposed(canvas, number)

    def _exposed(self, canvas: Picture, number: int) -> Picture:
        dark, gain = float(self.darks[number]), float(self.gains[number])
        if dark == 0 and gain == 1 and self.noise == 0:
            return canvas
        light: Floats = canvas.astype(np.float32)
        if dark > 0:  # infrared: no colour, leaves turn light
            gray = light @ np.array([0.2, 0.3, 0.5], np.float32)
            infrared = 0.55 * gray + 24.0
            light = (1 - dark) * light + dark * infrared[..., None]
        light = light * gain
        if self.noise:
            rng = np.random.default_rng([self.seed, number])
            light += rng.normal(0, self.noise, (*light.shape[:2], 1)).astype(np.float32)
        exposed: Picture = np.clip(light + 0.5, 0, 255).astype(np.uint8)
        return exposed


def disturbance(name: str, seed: int, frames: int, unit: float) -> Disturbance:
    """The disturbance of this name; a name that is none (a plain experiment) gives an undisturbed camera."""
    kind = dict(_KINDS.get(name, {}))
    rng = np.random.default_rng([seed, 4711])
    shifts = np.zeros((frames, 3))
    if shake := float(kind.get("shake", 0)):
        shifts += rng.normal(0, 1, (frames, 3)) * [shake / 2 * unit, shake / 2 * unit, 0.0012 * shake]
        shifts[0] = 0
    if jump := float(kind.get("jump", 0)):
        shifts[frames // 2 :] += [jump * unit, -0.6 * jump * unit, 0.0]
    card_from = max(1, frames - _CARD_FRAMES) if kind.get("card") else frames
    return Disturbance(
        times=_times(rng, frames, float(kind.get("dropped", 0))),
        shifts=shifts,
        gains=_gains(rng, frames, float(kind.get("flicker", 0))),
        darks=_nights(frames) if kind.get("night") else np.zeros(frames),
        blurs=float(kind.get("blur", 0)) * np.sin(np.pi * 3 * np.arange(frames) / max(1, frames)) ** 2,
        hidden=_passes(frames) if kind.get("occluded") else np.full(frames, np.nan),
        noise=float(kind.get("noise", 0)),
        ringed=bool(kind.get("ringed")),
        sweeps=bool(kind.get("sweeps")),
        swing=float(kind.get("swing", 0.52)),
        turns=_turns(kind, frames),
        crf=int(kind.get("crf", 20)),
        card_from=card_from,
        seed=seed,
        unit=unit,
    )


def _turns(kind: dict[str, float | bool], frames: int) -> float:
    """Swings in the whole movie. A fast sweep is fast from frame to frame, however long the movie."""
    turns = float(kind.get("turns", 1.5))
    return max(0.5, turns * frames / 120) if kind.get("sweeps") else turns


def _times(rng: np.random.Generator, frames: int, dropped: float) -> npt.NDArray[np.float64]:
    """Frames are dropped in runs, as a busy phone does; what is left is a movie of `frames` frames."""
    if not dropped:
        return np.arange(frames) / max(1, frames - 1)
    steps = np.where(rng.uniform(size=frames) < dropped, rng.integers(2, 6, frames), 1).astype(float)
    steps[0] = 0
    way = np.cumsum(steps)
    share = min(2.0, float(way[-1]) / max(1, frames - 1))
    return np.asarray(way / max(1.0, float(way[-1])) * share, float)


def _gains(rng: np.random.Generator, frames: int, flicker: float) -> npt.NDArray[np.float64]:
    """Gain per frame: half of the flicker jumps from frame to frame, half swells slowly."""
    if not flicker:
        return np.ones(frames)
    jumps, swell = rng.normal(0, flicker / 2, frames), np.sin(np.arange(frames) / 5.0) * flicker / 2
    return np.asarray(np.exp(jumps + swell), float)


def _nights(frames: int) -> npt.NDArray[np.float64]:
    """Day and night in turn, three changes, each within two frames."""
    night = (np.arange(frames) * 4 // max(1, frames)) % 2
    padded = np.pad(night.astype(float), 1, mode="edge")
    return np.asarray(np.convolve(padded, [0.25, 0.5, 0.25], mode="valid"), float)


def _passes(frames: int) -> npt.NDArray[np.float64]:
    """How far the strange leaf is from the tip: -1 to 1 during its passage in the middle third, not a number
    otherwise.
    """
    share = np.full(frames, np.nan)
    start = frames // 3
    end = min(frames, start + max(3, frames // 4))
    share[start:end] = np.linspace(-1, 1, end - start)
    return share


def _card(width: int, height: int, unit: float) -> Picture:
    """The promotion card that a phone's app puts at the end."""
    card = np.full((height, width, 3), (40, 28, 24), np.uint8)
    cv2.circle(card, (width // 2, round(0.4 * height)), round(70 * unit), (60, 120, 240), -1, cv2.LINE_AA)
    cv2.circle(card, (width // 2, round(0.4 * height)), round(40 * unit), (255, 255, 255), -1, cv2.LINE_AA)
    at = (round(width / 2 - 150 * unit), round(0.75 * height))
    cv2.putText(
        card,
        "made with LapseApp",
        at,
        cv2.FONT_HERSHEY_SIMPLEX,
        unit,
        (240, 240, 240),
        max(1, round(2 * unit)),
        cv2.LINE_AA,
    )
    return card
