"""The tracer's own strategy: remembered pictures against drift, flow where things move, and honesty about what is not
seen.

See `points.State` for the states of a point. Pixels here are the tracking picture's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tracer.cuts import CutFinder
from tracer.frames import Frame
from tracer.memory import Memory, Now
from tracer.motion import Camera, camera_motion
from tracer.points import Points, State
from tracer.reacquire import Search, Sighting
from tracer.step import Step, follow, is_good
from tracer.strategy import Arrays, Seen, gray_from_png, png_from_gray
from tracer.template import PAD, Bank, Complexes, Flags, Indices, padded

_HOLD = 2  # frames for which a point that is not seen goes on with its last velocity
_MISSES = 3  # frames of uncertainty after which a point is lost
_PROOFS = 3  # frames for which a point that was found again must be followed
_LOOSE = 0.5  # variance of a place per slack of its key and share of the picture that differs; fitted to known truth
_SPINNING = 80.0  # by which that grows per square of radians that the patch turned since the last frame
_FADES = 0.8  # share of an estimated error that is left one frame later at least
_LOOK_AROUND = 6  # frames between two looks at the wider surroundings


class Hybrid:
    """Follows n points; see the module and `tracer.strategy.Strategy`."""

    name: ClassVar[str] = "hybrid"

    def __init__(self) -> None:
        self._now: Now | None = None
        self._cuts = CutFinder()
        self._set_size(0)

    def _set_size(self, n: int) -> None:
        self._points, self._bank, self._search = Points.of(n), Bank(n), Search(n)
        self._memory = Memory(self._points, self._bank, self._search)

    def place(self, frame: Frame, points: npt.NDArray[np.float64], which: Flags) -> None:
        if self._now is None:
            self._set_size(len(points))
            self._now = Now(frame, padded(frame.gray()), 0)
            self._small = frame.small()
            self._cuts.is_cut(self._small)
        for n in map(int, np.flatnonzero(which)):
            self._points.place(n, complex(points[n, 0], points[n, 1]))
            self._memory.begin(n, self._now._replace(frame=frame))

    def advance(self, frame: Frame) -> Seen:
        assert self._now is not None, "place() comes before advance()"
        before, before_small = self._now.picture, self._small
        self._now = Now(frame, padded(frame.gray()), self._now.step + 1)
        self._small = frame.small()
        points = self._points
        camera = Camera()
        if self._cuts.is_cut(self._small):
            for alive in np.flatnonzero(points.state != State.LOST):
                self._lose(int(alive))
        else:
            camera = camera_motion(before_small, self._small)
            self._search.carry(camera.turn, camera.shift)
        lost = np.flatnonzero(points.state == State.LOST)
        followed = np.flatnonzero(points.state != State.LOST)
        carried = camera.turn * points.c + camera.shift
        if len(followed):
            self._follow(followed, before, carried[followed], camera.turn)
        for missing in map(int, lost):
            self._seek(missing, complex(carried[missing]), camera.turn)
        self._search.missing[points.state != State.TRACKED] += 1
        width, height = self._size()
        x = np.minimum(np.maximum(points.c.real, 0), width - 1)
        points.c = x + 1j * np.minimum(np.maximum(points.c.imag, 0), height - 1)
        return Seen(points.c.view(np.float64).reshape(-1, 2).copy(), points.state == State.TRACKED, points.err.copy())

    def arrays(self) -> Arrays:
        assert self._now is not None, "place() comes before arrays()"
        return {
            "step": np.array(self._now.step),
            **self._points.arrays(),
            **self._bank.arrays(),
            **self._search.arrays(),
            **self._cuts.arrays(),
            "small": self._small,
            **png_from_gray("gray", self._now.picture[PAD:-PAD, PAD:-PAD]),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        gray = gray_from_png("gray", arrays)
        if gray is None:
            raise ValueError("a checkpoint holds the last picture")
        self._set_size(len(arrays["point_c"]))
        for part in (self._points, self._bank, self._search, self._cuts):
            part.restore(arrays)
        # The frame itself is only asked for its colour when a key is made, and by then there is another one.
        self._now = Now(None, padded(gray), int(arrays["step"]))
        self._small = arrays["small"]

    def _follow(self, which: Indices, before: npt.NDArray[Any], carried: Complexes, turn: complex) -> None:
        assert self._now is not None
        step = follow(self._points, self._bank, which, before, self._now.picture, carried, turn)
        good = is_good(self._points, self._bank, which, step) & self._inside(step.c)
        if good.all():
            self._take(which, step, carried)
            return
        self._take(which[good], step.only(good), carried[good])
        self._miss(which[~good], step.only(~good), carried[~good])

    def _take(self, which: Indices, step: Step, carried: Complexes) -> None:
        """Believe the step."""
        assert self._now is not None
        points = self._points
        moved = step.c - carried
        steady = np.where(points.misses[which] == 0, 0.6, 0.5)
        points.velocity[which] = steady * moved + (1 - steady) * points.velocity[which]
        points.speed[which] += 0.03 * (np.abs(moved) - points.speed[which])
        turn = step.m / points.m[which]
        spin = points.spin[which] + np.where(step.pulled, turn, 1.0)
        points.spin[which] = spin / np.maximum(np.abs(spin), 0.1)
        points.c[which], points.m[which], points.last_patch[which] = step.c, step.m, step.patch
        key_var = self._bank.var[which, points.key[which]]
        points.drift[which] = drift = np.where(step.pulled, key_var, points.drift[which] + 0.02)
        # A patch that spins or changes its size is one that rolls along an edge, more often than one that moves so.
        rolling = _LOOSE * (1 - step.z) * (1 + _SPINNING * np.angle(turn) ** 2) + np.log(np.abs(step.m)) ** 2
        loose = self._bank.slack[which, points.key[which]] * rolling
        err = np.sqrt(0.04 + np.minimum(step.closure, 4.0) ** 2 + drift + loose)
        points.err[which] = np.maximum(err, _FADES * points.err[which])
        points.misses[which] = 0
        twin = self._bank.amb[which, points.key[which]]
        usual = (np.abs(moved) <= 4 + 4 * points.speed[which]) | (step.z > np.clip(twin + 0.25, 0.88, 0.97))
        self._prove(which[usual])
        self._doubt(which[~usual])
        if self._now.step % _LOOK_AROUND == 0 and len(which):
            self._memory.look_around(which, self._now)
        self._memory.renew(which, step, self._now)
        points.err[which] = np.maximum(points.err[which], np.sqrt(points.drift[which]))  # a new key is less sure

    def _miss(self, which: Indices, step: Step, carried: Complexes) -> None:
        """Do not believe it: look for each point at once, hold it if that fails, give it up if that went on."""
        points = self._points
        going = np.where(points.misses[which] < _HOLD, points.velocity[which], 0)
        for i, n in enumerate(map(int, which)):
            held = complex(carried[i] + going[i])
            returning = points.state[n] == State.RETURNING
            found = self._look(n, held) if points.misses[n] == 0 else None
            if found is not None and self._sure(n, found, held, returning):
                points.velocity[n] = found.c - carried[i]
                self._stand(n, found)
                self._prove(np.array([n]))
                continue
            points.c[n] = held
            if returning:
                self._lose(n)
                continue
            points.misses[n] += 1
            points.state[n] = State.UNCERTAIN
            points.err[n] += 1.0 + abs(points.velocity[n])
            outside = not self._inside(np.array([held]))[0]
            if points.misses[n] >= _MISSES or (step.z[i] < 0.35 and step.z_last[i] < 0.5) or outside:
                self._lose(n)

    def _prove(self, which: Indices) -> None:
        """One more frame in which these points were found where they should be."""
        self._points.proofs[which] -= 1
        self._points.state[which[self._points.proofs[which] <= 0]] = State.TRACKED

    def _doubt(self, which: Indices) -> None:
        """These points are carried along faster than ever: if they are only returning, it may be something else that
        looks like them.
        """
        points = self._points
        for n in map(int, which[points.state[which] == State.RETURNING]):
            points.proofs[n] += 1
            if points.proofs[n] > 2 * _PROOFS:
                self._lose(n)

    def _lose(self, n: int) -> None:
        """From now on search for the point where it was lost, also if something was taken for it meanwhile."""
        points, search = self._points, self._search
        if points.state[n] == State.RETURNING:
            points.c[n] = search.home[n]
        else:
            speed = max(float(abs(points.velocity[n])), float(points.speed[n]))
            search.begin(n, complex(points.c[n]), speed)
        points.state[n] = State.LOST
        points.err[n] += 1.0
        points.stop(n)

    def _seek(self, n: int, carried: complex, turn: complex) -> None:
        """Search for a lost point. What is found must be followed for some frames before it counts as seen."""
        points = self._points
        points.m[n] *= turn
        points.c[n] = carried
        points.err[n] += 0.5
        found = self._look(n, carried)
        if found is not None:
            sure = found.z > 0.93 and abs(found.c - carried) < 30 and self._bank.amb[n, found.key] < 0.75
            self._stand(n, found)
            points.state[n], points.proofs[n] = State.RETURNING, 1 if sure else _PROOFS

    def _look(self, n: int, around: complex) -> Sighting | None:
        assert self._now is not None
        m, key = complex(self._points.m[n]), int(self._points.key[n])
        return self._search.look(self._bank, n, key, self._now.picture, around, m, self._now.step)

    def _sure(self, n: int, found: Sighting, held: complex, returning: bool) -> bool:
        """May a sighting count at once, without being followed first? Only near, and if no other place is like it.

        A returning point has to be proved by several frames anyway, so each of them may be a little weaker.
        """
        distance = abs(found.c - held)
        least, reach = (0.74, 40 + 2 * self._points.speed[n]) if returning else (0.84, 44)
        if distance > 24:
            least += 0.05
        twin = float(self._bank.amb[n, found.key])
        return bool(found.z > max(least, min(0.95, twin + 0.1)) and distance < reach)

    def _stand(self, n: int, found: Sighting) -> None:
        """The point is at the sighting, as far as one picture can tell."""
        assert self._now is not None
        points = self._points
        points.c[n], points.m[n], points.key[n] = found.c, found.m, found.key
        points.misses[n], points.drift[n] = 0, self._bank.var[n, found.key]
        points.err[n] = float(np.sqrt(0.25 + points.drift[n]))
        self._memory.look_back(np.array([n]), self._now)

    def _size(self) -> tuple[int, int]:
        assert self._now is not None
        height, width = self._now.picture.shape
        return width - 2 * PAD, height - 2 * PAD

    def _inside(self, c: Complexes) -> Flags:
        width, height = self._size()
        within: Flags = (c.real >= 0) & (c.imag >= 0) & (c.real <= width - 1) & (c.imag <= height - 1)
        return within
