"""The tracer's own strategy: flow for speed, remembered pictures against drift, and honesty about what is not seen.

Each point is in one of four states. *Tracked*: the flow from the last frame closes and the place looks as remembered.
*Uncertain*: it does not; the point is held where the camera carries it. *Lost*: that lasted, and it is searched for.
*Returning*: it was found again, and must be followed for some frames before that is believed.
Only tracked points are called seen. Pixels here are the tracking picture's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tracer.cuts import CutFinder
from tracer.frames import Frame, Gray
from tracer.motion import Camera, camera_motion, thumb
from tracer.reacquire import Search, Sighting
from tracer.strategy import Arrays, Seen, gray_from_png, png_from_gray
from tracer.template import (
    AREA,
    MAX_KEYS,
    Aligned,
    Bank,
    Complexes,
    Flags,
    Floats,
    Indices,
    alike_in_colour,
    likeness,
    normalised,
    padded,
    sample,
)
from tracer.tiles import Flowed, flow

TRACKED, UNCERTAIN, LOST, RETURNING = 0, 1, 2, 3
_FASTEST = 25.0  # pixels a frame that a prediction may go
_ITERATIONS = 5
_HOLD = 2  # frames for which a point that is not seen goes on with its last velocity
_MISSES = 3  # frames of uncertainty after which a point is lost
_PROOFS = 3  # frames for which a point that was found again must be followed
_WORN = 0.88  # likeness below which a key no longer shows what the place looks like
_CONTEXT = 3.0  # times the patch's size that is looked at where two places look alike


class Step(NamedTuple):
    """What one frame says about the points that are followed; arrays (k,)."""

    flowed: Complexes
    closure: npt.NDArray[np.float64]
    c: Complexes
    m: Complexes
    z: Floats
    z_last: Floats
    patch: Floats
    contrast: Floats
    pulled: Flags


class Hybrid:
    """See the module. All arrays have one entry per point."""

    name: ClassVar[str] = "hybrid"
    _STATE = (
        *("c", "m", "velocity", "speed", "spin", "drift", "key"),
        *("state", "misses", "proofs", "err", "last_patch", "context"),
    )

    def __init__(self) -> None:
        self._gray: Gray | None = None
        self._cuts = CutFinder()
        self._step = 0
        self._frame: Frame | None = None
        self._set_size(0)

    def _set_size(self, n: int) -> None:
        self._bank, self._search = Bank(n), Search(n)
        self._c: Complexes = np.zeros(n, complex)
        self._m: Complexes = np.ones(n, complex)
        self._velocity: Complexes = np.zeros(n, complex)
        self._speed = np.full(n, 1.5)
        self._spin: Complexes = np.ones(n, complex)
        self._drift = np.zeros(n)
        self._key = np.zeros(n, np.int64)
        self._state = np.full(n, LOST)
        self._misses = np.zeros(n, np.int64)
        self._proofs = np.zeros(n, np.int64)
        self._err = np.zeros(n)
        self._last_patch = np.zeros((n, AREA), np.float32)
        self._context = np.zeros((n, AREA), np.float32)

    # What a person says

    def place(self, frame: Frame, points: npt.NDArray[np.float64], which: Flags) -> None:
        if self._gray is None:
            self._set_size(len(points))
            self._cuts.is_cut(frame.gray())
            self._see(frame.gray())
        self._frame = frame
        chosen = np.flatnonzero(which)
        for n in chosen:
            self._c[n], self._m[n], self._velocity[n] = complex(points[n, 0], points[n, 1]), 1.0, 0.0
            self._speed[n], self._spin[n], self._drift[n], self._err[n] = 1.5, 1.0, 0.0, 0.0
            self._state[n], self._misses[n], self._proofs[n], self._key[n] = TRACKED, 0, 0, 0
            self._bank.forget(int(n))
            self._remember(int(n), 0, var=0.0, gen=0)
        self._look_back(chosen)

    # What the next frame says

    def advance(self, frame: Frame) -> Seen:
        assert self._gray is not None, "place() comes before advance()"
        before, before_thumb = self._padded, self._thumb
        self._see(frame.gray())
        self._frame = frame
        self._step += 1
        cut = self._cuts.is_cut(frame.gray())
        camera = Camera() if cut else camera_motion(before_thumb, self._thumb)
        if cut:
            for n in np.flatnonzero(self._state != LOST):
                self._lose(int(n))
        lost = np.flatnonzero(self._state == LOST)
        followed = np.flatnonzero(self._state != LOST)
        carried = camera.turn * self._c + camera.shift
        if len(followed):
            self._follow(followed, before, carried[followed], camera)
        for n in lost:
            self._seek(int(n), complex(carried[n]), camera)
        self._keep_inside()
        points = np.stack([self._c.real, self._c.imag], 1)
        return Seen(points, self._state == TRACKED, self._err.copy())

    def arrays(self) -> Arrays:
        own = {name: getattr(self, f"_{name}") for name in self._STATE}
        own["step"] = np.array(self._step)
        return {
            **own,
            **self._bank.arrays(),
            **self._search.arrays(),
            **self._cuts.arrays(),
            **png_from_gray("gray", self._gray),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._set_size(len(arrays["c"]))
        for name in self._STATE:
            setattr(self, f"_{name}", arrays[name])
        self._step = int(arrays["step"])
        self._bank.restore(arrays)
        self._search.restore(arrays)
        self._cuts.restore(arrays)
        gray = gray_from_png("gray", arrays)
        if gray is not None:
            self._see(gray)

    def _see(self, gray: Gray) -> None:
        self._gray, self._padded, self._thumb = gray, padded(gray), thumb(gray)

    # Points that are followed

    def _follow(self, which: Indices, before: Gray, carried: Complexes, camera: Camera) -> None:
        velocity = self._velocity[which]
        guess = carried + _capped(velocity)
        flowed = self._flow(before, self._c[which], guess, carried, velocity)
        step = self._align(which, flowed, guess, carried, self._m[which] * camera.turn * self._spin[which])
        good = self._good(which, step, guess)
        self._take(which[good], _some(step, good), carried[good])
        self._miss(which[~good], _some(step, ~good), carried[~good])
        self._renew_keys(which[good], _some(step, good))

    def _flow(
        self, before: Gray, start: Complexes, guess: Complexes, carried: Complexes, velocity: Complexes
    ) -> Flowed:
        """The flow from the predicted place; where it does not close, also from three others, and the best of them."""
        flowed = flow(before, self._padded, start, guess)
        open_ = np.flatnonzero(flowed.closure > 1)
        if not len(open_):
            return flowed
        others = [carried[open_], start[open_] + velocity[open_], start[open_]]
        again = flow(before, self._padded, np.tile(start[open_], 3), np.concatenate(others))
        c, closure = flowed.c.copy(), flowed.closure.copy()
        for n, place in enumerate(open_):
            tries = [n, n + len(open_), n + 2 * len(open_)]
            best = min(tries, key=lambda t: again.closure[t])
            if again.closure[best] < closure[place]:
                c[place], closure[place] = again.c[best], again.closure[best]
        return Flowed(c, closure)

    def _align(self, which: Indices, flowed: Flowed, guess: Complexes, carried: Complexes, m: Complexes) -> Step:
        """Pull the flow's answer to the remembered picture where that is sound."""
        key = self._key[which]
        aligned = self._bank.align(self._padded, which, key, flowed.c, m, _ITERATIONS)
        weight = self._bank.weight[which, key]
        z_last = likeness(aligned.start_patch, self._last_patch[which], weight)
        c_flow, closure = flowed.c.copy(), flowed.closure
        surprised = (np.abs(flowed.c - guess) > 3) | (closure > 1) | (aligned.z < 0.55)
        if surprised.any():
            aligned = self._second_thoughts(which, aligned, c_flow, guess, carried, m, np.flatnonzero(surprised))
        pull = np.abs(aligned.c - c_flow)
        sound = (aligned.z > 0.55) & (pull < np.where(closure > 1, 6.0, 2.5))
        sound &= (np.abs(aligned.m) > 0.4) & (np.abs(aligned.m) < 2.5)
        pulled = sound & ((aligned.z > 0.80) | (closure > 1) | (z_last < 0.8))
        half = sound & ~pulled
        c = np.where(pulled, aligned.c, np.where(half, (c_flow + aligned.c) / 2, c_flow))
        m = np.where(pulled, aligned.m, m)
        patch, contrast = normalised(sample(self._padded, c, m), weight)
        z = likeness(patch, self._bank.patch[which, key], weight)
        return Step(c_flow, closure, c, m, z, likeness(patch, self._last_patch[which], weight), patch, contrast, pulled)

    def _second_thoughts(
        self,
        which: Indices,
        aligned: Aligned,
        c_flow: Complexes,
        guess: Complexes,
        carried: Complexes,
        m: Complexes,
        doubtful: Indices,
    ) -> Aligned:
        """Where the flow surprises, try the predicted places too; `c_flow` is changed where one of them is better."""
        k = len(doubtful)
        points, key = np.tile(which[doubtful], 2), np.tile(self._key[which[doubtful]], 2)
        starts = np.concatenate([guess[doubtful], carried[doubtful]])
        tried = self._bank.align(self._padded, points, key, starts, np.tile(m[doubtful], 2), _ITERATIONS)
        c, m, z = aligned.c.copy(), aligned.m.copy(), aligned.z.copy()
        patch, contrast = aligned.patch.copy(), aligned.contrast.copy()
        for t in range(2 * k):
            n = int(doubtful[t % k])
            point = int(which[n])
            tie = 0.04 if self._bank.amb[point, self._key[point]] > 0.8 else -0.02
            if abs(tried.c[t] - starts[t]) > 2.5 or tried.z[t] <= 0.70 or tried.z[t] <= z[n] - tie:
                continue
            if abs(tried.c[t] - c[n]) > 2 and not self._fits_better(point, tried, t, c[n], m[n], z[n], guess[n]):
                continue
            c[n], m[n], z[n], patch[n], contrast[n] = (
                tried.c[t],
                tried.m[t],
                tried.z[t],
                tried.patch[t],
                tried.contrast[t],
            )
            c_flow[n] = tried.c[t]
        return Aligned(c, m, z, patch, contrast, aligned.start_patch)

    def _fits_better(
        self, point: int, tried: Aligned, t: int, c: complex, m: complex, z: float, guess: complex
    ) -> bool:
        """Of two places that look alike, does the tried one also have the right surroundings, nearer to the
        prediction?
        """
        places = np.array([tried.c[t], c])
        weight = np.repeat(self._bank.weight[point, 0][None], 2, 0)
        warps: Complexes = np.array([tried.m[t], m], complex)
        around = normalised(sample(self._padded, places, warps * _CONTEXT), weight).patch
        same = likeness(around, np.repeat(self._context[point][None], 2, 0), weight)
        far = 0.02 * np.minimum(10, np.abs(places - guess))
        score = np.array([tried.z[t], z]) + same - far
        return bool(score[0] > score[1])

    def _good(self, which: Indices, step: Step, guess: Complexes) -> Flags:
        """Is the point where the step says?"""
        alike = ((step.z > 0.80) & (step.closure < 2)) | (step.z > 0.90)
        steady = (step.closure < 1) & (step.z_last > 0.75) & (step.z > 0.55)
        remembered = self._bank.contrast[which, self._key[which]]
        plain = step.contrast >= np.maximum(2.5, 0.22 * remembered)
        allowed = 4 + 8 * self._speed[which] + np.abs(self._velocity[which])
        leap = np.abs(step.c - guess) > allowed
        certain = (step.closure < 0.3) & (step.z > 0.9) & (step.z_last > 0.9)
        good: Flags = (alike | steady) & plain & self._inside(step.c) & (~leap | certain)
        return good

    def _take(self, which: Indices, step: Step, carried: Complexes) -> None:
        moved = step.c - carried
        fresh = self._misses[which] == 0
        self._velocity[which] = np.where(fresh, 0.6 * moved + 0.4 * self._velocity[which], self._velocity[which] * 0.5)
        self._speed[which] += 0.03 * (np.abs(moved) - self._speed[which])
        turned = step.m / self._m[which]
        self._spin[which] = 0.5 * self._spin[which] + 0.5 * turned / np.maximum(np.abs(turned), 0.1)
        self._spin[which] /= np.maximum(np.abs(self._spin[which]), 0.1)
        self._c[which], self._m[which], self._last_patch[which] = step.c, step.m, step.patch
        key_var = self._bank.var[which, self._key[which]]
        self._drift[which] = np.where(step.pulled, key_var, self._drift[which] + 0.02)
        self._misses[which] = 0
        self._proofs[which] -= 1
        self._state[which[self._proofs[which] <= 0]] = TRACKED
        closure = np.minimum(step.closure, 4.0)
        self._err[which] = np.sqrt(0.04 + closure**2 + self._drift[which] + (1.5 * (1 - step.z)) ** 2)
        if self._step % 4 == 0 and len(which):
            self._look_around(which)

    def _miss(self, which: Indices, step: Step, carried: Complexes) -> None:
        """The flow lost these: look for each at once, hold it if that fails, give it up if that went on for long."""
        going = np.where(self._misses[which] < _HOLD, self._velocity[which], 0)
        for i, n in enumerate(which):
            held = complex(carried[i] + going[i])
            if self._state[n] == RETURNING:
                self._c[n] = held
                self._lose(int(n))
                continue
            found = self._look(int(n), held) if self._misses[n] == 0 else None
            if found is not None and self._sure(int(n), found, held):
                self._velocity[n] = found.c - carried[i]
                self._stand(int(n), found)
                continue
            self._c[n] = held
            self._misses[n] += 1
            self._state[n] = UNCERTAIN
            self._err[n] += 1.0 + abs(self._velocity[n])
            outside = not bool(self._inside(np.array([held]))[0])
            if self._misses[n] >= _MISSES or (step.z[i] < 0.35 and step.z_last[i] < 0.5) or outside:
                self._lose(int(n))

    def _sure(self, n: int, found: Sighting, held: complex) -> bool:
        """May a sighting count at once, without being followed first? Only near, and if no other place is like it."""
        return found.z > max(0.88, float(self._bank.amb[n, found.key]) + 0.04) and abs(found.c - held) < 32

    def _lose(self, n: int) -> None:
        self._state[n] = LOST
        self._search.begin(n, float(np.abs(self._velocity[n])))
        self._proofs[n] = 0
        self._err[n] += 1.0
        self._velocity[n], self._spin[n] = 0.0, 1.0

    # Keys

    def _renew_keys(self, which: Indices, step: Step) -> None:
        for i, n in enumerate(which):
            key = int(self._key[n])
            age = self._step - int(self._bank.born[n, key])
            worn = step.z[i] < _WORN and age > 4 and step.z[i] > 0.6 and step.closure[i] < 0.5 and step.z_last[i] > 0.9
            retry = self._step % 10 == 0 and self._bank.gen[n, key] > 0
            if (worn or retry) and self._older_key(int(n), better_than=self._bank.var[n, key] if retry else np.inf):
                continue
            if worn:
                self._new_key(int(n), float(step.z[i]))

    def _older_key(self, n: int, better_than: float) -> bool:
        """Go back to a key that fits, the surest first."""
        key = int(self._key[n])
        others = [int(k) for k in np.flatnonzero(self._bank.used[n]) if k != key and self._bank.var[n, k] < better_than]
        if not others:
            return False
        keys = np.array(sorted(others, key=lambda k: float(self._bank.var[n, k])))
        points = np.full(len(keys), n)
        spread = np.full(len(keys), 1.0)
        tried = self._bank.align(self._padded, points, keys, self._c[n] * spread, self._m[n] * spread, 3)
        for t, other in enumerate(keys):
            if tried.z[t] > 0.88 and abs(tried.c[t] - self._c[n]) < 2.5:
                self._c[n], self._m[n], self._key[n] = tried.c[t], tried.m[t], other
                self._drift[n] = self._bank.var[n, other]
                self._look_back(np.array([n]))
                return True
        return False

    def _new_key(self, n: int, z: float) -> None:
        parent = int(self._key[n])
        var = max(float(self._bank.var[n, parent]), float(self._drift[n])) + 0.05 + 0.3 * (1 - z)
        gen = int(self._bank.gen[n, parent]) + 1
        free = np.flatnonzero(~self._bank.used[n])
        oldest = 1 + int(np.argmin(np.where(np.arange(1, MAX_KEYS) == parent, np.inf, self._bank.born[n, 1:])))
        key = int(free[0]) if len(free) else oldest
        self._remember(n, key, var=var, gen=gen)
        self._key[n], self._drift[n] = key, var
        self._look_back(np.array([n]))

    def _remember(self, n: int, key: int, *, var: float, gen: int) -> None:
        c, m = complex(self._c[n]), complex(self._m[n])
        assert self._frame is not None
        self._bank.put(n, key, self._padded, c, m, alike_in_colour(self._frame.chroma(), c, m))
        self._bank.var[n, key], self._bank.gen[n, key], self._bank.born[n, key] = var, gen, self._step
        self._bank.amb[n, key] = self._search.learn(n, key, self._padded, c, m)

    def _look_back(self, which: Indices) -> None:
        """Take the present picture, under the present key's weight, as the last one."""
        if len(which):
            weight = self._bank.weight[which, self._key[which]]
            self._last_patch[which] = normalised(sample(self._padded, self._c[which], self._m[which]), weight).patch
            self._look_around(which)

    def _look_around(self, which: Indices) -> None:
        wide = sample(self._padded, self._c[which], self._m[which] * _CONTEXT)
        self._context[which] = normalised(wide, self._bank.weight[which, 0]).patch

    # Points that are lost

    def _seek(self, n: int, carried: complex, camera: Camera) -> None:
        """Search for a lost point. What is found must be followed for some frames before it counts as seen."""
        self._m[n] *= camera.turn
        self._c[n] = carried
        self._err[n] += 0.5
        found = self._look(n, carried)
        self._search.missing[n] += 1
        if found is not None:
            sure = found.z > 0.93 and abs(found.c - carried) < 30 and self._bank.amb[n, found.key] < 0.75
            self._stand(n, found)
            self._state[n], self._proofs[n] = RETURNING, 1 if sure else _PROOFS

    def _look(self, n: int, around: complex) -> Sighting | None:
        m = complex(self._m[n])
        return self._search.look(self._bank, n, int(self._key[n]), self._padded, around, m, self._step)

    def _stand(self, n: int, found: Sighting) -> None:
        """The point is at the sighting, as far as one picture can tell."""
        self._c[n], self._m[n], self._key[n] = found.c, found.m, found.key
        self._misses[n], self._drift[n] = 0, self._bank.var[n, found.key]
        self._err[n] = float(np.sqrt(0.25 + self._drift[n]))
        self._look_back(np.array([n]))

    def _inside(self, c: Complexes) -> Flags:
        assert self._gray is not None
        height, width = self._gray.shape
        within: Flags = (c.real >= 0) & (c.imag >= 0) & (c.real <= width - 1) & (c.imag <= height - 1)
        return within

    def _keep_inside(self) -> None:
        assert self._gray is not None
        height, width = self._gray.shape
        self._c = np.clip(self._c.real, 0, width - 1) + 1j * np.clip(self._c.imag, 0, height - 1)


def _capped(velocity: Complexes) -> Complexes:
    length = np.abs(velocity)
    return velocity * np.minimum(1.0, _FASTEST / np.maximum(length, 1e-9))


def _some(step: Step, chosen: Flags) -> Step:
    return Step._make(part[chosen] for part in step)
