"""What is stored comes back the same, whichever way it is asked for; also what only an older service would store."""

from __future__ import annotations

from typing import Any

import pytest

from service.store.expressions import Update, absent, equals
from service.store.schema import FRAMES
from service.store.table import Change, ConditionFailed, Put
from tests.support.lab import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")
VALUES: dict[str, Any] = {
    "text": 'Spitze ä \ud7ff " \\ \0 =1+1',
    "empty": "",
    "whole": 2**52 + 1,
    "decimal": 278.3,
    "tiny": 1e-12,
    "yes": True,
    "no": False,
    "nothing": None,
    "bytes": bytes(range(256)),
    "names": frozenset({"a", "b"}),
    "list": [1, "1", {"x": [0.5, None, b"\xff"]}],
    "map": {"Item": {"Items": []}, "#n": 1},
}


async def test_every_kind_of_value_survives_every_kind_of_read(lab: Lab) -> None:
    database = lab.stores.database
    key = {"movie_id": lab.stores.ids.movie_id(), "frame_number": 3}
    row = {**key, **VALUES}
    await database.write(Put(FRAMES, row))
    assert await database.get(FRAMES, key) == row
    assert await database.get_many(FRAMES, [key]) == [row]
    assert [item async for item in database.query(FRAMES, equals("movie_id", key["movie_id"]), page=1)] == [row]
    assert row in [item async for item in database.scan(FRAMES)]
    changed = await database.write(Change(FRAMES, key, Update(set={"text": "new"})))
    assert changed == {**row, "text": "new"}
    with pytest.raises(ConditionFailed) as refusal:
        await database.write(Put(FRAMES, key, absent("movie_id")))
    assert refusal.value.item == changed


async def test_pages_follow_each_other(lab: Lab) -> None:
    """What a reply says beside its items, where the next page begins, is heard."""
    movie_id = lab.stores.ids.movie_id()
    for number in range(7):
        await lab.stores.database.write(Put(FRAMES, {"movie_id": movie_id, "frame_number": number}))
    of_movie = lab.stores.database.query(FRAMES, equals("movie_id", movie_id), page=2)
    assert [item["frame_number"] async for item in of_movie] == list(range(7))
