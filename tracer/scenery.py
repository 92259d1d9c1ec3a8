"""Draw a plant on a laboratory bench: wall, bench, pot, ruler, and a stem with leaves that moves without losing its
skin.

Everything that moves is textured and drawn at fractions of a pixel, so that the true place of a point on it is exact.
Coordinates are pixel centres of the picture that is drawn; sizes scale with `unit`, which is 1 for a 640 wide picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]

PX_PER_MM = 5.5  # of the ruler, at unit 1


@dataclass(frozen=True, slots=True)
class Bench:
    """What stands still. `picture` uint8 (h, w, 3); the ruler's ticks 0 and 10 mm; where the stem leaves the pot."""

    picture: Picture
    ruler_zero: tuple[float, float]
    ruler_ten: tuple[float, float]
    mouth: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sprite:
    """A flat piece of plant: `picture` float32 (h, w, 3), `cover` float32 (h, w) 0-1, `root` where it is attached."""

    picture: Floats
    cover: Floats
    root: tuple[float, float]


def bench(
    rng: np.random.Generator,
    width: int,
    height: int,
    unit: float,
    *,
    lying: bool,
    ruler_x: float,
    squared: bool = False,
) -> Bench:
    """The scene without the plant. `lying`: the pot is on its side at the left; otherwise it stands in the middle.
    `squared`: the wall is covered with squared paper, the same again and again.
    """
    wall = np.array([176.0, 186.0, 190.0]) + 14 * clouds(rng, width, height, 90 * unit)[..., None]
    wall += 6 * clouds(rng, width, height, 7 * unit)[..., None] + rng.normal(0, 2.0, (height, width, 1))
    edge = round(0.84 * height)
    grain = clouds(rng, width, height, 9 * unit, stretch=14.0)[edge:, :, None]
    wall[edge:] = np.array([88.0, 120.0, 150.0]) + 22 * grain + rng.normal(0, 3.0, (height - edge, width, 1))
    picture = np.clip(wall, 0, 255).astype(np.uint8)
    if squared:
        _squared_paper(picture[:edge], unit)
    cv2.line(picture, (0, edge), (width, edge), (60, 70, 80), max(1, round(2 * unit)), cv2.LINE_AA)
    _stickers(picture, rng, unit)
    mouth = _pot(picture, rng, unit, edge, lying=lying)
    zero, ten = _ruler(picture, unit, ruler_x * width, edge - 14 * unit)
    return Bench(picture, zero, ten, mouth)


def _stickers(picture: Picture, rng: np.random.Generator, unit: float) -> None:
    """Tape, a label and pin holes: the odds and ends that every real wall has."""
    height, width = picture.shape[:2]
    for text, x, y in (("Col-0  #7", 0.06, 0.12), ("24 h", 0.40, 0.08)):
        left, top = round(x * width), round(y * height)
        size = (round(92 * unit), round(26 * unit))
        cv2.rectangle(picture, (left, top), (left + size[0], top + size[1]), (226, 236, 238), -1, cv2.LINE_AA)
        at = (left + round(6 * unit), top + round(18 * unit))
        cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.45 * unit, (50, 50, 60), 1, cv2.LINE_AA)
    for _ in range(26):
        spot = (int(rng.integers(0, width)), int(rng.integers(0, round(0.8 * height))))
        shade = int(rng.integers(90, 150))
        cv2.circle(picture, spot, max(1, round(rng.uniform(0.8, 2.4) * unit)), (shade,) * 3, -1, cv2.LINE_AA)


def _squared_paper(picture: Picture, unit: float) -> None:
    """White paper with a blue line every 11 pixels: squares of 2 mm by the ruler's measure."""
    height, width = picture.shape[:2]
    picture[:] = (0.25 * picture + 0.75 * np.array([236, 238, 236])).astype(np.uint8)
    for step in range(int(max(width, height) / (11 * unit)) + 1):
        spot = round(16 * 11 * unit * step)
        for start, end in (((spot, 0), (spot, 16 * height)), ((0, spot), (16 * width, spot))):
            cv2.line(picture, start, end, (200, 150, 110), max(1, round(unit)), cv2.LINE_AA, 4)


