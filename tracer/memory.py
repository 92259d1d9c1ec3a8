"""When to remember a new picture of a point, and when to trust an older one again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracer.frames import Frame, Gray
from tracer.points import Points
from tracer.reacquire import Search
from tracer.step import CONTEXT, Step
from tracer.template import MAX_KEYS, Bank, Indices, alike_in_colour, normalised, sample

_WORN = 0.88  # likeness below which a key no longer shows what the place looks like
_FITS = 0.88  # likeness above which another key still does
_YOUNG = 4  # frames for which a key is kept whatever happens
_HANDED_ON = 1.3  # share of the looser one's slack, times the likeness that is missing, that a new key is less sure by
_RETRY = 10  # frames after which a point goes back to a surer key if that fits


class Now(NamedTuple):
    """The frame at hand: itself, its padded gray picture, and how many frames were seen before it."""

    frame: Frame | None
    picture: Gray
    step: int


class Memory:
    """The keys of all points. `points` is changed in place."""

    def __init__(self, points: Points, bank: Bank, search: Search) -> None:
        self.points, self.bank, self.search = points, bank, search

    def begin(self, n: int, now: Now) -> None:
        """A person placed point n: what is there now is key 0, and nothing else is known."""
        self.bank.forget(n)
        self._remember(n, 0, now, var=0.0, gen=0)
        self.look_back(np.array([n]), now)

    def renew(self, which: Indices, step: Step, now: Now) -> None:
        """Give points whose key is worn another one; every few frames, try to go back to a surer one."""
        if now.step % _RETRY and not (step.z < _WORN).any():
            return
        points, bank = self.points, self.bank
        age = now.step - bank.born[which, points.key[which]]
        worn = (step.z < _WORN) & (step.z > 0.6) & (age > _YOUNG) & (step.closure < 0.5) & (step.z_last > 0.9)
        retry = (bank.gen[which, points.key[which]] > 0) & (now.step % _RETRY == 0)
        for i in np.flatnonzero(worn | retry):
            n = int(which[i])
            surer_than = float(bank.var[n, points.key[n]]) if retry[i] else np.inf
            if not self._go_back(n, now, surer_than) and worn[i]:
                self._add(n, now, float(step.z[i]))

    def look_back(self, which: Indices, now: Now) -> None:
        """Take the present picture, under the present key's weight, as the last one."""
        points = self.points
        weight = self.bank.weight[which, points.key[which]]
        patch = sample(now.picture, points.c[which], points.m[which])
        points.last_patch[which] = normalised(patch, weight).patch
        self.look_around(which, now)

    def look_around(self, which: Indices, now: Now) -> None:
        """Remember the wider surroundings."""
        points = self.points
        wide = sample(now.picture, points.c[which], points.m[which] * CONTEXT)
        points.context[which] = normalised(wide, self.bank.weight[which, 0]).patch

    def _go_back(self, n: int, now: Now, surer_than: float) -> bool:
        points, bank = self.points, self.bank
        usable = bank.used[n] & (bank.var[n] < surer_than)
        usable[points.key[n]] = False
        keys = np.flatnonzero(usable)
        if not len(keys):
            return False
        keys = keys[np.argsort(bank.var[n, keys], kind="stable")]
        here, warp = np.full(len(keys), points.c[n]), np.full(len(keys), points.m[n])
        tried = bank.align(now.picture, np.full(len(keys), n), keys, here, warp, 3)
        fits = np.flatnonzero((tried.z > _FITS) & (np.abs(tried.c - points.c[n]) < 2.5))
        if not len(fits):
            return False
        best = fits[0]
        points.c[n], points.m[n], points.key[n] = tried.c[best], tried.m[best], keys[best]
        points.drift[n] = bank.var[n, keys[best]]
        self.look_back(np.array([n]), now)
        return True

    def _add(self, n: int, now: Now, z: float) -> None:
        points, bank = self.points, self.bank
        parent = int(points.key[n])
        var = max(float(bank.var[n, parent]), float(points.drift[n])) + 0.1
        free = np.flatnonzero(~bank.used[n])
        if len(free):
            key = int(free[0])
        else:
            dated = np.where(np.arange(MAX_KEYS) == parent, np.inf, bank.born[n].astype(float))
            key = 1 + int(np.argmin(dated[1:]))  # key 0 is the person's word
        self._remember(n, key, now, var=var, gen=int(bank.gen[n, parent]) + 1)
        bank.var[n, key] += _HANDED_ON * max(float(bank.slack[n, parent]), float(bank.slack[n, key])) * (1 - z)
        points.key[n], points.drift[n] = key, bank.var[n, key]
        self.look_back(np.array([n]), now)

    def _remember(self, n: int, key: int, now: Now, *, var: float, gen: int) -> None:
        c, m = complex(self.points.c[n]), complex(self.points.m[n])
        assert now.frame is not None
        self.bank.put(n, key, now.picture, c, m, alike_in_colour(now.frame.chroma(), c, m))
        self.bank.var[n, key], self.bank.gen[n, key], self.bank.born[n, key] = var, gen, now.step
        self.bank.amb[n, key] = self.search.learn(self.bank, n, key, now.picture, c, m)
