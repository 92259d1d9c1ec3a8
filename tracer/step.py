"""What one frame says about the points that are followed: where they went, and whether to believe it.

Most points in most frames need one thing only: their key, aligned from where they are expected, fits at once. The
others are also followed by optical flow, and where that surprises, the predicted places are tried as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracer.frames import Gray
from tracer.points import Points
from tracer.template import Aligned, Bank, Complexes, Flags, Floats, Indices, likeness, normalised, sample
from tracer.tiles import Flowed, flow

CONTEXT = 3.0  # times the patch's size that is looked at where two places look alike
_FASTEST = 25.0  # pixels a frame that a prediction may go
_ITERATIONS = 5
_OWN_SIZE = 0.1  # share by which a patch returns to its own size in each frame, unless the picture says otherwise
# An alignment that fits so well, so near to what was expected, needs no flow: likeness with key and last frame, pixels.
_EASY_NEAR, _EASY_FAR = (0.82, 0.82, 1.5), (0.85, 0.90, 4.0)


class Step(NamedTuple):
    """Arrays (k,), one entry per point that is followed.

    `c`, `m` the new warp; `closure` how far the flow misses itself on the way back, pixels (0.1 where none was
    needed); `z`, `z_last` likeness with the key and with the last frame; `patch`, `contrast` of the new place;
    `pulled`: it is the key that says so, not the flow alone; `guess` what was expected.
    """

    c: Complexes
    m: Complexes
    closure: npt.NDArray[np.float64]
    z: Floats
    z_last: Floats
    patch: Floats
    contrast: Floats
    pulled: Flags
    guess: Complexes

    def only(self, chosen: Flags) -> Step:
        return Step._make(part[chosen] for part in self)


def follow(
    points: Points, bank: Bank, which: Indices, before: Gray, now: Gray, carried: Complexes, turn: complex
) -> Step:
    """Find the points `which` of the padded picture `before` in `now`.

    `carried` (k,) is where the camera's movement puts them, `turn` its rotation and scale.
    """
    guess = carried + _capped(points.velocity[which])
    m = points.m[which] * turn * points.spin[which]
    m *= np.abs(m) ** -_OWN_SIZE
    key = points.key[which]
    weight = bank.weight[which, key]
    first = bank.align(now, which, key, guess, m, _ITERATIONS)
    z_last = likeness(first.patch, points.last_patch[which], weight)
    step = Step(
        first.c, first.m, np.full(len(which), 0.1), first.z, z_last, first.patch, first.contrast,
        np.ones(len(which), bool), guess,
    )  # fmt: skip
    shift = np.abs(first.c - guess)
    near, far = ((first.z > z) & (z_last > zl) & (shift < reach) for z, zl, reach in (_EASY_NEAR, _EASY_FAR))
    easy = near | (far & (bank.amb[which, key] < 0.8))
    hard = np.flatnonzero(~easy)
    if not len(hard):
        return step
    harder = _by_flow(points, bank, which[hard], before, now, carried[hard], m[hard], guess[hard], _take(first, hard))
    _put(step, hard, harder)
    return step


def is_good(points: Points, bank: Bank, which: Indices, step: Step) -> Flags:
    """Is the point where the step says?"""
    plain = step.contrast >= np.maximum(2.5, 0.22 * bank.contrast[which, points.key[which]])
    allowed = 4 + 8 * points.speed[which] + np.abs(points.velocity[which])
    leap = np.abs(step.c - step.guess) > allowed
    certain = (step.closure < 0.3) & (step.z > 0.9) & (step.z_last > 0.9)
    alike = ((step.z > 0.80) & (step.closure < 2)) | (step.z > 0.90)
    steady = (step.closure < 1) & (step.z_last > 0.75) & (step.z > 0.55)
    good: Flags = (alike | steady) & plain & (~leap | certain)
    return good


def _by_flow(
    points: Points,
    bank: Bank,
    which: Indices,
    before: Gray,
    now: Gray,
    carried: Complexes,
    m: Complexes,
    guess: Complexes,
    first: Aligned,
) -> Step:
    """The flow's answer, pulled to the remembered picture where that is sound."""
    key = points.key[which]
    weight = bank.weight[which, key]
    flowed = _flow(before, now, points.c[which], guess, carried, points.velocity[which])
    aligned = bank.align(now, which, key, flowed.c, m, _ITERATIONS)
    z_last = likeness(normalised(aligned.start, weight).patch, points.last_patch[which], weight)
    c_flow, closure = flowed.c.copy(), flowed.closure
    surprised = (np.abs(flowed.c - guess) > 3) | (closure > 1) | (aligned.z < 0.55)
    for place in np.flatnonzero(surprised):
        point = int(which[place])
        one = np.array([place])
        tries = [(_take(first, one), guess[place])]
        if abs(carried[place] - guess[place]) > 0.5:
            start = carried[one]
            tries.append((bank.align(now, which[one], key[one], start, m[one], _ITERATIONS), carried[place]))
        for tried, start_at in tries:
            if _better(points, bank, point, now, tried, start_at, _take(aligned, one), guess[place]):
                _put(aligned, one, tried)
                c_flow[place] = tried.c[0]
    far = np.flatnonzero(surprised & (aligned.z > 0.55) & (aligned.z < 0.97))
    if len(far):  # who comes from far needs more steps; who is where expected must not slide
        start, warp = aligned.c[far], aligned.m[far]
        _put(aligned, far, bank.align(now, which[far], key[far], start, warp, _ITERATIONS))
    pull = np.abs(aligned.c - c_flow)
    sound = (aligned.z > 0.55) & (pull < np.where(closure > 1, 6.0, 2.5))
    sound &= (np.abs(aligned.m) > 0.4) & (np.abs(aligned.m) < 2.5)
    pulled = sound & ((aligned.z > 0.80) | (closure > 1) | (z_last < 0.8))
    c = np.where(pulled, aligned.c, np.where(sound, (c_flow + aligned.c) / 2, c_flow))
    m = np.where(pulled, aligned.m, m / points.spin[which])  # a turn that no key confirms is not believed
    patch, contrast = normalised(sample(now, c, m), weight)
    z = likeness(patch, bank.patch[which, key], weight)
    return Step(c, m, closure, z, likeness(patch, points.last_patch[which], weight), patch, contrast, pulled, guess)


