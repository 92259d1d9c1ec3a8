"""Follow the markers of one request through a movie, frame by frame, in a form that can be stopped and resumed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tracer.errors import NoMarkers
from tracer.flow import CheckedFlow, PlainFlow
from tracer.frames import Frame
from tracer.geometry import LONG_SIDE
from tracer.hybrid import Hybrid
from tracer.model import FrameResult, Marker, Status, TraceRequest
from tracer.strategy import Seen, Strategy

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    PlainFlow.name: PlainFlow,
    CheckedFlow.name: CheckedFlow,
    Hybrid.name: Hybrid,
}
DEFAULT_STRATEGY = Hybrid.name
_STATE_VERSION = 2


class Follower:
    """Turns frames into `FrameResult`s.

    Feed it every frame in order, from frame 0, or from any frame at or before the one after the checkpoint that
    `state` holds: frames that were already done are passed over. Positions are analysis pixels; a lost marker keeps
    its carried position inside the frame and is flagged. Raises NoMarkers if there is nothing to follow, ValueError
    if `state` is not a checkpoint of an equal set of markers.
    """

    def __init__(self, request: TraceRequest, *, state: bytes | None = None, strategy: str = DEFAULT_STRATEGY) -> None:
        if not request.markers:
            raise NoMarkers(frame=request.frame_start)
        self._request = request
        self._index = {marker.marker_id: n for n, marker in enumerate(request.markers)}
        self._strategy = STRATEGIES[strategy]()
        self._last: FrameResult | None = None
        self.last_frame: int | None = None
        if state is not None:
            self._restore(state)

    def step(self, frame: Frame) -> FrameResult | None:
        """The markers in this frame; None for frames before the source frame, after the last one, or already done.

        The source frame itself answers the positions as they were placed, seen, with error 0. ValueError for a gap.
        """
        if not self._wants(frame.number):
            return None
        view = frame.view
        scale = np.array([view.scale_x, view.scale_y])
        farthest = np.array([view.frame_width - 1.0, view.frame_height - 1.0])
        seen = self._start(frame, scale) if self.last_frame is None else self._strategy.advance(frame)
        points = np.clip((seen.points + 0.5) * scale - 0.5, 0.0, farthest)
        err = np.minimum(seen.err * float(scale.max()), float(LONG_SIDE))
        status = seen.seen.astype(np.int8)  # the values of `Status`

        which, placed = self._placed(frame.number)
        if which.any():
            points[which], err[which], status[which] = placed[which], 0.0, Status.SEEN
            if self.last_frame is not None:
                self._strategy.place(frame, (points + 0.5) / scale - 0.5, which)
        self.last_frame = frame.number
        return FrameResult(frame.number, frame.time, points, status, err)

    def save(self) -> bytes:
        """A checkpoint after the last step; give it to a new Follower of the same request. No pickle inside."""
        head = {
            "version": _STATE_VERSION,
            "strategy": self._strategy.name,
            "last_frame": self.last_frame,
            "markers": [marker.marker_id for marker in self._request.markers],
        }
        packed = io.BytesIO()
        header = np.frombuffer(json.dumps(head).encode(), np.uint8)
        arrays: dict[str, Any] = {} if self.last_frame is None else self._strategy.arrays()
        np.savez_compressed(packed, header=header, **arrays)
        return packed.getvalue()

    def _restore(self, state: bytes) -> None:
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as packed:
                arrays = {name: packed[name] for name in packed.files}
            head = json.loads(arrays.pop("header").tobytes())
            if head["version"] != _STATE_VERSION or head["markers"] != list(self._index):
                raise ValueError("this checkpoint belongs to other markers or another version")
            self._strategy = STRATEGIES[head["strategy"]]()
            if head["last_frame"] is not None:
                self._strategy.restore(arrays)
        except (KeyError, EOFError, OSError, zipfile.BadZipFile, UnicodeDecodeError) as fault:
            raise ValueError("this is not a checkpoint") from fault
        self.last_frame = head["last_frame"]

    def _wants(self, number: int) -> bool:
        """Is this frame the next to do? Earlier ones are passed over."""
        request = self._request
        if number < request.frame_start or (request.frame_end is not None and number > request.frame_end):
            return False
        expected = request.frame_start if self.last_frame is None else self.last_frame + 1
        if number > expected:
            raise ValueError("frames must be fed in order and without gaps")
        return number == expected

    def _start(self, frame: Frame, scale: npt.NDArray[np.float64]) -> Seen:
        which, placed = self._placed(frame.number)
        points = (placed + 0.5) / scale - 0.5
        self._strategy.place(frame, points, which)
        return Seen(points, which, np.zeros(len(which)))

    def _placed(self, number: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
        """Which markers a person placed on this frame, and where, in analysis pixels."""
        request = self._request
        markers: tuple[Marker, ...] = request.anchors.get(number, ())
        if number == request.frame_start:
            markers = request.markers
        which = np.zeros(len(request.markers), bool)
        points = np.zeros((len(request.markers), 2))
        for marker in markers:
            n = self._index.get(marker.marker_id)
            if n is not None:
                which[n], points[n] = True, (marker.x, marker.y)
        return which, points