def _pot(picture: Picture, rng: np.random.Generator, unit: float, edge: int, *, lying: bool) -> tuple[float, float]:
    height, width = picture.shape[:2]
    top_half, foot_half, tall = 46 * unit, 32 * unit, 74 * unit
    if lying:
        x, y = 0.18 * width, edge - 48 * unit
        corners = [(x, y - top_half), (x, y + top_half), (x - tall, y + foot_half), (x - tall, y - foot_half)]
        soil = ((x, y), (9 * unit, top_half))
    else:
        x, y = 0.47 * width, edge - tall + 10 * unit
        corners = [(x - top_half, y), (x + top_half, y), (x + foot_half, y + tall), (x - foot_half, y + tall)]
        soil = ((x, y), (top_half, 9 * unit))
    mask = np.zeros((height, width), np.uint8)
    cv2.fillConvexPoly(mask, np.array(corners, np.float32).round().astype(np.int32), 255, cv2.LINE_AA)
    clay = np.array([66.0, 96.0, 168.0]) + 16 * clouds(rng, width, height, 12 * unit)[..., None]
    _blend(picture, clay, mask / 255.0)
    mask[:] = 0
    spot = (round(soil[0][0]), round(soil[0][1]))
    cv2.ellipse(mask, spot, (round(soil[1][0]), round(soil[1][1])), 0, 0, 360, 255, -1, cv2.LINE_AA)
    earth = np.array([34.0, 44.0, 58.0]) + 26 * clouds(rng, width, height, 3 * unit)[..., None]
    _blend(picture, earth, mask / 255.0)
    return x, y


def _ruler(
    picture: Picture, unit: float, left: float, bottom: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """A standing ruler; its zero is at the bottom. Ticks are drawn between pixels, so their true places are exact."""
    per_mm, wide, margin = PX_PER_MM * unit, 46 * unit, 10 * unit
    count = int((bottom - 0.10 * picture.shape[0] - 2 * margin) / per_mm)
    x, zero = round(left), float(round(bottom - margin))
    top = round(zero - count * per_mm - margin)
    cv2.rectangle(picture, (x, top), (round(x + wide), round(bottom)), (196, 228, 236), -1, cv2.LINE_AA)
    cv2.rectangle(picture, (x, top), (round(x + wide), round(bottom)), (90, 110, 120), 1, cv2.LINE_AA)
    for mm in range(count + 1):
        long = 20.0 if mm % 10 == 0 else 14.0 if mm % 5 == 0 else 8.0
        y = zero - mm * per_mm
        start, end = (round(x * 16), round(y * 16)), (round((x + long * unit) * 16), round(y * 16))
        cv2.line(picture, start, end, (30, 30, 30), max(1, round(1.2 * unit)), cv2.LINE_AA, 4)
        if mm % 10 == 0:
            at = (round(x + 22 * unit), round(y + 4 * unit))
            cv2.putText(picture, f"{mm}", at, cv2.FONT_HERSHEY_SIMPLEX, 0.38 * unit, (30, 30, 30), 1, cv2.LINE_AA)
    tick = x + 20.0 * unit
    return (tick, zero), (tick, zero - 10 * per_mm)


def clouds(rng: np.random.Generator, width: int, height: int, size: float, stretch: float = 1.0) -> Floats:
    """Smooth noise of unit variance with grains of about `size` pixels, `stretch` times as long along x."""
    small = (max(3, round(width / (size * stretch)) + 2), max(3, round(height / size) + 2))
    coarse = rng.normal(0, 1, (small[1], small[0])).astype(np.float32)
    field: Floats = np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)
    field -= field.mean()
    field /= field.std() + 1e-6
    return field


