"""Frames of reference: source picture, analysis frame, stored coordinates. Pure arithmetic, no picture is touched here.

Three pictures matter. The *source* picture lies as it is stored in the file. The *upright* one is the source turned
by the file's own flag and by the user. The *analysis frame* is the upright picture with square pixels, scaled so that
its longer side is `LONG_SIDE`. Coordinates name pixel centres: (0, 0) is the centre of the upper left pixel. Stored
coordinates have their origin at the lower left (`flip_y`).

Angles are degrees clockwise, as a person would turn the picture.
"""

from __future__ import annotations

from dataclasses import dataclass

LONG_SIDE = 640
QUARTERS = (0, 90, 180, 270)


def analysis_size(width: int, height: int, pixel_aspect: float = 1.0) -> tuple[int, int]:
    """Size (width, height) in pixels of the analysis frame of an upright picture.

    `pixel_aspect` is width / height of one upright pixel. The longer side is always `LONG_SIDE`, also for smaller
    movies.
    """
    return _scaled_to(LONG_SIDE, width, height, pixel_aspect)


def tracking_size(width: int, height: int, pixel_aspect: float = 1.0) -> tuple[int, int]:
    """Size (width, height) of the picture that is followed: the analysis frame, but never larger than the source's own.

    Enlarging a small movie adds no detail, so only its coordinates are scaled.
    """
    long_side = max(width * pixel_aspect, float(height))
    return _scaled_to(min(float(LONG_SIDE), long_side), width, height, pixel_aspect)


def _scaled_to(long_side: float, width: int, height: int, pixel_aspect: float) -> tuple[int, int]:
    if width <= 0 or height <= 0 or pixel_aspect <= 0:
        raise ValueError("a picture has a positive size")
    square_width = width * pixel_aspect
    scale = long_side / max(square_width, height)
    return max(1, round(square_width * scale)), max(1, round(height * scale))


def flip_y(y: float, frame_height: float) -> float:
    """Image y (down, from the top) to stored y (up, from the bottom) and back; it is its own inverse.

    `frame_height` is the analysis frame's height, never the source's.
    """
    return frame_height - y


def total_rotation(file_rotation: int, user_rotation: int) -> int:
    """The file's flag and the user's turn as one clockwise turn: 0, 90, 180 or 270. ValueError for anything else."""
    for turn in (file_rotation, user_rotation):
        if turn not in QUARTERS:
            raise ValueError("a picture turns by 0, 90, 180 or 270 degrees")
    return (file_rotation + user_rotation) % 360


def quarter_of(degrees: float) -> int:
    """The nearest of 0, 90, 180, 270 to any clockwise angle; a file's flag may hold -90 or 89.99."""
    return round(degrees / 90.0) % 4 * 90


def turned_size(width: int, height: int, rotation: int) -> tuple[int, int]:
    """Size of a picture after a clockwise turn by `rotation` (0, 90, 180, 270)."""
    return (height, width) if rotation in (90, 270) else (width, height)


def turned_aspect(pixel_aspect: float, rotation: int) -> float:
    """Width / height of one pixel after the turn."""
    return 1.0 / pixel_aspect if rotation in (90, 270) else pixel_aspect


def turn_point(x: float, y: float, width: int, height: int, rotation: int) -> tuple[float, float]:
    """Where the point (x, y) of a `width` x `height` picture lies after a clockwise turn by `rotation`."""
    if rotation == 90:
        return height - 1 - y, x
    if rotation == 180:
        return width - 1 - x, height - 1 - y
    if rotation == 270:
        return y, width - 1 - x
    return x, y


def to_analysis(x: float, scale: float) -> float:
    """One coordinate of a source pixel in analysis pixels; `scale` is analysis pixels per source pixel.

    Half a pixel is added before and taken off after, because coordinates name pixel centres.
    """
    return (x + 0.5) * scale - 0.5


def to_source(x: float, scale: float) -> float:
    """The inverse of `to_analysis`."""
    return (x + 0.5) / scale - 0.5


@dataclass(frozen=True, slots=True)
class View:
    """How a source picture becomes the tracking picture and the analysis frame.

    `rotation` is the whole clockwise turn. `width`, `height` are the upright source's. `scale_x`, `scale_y` are
    analysis pixels per tracking pixel; they differ by the rounding of the shorter side alone.
    """

    rotation: int
    width: int
    height: int
    pixel_aspect: float
    frame_width: int
    frame_height: int
    track_width: int
    track_height: int

    @classmethod
    def of(cls, source_width: int, source_height: int, source_aspect: float = 1.0, rotation: int = 0) -> View:
        """The view of a picture as stored in the file; `rotation` is `total_rotation`'s."""
        width, height = turned_size(source_width, source_height, rotation)
        aspect = turned_aspect(source_aspect, rotation)
        frame_width, frame_height = analysis_size(width, height, aspect)
        track_width, track_height = tracking_size(width, height, aspect)
        return cls(rotation, width, height, aspect, frame_width, frame_height, track_width, track_height)

    @property
    def scale_x(self) -> float:
        return self.frame_width / self.track_width

    @property
    def scale_y(self) -> float:
        return self.frame_height / self.track_height