def _flow(
    before: Gray, now: Gray, start: Complexes, guess: Complexes, carried: Complexes, velocity: Complexes
) -> Flowed:
    """The flow from the predicted place; where it does not close, also from three others, and the best of them."""
    flowed = flow(before, now, start, guess)
    unclosed = np.flatnonzero(flowed.closure > 1)
    if not len(unclosed):
        return flowed
    others = np.concatenate([carried[unclosed], start[unclosed] + velocity[unclosed], start[unclosed]])
    again = flow(before, now, np.tile(start[unclosed], 3), others)
    c, closure = flowed.c.copy(), flowed.closure.copy()
    for n, place in enumerate(unclosed):
        best = min(range(n, 3 * len(unclosed), len(unclosed)), key=lambda t: again.closure[t])
        if again.closure[best] < closure[place]:
            c[place], closure[place] = again.c[best], again.closure[best]
    return Flowed(c, closure)


def _better(
    points: Points,
    bank: Bank,
    point: int,
    now: Gray,
    tried: Aligned,
    start: complex,
    other: Aligned,
    guess: complex,
) -> bool:
    """Is the alignment that began at a predicted place sounder than the one that began where the flow ended?

    At a place that has twins the prediction wins a tie. Of two places that are apart, the surroundings decide too.
    """
    tie = 0.04 if bank.amb[point, points.key[point]] > 0.8 else -0.02
    if abs(tried.c[0] - start) > 2.5 or tried.z[0] <= 0.70 or tried.z[0] <= other.z[0] - tie:
        return False
    if abs(tried.c[0] - other.c[0]) <= 2:
        return True
    places: Complexes = np.concatenate([tried.c, other.c])
    warps: Complexes = np.concatenate([tried.m, other.m])
    weight = np.repeat(bank.weight[point, 0][None], 2, 0)
    around = normalised(sample(now, places, CONTEXT * warps), weight).patch
    same = likeness(around, np.repeat(points.context[point][None], 2, 0), weight)
    score = np.concatenate([tried.z, other.z]) + same - 0.02 * np.minimum(10, np.abs(places - guess))
    return bool(score[0] > score[1])


def _put(whole: tuple[npt.NDArray[Any], ...], chosen: Indices, part: tuple[npt.NDArray[Any], ...]) -> None:
    """Write the arrays of `part` into those of `whole`, at the places `chosen`."""
    for into, values in zip(whole, part, strict=True):
        into[chosen] = values


def _take(aligned: Aligned, chosen: Indices) -> Aligned:
    return Aligned._make(part[chosen] for part in aligned)


def _capped(velocity: Complexes) -> Complexes:
    return velocity * np.minimum(1.0, _FASTEST / np.maximum(np.abs(velocity), 1e-9))