def skin(rng: np.random.Generator, length: float, half_width: float, *, ringed: bool) -> Floats:
    """The stem's surface unrolled: float32 (2 * half_width rows, length columns, 3). `ringed`: the same ring again
    and again.
    """
    columns, rows = max(8, round(length)), max(5, round(2 * half_width + 5))
    across = np.linspace(-1.25, 1.25, rows)[:, None]
    light = 1.0 - 0.42 * across**2 + 0.18 * across
    if ringed:
        along = np.arange(columns)[None, :]
        marks = 0.16 * np.sign(np.sin(2 * np.pi * along / (2.4 * half_width)))
    else:
        marks = 0.13 * clouds(rng, columns, rows, 2.6, stretch=1.6) + 0.08 * clouds(rng, columns, rows, 14.0)
    tone = (light + marks)[..., None] * np.array([62.0, 138.0, 96.0])
    surface: Floats = np.clip(tone, 0, 255).astype(np.float32)
    return surface


def leaf(rng: np.random.Generator, unit: float, length: float, width: float) -> Sprite:
    """A leaf that points to the right, with a midrib, side veins and blotches; attached at its left end."""
    long, wide = round(length * unit) + 8, round(width * unit) + 8
    x = (np.arange(long) - 4) / (long - 8)
    half = np.where((x > 0) & (x < 1), (wide - 8) / 2 * np.sin(np.pi * np.clip(x, 0, 1) ** 0.8) ** 0.9, 0.0)
    y = np.arange(wide)[:, None] - (wide - 1) / 2
    cover = np.clip(half[None, :] - np.abs(y) + 0.5, 0, 1).astype(np.float32)
    tone = 1.0 + 0.12 * clouds(rng, long, wide, 9 * unit) + 0.10 * clouds(rng, long, wide, 2.2 * unit)
    ribs = np.abs((np.arange(long)[None, :] - 0.7 * np.abs(y)) % (9 * unit) - 4.5 * unit)
    tone -= 0.16 * np.clip(1.4 * unit - ribs, 0, 1) - 0.30 * np.clip(1.3 * unit - np.abs(y), 0, 1)
    picture = np.clip(tone[..., None] * np.array([58.0, 132.0, 84.0]), 0, 255).astype(np.float32)
    return Sprite(picture, cv2.GaussianBlur(cover, (3, 3), 0.6), (4.0, (wide - 1) / 2))


def bud(rng: np.random.Generator, unit: float) -> Sprite:
    """The growing tip: two folded leaflets around a light point, which is its root and the plant's apex."""
    side = round(34 * unit)
    middle = (side - 1) / 2
    cover, tone = np.zeros((side, side), np.float32), np.zeros((side, side, 3), np.float32)
    blotch = clouds(rng, side, side, 3 * unit)
    for turn, shade in ((-38, 0.86), (34, 1.08), (-4, 0.97)):
        mask = np.zeros((side, side), np.uint8)
        centre = (round((middle + 5 * unit) * 16), round((middle + np.sin(np.radians(turn)) * 5 * unit) * 16))
        axes = (round(9 * unit * 16), round(4 * unit * 16))
        cv2.ellipse(mask, centre, axes, float(turn), 0, 360, 255, -1, cv2.LINE_AA, 4)
        part = mask.astype(np.float32) / 255.0
        color = np.array([70.0, 168.0, 118.0]) * shade * (1 + 0.16 * blotch[..., None])
        tone = tone * (1 - part[..., None]) + color.astype(np.float32) * part[..., None]
        cover = np.maximum(cover, part)
    spot = np.hypot(*(np.mgrid[:side, :side] - middle))
    light = np.clip(2.6 * unit - spot, 0, 1)[..., None].astype(np.float32)
    tone = tone * (1 - light) + np.array([150.0, 214.0, 196.0], np.float32) * light
    return Sprite(np.clip(tone, 0, 255), np.maximum(cover, light[..., 0]), (middle, middle))


