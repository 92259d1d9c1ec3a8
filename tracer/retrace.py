"""A trace that knows of the person's later words: between two frames on which the same marker was placed it is
followed from both, and the two are fused.

The pass backwards comes first and leaves a few numbers per frame; the pass forwards then answers frame by frame, as
any other trace, and can be stopped and resumed like one.
"""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracer.follow import DEFAULT_STRATEGY, Follower
from tracer.frames import Frame
from tracer.fuse import Side, Span, blend, spans
from tracer.model import FrameResult, Limits, TraceRequest
from tracer.rewind import Rewinder

Arrays = dict[str, npt.NDArray[Any]]
_PREFIX = "back_"


class Retrace:
    """A `Follower` whose answers are fused with what the pass backwards found; the same where there was none.

    `state` is what `save` gave, of an equal request. Raises NoMarkers if there is nothing to follow, ValueError if
    `state` is something else. While `must_look_back`, call `look_back` before the first `step`.
    """

    def __init__(self, request: TraceRequest, *, state: bytes | None = None, strategy: str = DEFAULT_STRATEGY) -> None:
        self._request, self._strategy = request, strategy
        self._back = Backwards(request)
        self.must_look_back = self._back.last >= self._back.start and state is None
        self._both = self._back.last >= self._back.start
        forward = self._unpacked(state) if state is not None and self._both else state
        self._follower = Follower(request, state=forward, strategy=strategy)

    def look_back(
        self,
        path: str | Path,
        *,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        on_frame: Callable[[], None] | None = None,
    ) -> None:
        """The pass backwards through the movie at `path`, in bounded memory; see `rewind` for its errors.

        `on_frame` is called for every frame that is decoded; what it raises ends the pass.
        """
        request, back = self._request, self._back
        rewinder = Rewinder(path, request.frame_start, back.last, rotation=request.rotation, limits=limits)
        back.follow(request, rewinder.reversed_frames(on_frame), self._strategy)
        self.must_look_back = False

    @property
    def reached(self) -> int:
        """The frame down to which the pass backwards has come."""
        return self._back.reached

    @property
    def last_frame(self) -> int | None:
        """The last frame that `step` answered."""
        return self._follower.last_frame

    def step(self, frame: Frame) -> FrameResult | None:
        """See `Follower.step`. RuntimeError if the pass backwards is still to be made."""
        if self.must_look_back:
            raise RuntimeError("look_back() comes before step()")
        result = self._follower.step(frame)
        return result and self._back.fused(result)

    def save(self) -> bytes:
        """A checkpoint after the last step; give it to a new Retrace of the same request."""
        forward = self._follower.save()
        if not self._both or self.must_look_back:
            return forward
        packed = io.BytesIO()
        after = self._request.frame_start if self.last_frame is None else self.last_frame
        arrays: dict[str, Any] = {"forward": np.frombuffer(forward, np.uint8), **self._back.arrays(after)}
        np.savez_compressed(packed, **arrays)
        return packed.getvalue()

    def _unpacked(self, state: bytes) -> bytes:
        """The follower's own checkpoint; what the pass backwards had found is taken over."""
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as packed:
                arrays = {name: packed[name] for name in packed.files}
            self._back.restore(arrays)
            return bytes(arrays["forward"])
        except (KeyError, EOFError, OSError, zipfile.BadZipFile) as fault:
            raise ValueError("this is not a checkpoint") from fault


class _Leg(NamedTuple):
    """A follower that runs backwards from frame `last` to the frame behind `first`, with the markers `which`."""

    follower: Follower
    which: npt.NDArray[np.intp]
    first: int
    last: int


class Backwards:
    """What the pass backwards said, frame by frame, for every span of a request.

    Arrays are indexed [frame - `start`, marker]; where `known` is False there is nothing to fuse. Kept as float32, so
    that a checkpoint holds exactly what was computed. `reached` is the frame down to which it has come.
    """

    _NAMES = ("points", "seen", "err", "known")

    def __init__(self, request: TraceRequest) -> None:
        self._spans = spans(request)
        self.start = request.frame_start + 1
        length = max((span.last for span in self._spans), default=request.frame_start) - request.frame_start
        shape = (length, len(request.markers))
        self.points = np.zeros((*shape, 2), np.float32)
        self.seen = np.zeros(shape, bool)
        self.err = np.zeros(shape, np.float32)
        self.known = np.zeros(shape, bool)
        self.reached = self.last

    @property
    def last(self) -> int:
        """The last frame that a person's later word reaches back from; before `start` if there is none."""
        return self.start + len(self.known) - 1

    def follow(self, request: TraceRequest, frames: Iterable[Frame], strategy: str = DEFAULT_STRATEGY) -> None:
        """Follow every span of `request`, the same as at the beginning, through `frames`: from the last one down to
        the source frame, numbered from 0.
        """
        legs = self._legs(request, strategy)
        for frame in frames:
            self.reached = number = self.last - frame.number
            for leg in legs:
                if leg.first < number <= leg.last:
                    result = leg.follower.step(frame)
                    if result is not None and number < leg.last:
                        self._keep(number, leg.which, result)

    def fused(self, result: FrameResult) -> FrameResult:
        """The forward answer with what came from behind, where anything did."""
        if not self.start <= result.frame_number <= self.last:
            return result
        here = result.frame_number - self.start
        which = np.flatnonzero(self.known[here])
        if not len(which):
            return result
        around = {span.marker: span for span in self._spans if span.first < result.frame_number < span.last}
        since = np.array([result.frame_number - around[int(n)].first for n in which])
        until = np.array([around[int(n)].last - result.frame_number for n in which])
        forward = Side(result.points[which], result.status[which].astype(bool), result.err[which], since)
        backward = Side(self.points[here, which], self.seen[here, which], self.err[here, which], until)
        one = blend(forward, backward)
        points, status, err = result.points.copy(), result.status.copy(), result.err.copy()
        points[which], status[which], err[which] = one.points, one.seen, one.err
        return replace(result, points=points, status=status, err=err)

    def arrays(self, after: int) -> Arrays:
        """What `restore` needs to fuse the frames behind `after`."""
        rest = slice(max(0, after + 1 - self.start), None)
        return {_PREFIX + name: getattr(self, name)[rest] for name in self._NAMES}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `arrays` gave; frames before it stay unknown. ValueError if it belongs to another request."""
        for name in self._NAMES:
            whole, rest = getattr(self, name), arrays[_PREFIX + name]
            if len(rest):
                whole[-len(rest) :] = rest

    def _legs(self, request: TraceRequest, strategy: str) -> list[_Leg]:
        """Markers that were placed on the same two frames share a follower."""
        together: dict[tuple[int, int], list[Span]] = defaultdict(list)
        for span in self._spans:
            together[span.first, span.last].append(span)
        legs = []
        for (first, last), group in together.items():
            which = np.array([span.marker for span in group])
            placed = {marker.marker_id: marker for marker in request.anchors[last]}
            markers = tuple(placed[request.markers[n].marker_id] for n in which)
            mirrored = TraceRequest(markers, frame_start=self.last - last, rotation=request.rotation)
            legs.append(_Leg(Follower(mirrored, strategy=strategy), which, first, last))
        return legs

    def _keep(self, number: int, which: npt.NDArray[np.intp], result: FrameResult) -> None:
        here = number - self.start
        self.points[here, which], self.seen[here, which] = result.points, result.status
        self.err[here, which], self.known[here, which] = result.err, True
