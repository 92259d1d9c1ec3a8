"""Finding a lost point again, and remembering what it looks like (A01, B13)."""

from __future__ import annotations

import av
import cv2
import numpy as np
import pytest

from tests.support.movies import textured
from tracer.frames import Frame
from tracer.geometry import View
from tracer.memory import Memory, Now
from tracer.points import Points
from tracer.reacquire import Search
from tracer.step import Step
from tracer.template import MAX_KEYS, Bank, padded

WALL = np.full((480, 640), 110, np.uint8)
THING = textured(41, 41, seed=3)[..., 0]


def with_things(*middles: tuple[int, int], turn: float = 0.0) -> np.ndarray:
    """A bare wall with the same textured thing at each place."""
    picture = WALL.copy()
    matrix = cv2.getRotationMatrix2D((20, 20), -np.degrees(turn), 1.0)
    thing = cv2.warpAffine(THING, matrix, (41, 41), borderMode=cv2.BORDER_REPLICATE)
    for x, y in middles:
        picture[y - 20 : y + 21, x - 20 : x + 21] = thing
    return picture


def known(picture: np.ndarray, at: complex) -> tuple[Bank, Search]:
    bank, search = Bank(1), Search(1)
    bank.put(0, 0, padded(picture), at, 1 + 0j)
    bank.used[0, 0] = True
    bank.amb[0, 0] = search.learn(bank, 0, 0, padded(picture), at, 1 + 0j)
    search.begin(0, at, speed=0.0)
    return bank, search


def look(bank: Bank, search: Search, picture: np.ndarray, around: complex, step: int = 12):
    return search.look(bank, 0, 0, padded(picture), around, 1 + 0j, step)


def test_a_thing_that_moved_is_found() -> None:
    bank, search = known(with_things((200, 200)), 200 + 200j)
    found = look(bank, search, with_things((215, 190)), 200 + 200j)
    assert found is not None
    assert abs(found.c - (215 + 190j)) < 0.2
    assert found.z > 0.95


def test_a_thing_that_also_turned_is_found_within_two_frames() -> None:
    bank, search = known(with_things((200, 200)), 200 + 200j)
    picture = with_things((212, 206), turn=0.4)
    sightings = [look(bank, search, picture, 200 + 200j, step) for step in (12, 13)]
    found = next(sighting for sighting in sightings if sighting is not None)
    assert abs(found.c - (212 + 206j)) < 0.5
    assert np.angle(found.m) == pytest.approx(0.4, abs=0.1)


def test_what_is_not_there_is_not_found() -> None:
    bank, search = known(with_things((200, 200)), 200 + 200j)
    assert look(bank, search, WALL, 200 + 200j) is None
    assert look(bank, search, textured(640, 480, seed=8)[..., 0], 200 + 200j) is None


def test_of_two_twins_neither_is_taken() -> None:
    bank, search = known(with_things((200, 200)), 200 + 200j)
    search.missing[0] = 10
    assert look(bank, search, with_things((180, 230), (240, 200)), 200 + 200j) is None


def test_the_reach_grows_and_in_the_end_is_the_whole_picture() -> None:
    bank, search = known(with_things((200, 200)), 200 + 200j)
    near, far = with_things((270, 200)), with_things((560, 400))
    assert look(bank, search, near, 200 + 200j) is None
    search.missing[0] = 15
    assert look(bank, search, near, 200 + 200j) is None  # what never moves is not far away so soon
    search.speed[0] = 1.5
    assert look(bank, search, near, 200 + 200j) is not None
    search.missing[0] = 30
    found = [look(bank, search, far, 200 + 200j, step) for step in range(6)]
    assert any(sighting is not None and abs(sighting.c - (560 + 400j)) < 0.5 for sighting in found)


def test_a_place_with_a_twin_nearby_knows_it() -> None:
    alone = known(with_things((200, 200)), 200 + 200j)[0]
    paired = known(with_things((200, 200), (243, 200)), 200 + 200j)[0]
    assert alone.amb[0, 0] < 0.7
    assert paired.amb[0, 0] > 0.95