def draw_stem(picture: Picture, line: Floats, surface: Floats, half_width: float) -> None:
    """Lay `surface` along the centre line (m, 2) of equal steps; the stem thins to half its width at the tip."""
    pad = int(half_width) + 3
    height, width = picture.shape[:2]
    near_line = np.zeros((height, width), np.uint8)
    cv2.polylines(near_line, [np.round(line).astype(np.int32)], False, 255, 2 * pad + 1)
    ys, xs = np.nonzero(near_line)
    if not len(xs):
        return
    along, across, total = _unrolled(line, np.stack([xs, ys], 1).astype(np.float32))
    half = half_width * (1 - 0.5 * np.clip(along / total, 0, 1))
    cover = np.clip(half - np.abs(across) + 0.5, 0, 1) * ((along >= 0) & (along <= total))
    rows = (surface.shape[0] - 1) / 2 + across * (half_width / half)
    columns = along * (surface.shape[1] - 1) / total
    spots = (columns.astype(np.float32)[:, None], rows.astype(np.float32)[:, None])
    tone = cv2.remap(surface, *spots, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[:, 0]
    share = cover[:, None]
    picture[ys, xs] = np.clip(picture[ys, xs] * (1 - share) + tone * share + 0.5, 0, 255).astype(np.uint8)


def stem_covers(line: Floats, half_width: float, place: Sequence[float]) -> bool:
    """Does the stem lie over this place?"""
    along, across, total = _unrolled(line, np.array([place[:2]], np.float32))
    half = half_width * (1 - 0.5 * np.clip(along / total, 0, 1))
    return bool(((np.abs(across) <= half) & (along >= 0) & (along <= total))[0])


def _unrolled(line: Floats, spots: Floats) -> tuple[npt.NDArray[Any], npt.NDArray[Any], float]:
    """Where spots (n, 2) lie along and across a centre line (m, 2), and the line's length. Pixels."""
    distance = (line * line).sum(1)[None, :] - 2 * spots @ line.T
    near = distance.argmin(1)
    tangent = np.gradient(line, axis=0)
    step = float(np.linalg.norm(np.diff(line, axis=0), axis=1).mean())
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True) + 1e-6
    offset = spots - line[near]
    along = near * step + (offset * tangent[near]).sum(1)
    across = offset[:, 1] * tangent[near, 0] - offset[:, 0] * tangent[near, 1]
    return along, across, step * (len(line) - 1)


def draw_sprite(picture: Picture, sprite: Sprite, at: Sequence[float], degrees: float, scale: float = 1.0) -> None:
    """Put the sprite's root at `at`, turned clockwise by `degrees`."""
    height, width = picture.shape[:2]
    reach = scale * float(np.hypot(*sprite.cover.shape)) + 2
    left, top = max(0, int(at[0] - reach)), max(0, int(at[1] - reach))
    right, bottom = min(width, int(at[0] + reach) + 1), min(height, int(at[1] + reach) + 1)
    if right <= left or bottom <= top:
        return
    matrix = sprite_matrix(sprite, (at[0] - left, at[1] - top), degrees, scale)
    size = (right - left, bottom - top)
    tone = cv2.warpAffine(sprite.picture, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    cover = cv2.warpAffine(sprite.cover, matrix, size, flags=cv2.INTER_LINEAR)
    _blend(picture[top:bottom, left:right], tone, cover)


def sprite_matrix(sprite: Sprite, at: Sequence[float], degrees: float, scale: float) -> npt.NDArray[np.float64]:
    """The 2x3 matrix that takes points of the sprite to the picture."""
    c, s = scale * np.cos(np.radians(degrees)), scale * np.sin(np.radians(degrees))
    x, y = sprite.root
    return np.array([[c, -s, at[0] - c * x + s * y], [s, c, at[1] - s * x - c * y]])


def covers(sprite: Sprite, at: Sequence[float], degrees: float, scale: float, place: Sequence[float]) -> bool:
    """Does the sprite, drawn like that, lie over this place?"""
    inverse = cv2.invertAffineTransform(sprite_matrix(sprite, at, degrees, scale))
    x, y = inverse @ np.array([place[0], place[1], 1.0])
    column, row = round(float(x)), round(float(y))
    height, width = sprite.cover.shape
    return 0 <= column < width and 0 <= row < height and bool(sprite.cover[row, column] > 0.5)


def _blend(picture: Picture, tone: Picture, cover: Picture) -> None:
    """Lay float `tone` over the uint8 `picture` in place where `cover` (0-1) says so."""
    share = cover[..., None]
    picture[:] = np.clip(picture * (1 - share) + tone * share + 0.5, 0, 255).astype(np.uint8)
