"""The state of the points that are followed: one array per quantity, so that a step treats all points at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracer.template import AREA, Complexes, Floats


class State:
    """*Tracked*: the place looks as remembered. *Uncertain*: it does not; the point is held where the camera carries
    it.

    *Lost*: that lasted, and the point is searched for. *Returning*: it was found again, and must be followed for some
    frames before that is believed. Only tracked points are called seen.

    Plain numbers: numpy takes four times as long to compare an array with a member of an enum.
    """

    TRACKED: Final = 0
    UNCERTAIN: Final = 1
    LOST: Final = 2
    RETURNING: Final = 3


@dataclass(slots=True)
class Points:
    """All arrays are indexed by point. Lengths are pixels of the tracking picture, positions x + iy.

    `c`, `m` are the warp (see `template`), `velocity` and `spin` its change from frame to frame without the camera's
    part, `speed` the usual length of `velocity`, `drift` the variance that flow has added since the last pull to a
    key, `key` the active key, `misses` frames of uncertainty, `proofs` frames that a returning point must still be
    followed, `err` the estimated error, `last_patch` the patch in the last frame in which the point was good,
    `context` its wider surroundings.
    """

    c: Complexes
    m: Complexes
    velocity: Complexes
    spin: Complexes
    speed: npt.NDArray[np.float64]
    drift: npt.NDArray[np.float64]
    err: npt.NDArray[np.float64]
    key: npt.NDArray[np.int64]
    state: npt.NDArray[np.int64]
    misses: npt.NDArray[np.int64]
    proofs: npt.NDArray[np.int64]
    last_patch: Floats
    context: Floats

    @classmethod
    def of(cls, n: int) -> Points:
        """n points that nobody has placed yet."""
        nothing, unturned = np.zeros(n, complex), np.ones(n, complex)
        none, real, patch = np.zeros(n, np.int64), np.zeros(n), np.zeros((n, AREA), np.float32)
        return cls(
            c=nothing.copy(),
            m=unturned.copy(),
            velocity=nothing.copy(),
            spin=unturned.copy(),
            speed=real.copy(),
            drift=real.copy(),
            err=real.copy(),
            key=none.copy(),
            state=none + State.LOST,
            misses=none.copy(),
            proofs=none.copy(),
            last_patch=patch.copy(),
            context=patch.copy(),
        )

    def place(self, n: int, c: complex) -> None:
        """A person says that point n is at c."""
        self.c[n], self.m[n] = c, 1.0
        self.stop(n)
        self.speed[n], self.drift[n], self.err[n] = 1.5, 0.0, 0.0
        self.key[n], self.state[n], self.misses[n], self.proofs[n] = 0, State.TRACKED, 0, 0

    def stop(self, n: int) -> None:
        self.velocity[n], self.spin[n] = 0.0, 1.0

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {f"point_{part.name}": getattr(self, part.name) for part in fields(self)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        for part in fields(self):
            setattr(self, part.name, arrays[f"point_{part.name}"])