def test_the_far_twin_of_a_place_is_not_taken_for_it() -> None:
    """Two leaves of one plant: while the one is hidden, the other must not be found in its stead."""
    bank, search = known(with_things((200, 200), (290, 200)), 200 + 200j)
    assert bank.amb[0, 0] < 0.7
    assert search.twin[0, 0] > 0.95
    search.missing[0], search.speed[0] = 15, 3.0
    assert look(bank, search, with_things((290, 200)), 200 + 200j) is None
    found = look(bank, search, with_things((204, 203), (290, 200)), 200 + 200j)
    assert found is not None
    assert abs(found.c - (204 + 203j)) < 0.2


def test_the_nearer_of_equal_places_wins_at_a_place_that_has_twins() -> None:
    """A ruler's ticks: after a flash the nearest one is meant."""
    ticks = [(x, 200) for x in range(100, 301, 42)]
    bank, search = known(with_things(*ticks), 184 + 200j)
    assert bank.amb[0, 0] > 0.95
    found = look(bank, search, with_things(*[(x + 2, y) for x, y in ticks]), 184 + 200j)
    assert found is not None
    assert abs(found.c - (186 + 200j)) < 0.2


def test_a_point_is_searched_for_where_the_camera_carried_the_place_of_its_loss() -> None:
    _, search = known(with_things((200, 200)), 200 + 200j)
    search.carry(1 + 0j, 7 - 3j)
    assert search.home[0] == 207 + 197j


class TestMemory:
    """One point on a picture whose look changes from step to step."""

    def setup_method(self) -> None:
        self.points, self.bank, self.search = Points.of(1), Bank(1), Search(1)
        self.memory = Memory(self.points, self.bank, self.search)
        self.points.place(0, 200 + 200j)
        self.looks = [textured(640, 480, seed)[..., 0] for seed in range(3)]
        self.memory.begin(0, self.now(self.looks[0], 0))

    def now(self, gray: np.ndarray, step: int) -> Now:
        frame = Frame(step, None, av.VideoFrame.from_ndarray(gray, format="gray"), View.of(640, 480))
        return Now(frame, padded(gray), step)

    def renew(self, gray: np.ndarray, step: int, z: float, z_last: float = 0.99) -> None:
        one = np.ones(1)
        said = Step(
            c=self.points.c, m=self.points.m, closure=0.1 * one, z=z * one, z_last=z_last * one,
            patch=self.points.last_patch, contrast=20 * one, pulled=one > 0, guess=self.points.c,
        )  # fmt: skip
        self.memory.renew(np.array([0]), said, self.now(gray, step))

    def test_a_worn_key_gets_a_successor_that_is_less_sure(self) -> None:
        self.renew(self.looks[1], 7, z=0.8)
        assert self.points.key[0] == 1
        assert self.bank.gen[0, 1] == 1
        assert self.bank.var[0, 1] > self.bank.var[0, 0] == 0

    def test_a_key_that_fits_or_is_young_stays(self) -> None:
        self.renew(self.looks[1], 7, z=0.95)
        self.renew(self.looks[1], 3, z=0.8)
        self.renew(self.looks[1], 7, z=0.8, z_last=0.5)
        assert self.points.key[0] == 0
        assert self.bank.used[0].sum() == 1

    def test_the_persons_own_key_is_taken_again_when_it_fits(self) -> None:
        self.renew(self.looks[1], 7, z=0.8)
        self.renew(self.looks[0], 20, z=0.95)
        assert self.points.key[0] == 0
        assert self.points.drift[0] == 0

    def test_the_persons_own_key_is_never_dropped(self) -> None:
        first = self.bank.patch[0, 0].copy()
        for n in range(3 * MAX_KEYS):
            self.renew(textured(640, 480, 50 + n)[..., 0], 6 * n + 7, z=0.7)
        assert self.bank.used[0].all()
        assert np.array_equal(self.bank.patch[0, 0], first)
        assert self.bank.gen[0, 0] == 0
