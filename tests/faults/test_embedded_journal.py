"""The journal under the embedded tables: damage is said, size is bounded, and repeating it gives the same tables."""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.local import exchange
from service.local.durable import Durable
from service.local.emulator import Emulator, EmulatorFailed
from service.local.expiry import delete_expired
from service.local.journal import Journal, Successor
from service.local.snapshot import scan
from tests.support.writers import TABLE, client, create_table, items

JOURNAL = "tables.journal"
BOUND = 200_000


class Clock:
    """Epoch seconds that stand still unless told to go on."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Machine:
    """The durable layer over the real emulator in this process. `die` forgets all memory, as a death would."""

    def __init__(self, path: Path, max_bytes: int = 10**9) -> None:
        self.path, self.max_bytes, self.clock = path, max_bytes, Clock()
        self.durable = Durable(_emulator(), Journal(path), max_bytes=max_bytes, clock=self.clock)

    async def die(self) -> None:
        """Lose everything but the journal, and start again from it."""
        await _forget_everything()
        self.durable = Durable(_emulator(), Journal(self.path), max_bytes=self.max_bytes, clock=self.clock)
        await self.durable.replay()

    async def ask(self, op: str, **body: Any) -> tuple[int, dict[str, Any]]:
        """Status and JSON of one request."""
        reply = await self.durable.dynamodb(op, json.dumps(body).encode("utf-8"))
        return reply.status, json.loads(reply.body)

    async def table(self) -> list[dict[str, Any]]:
        """All items, in an order that does not depend on their history."""
        return sorted([item async for item in scan(self.durable.forward, TABLE)], key=lambda item: item["k"]["S"])


def _emulator() -> exchange.App:
    from ministack.app import app

    return app  # type: ignore[no-any-return]


async def _forget_everything() -> None:
    await exchange.call(_emulator(), exchange.http_scope("POST", "/_ministack/reset", b"", []), b"")


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    await _forget_everything()
    machine = Machine(tmp_path / JOURNAL)
    await machine.durable.replay()
    status, _ = await machine.ask(
        "CreateTable",
        TableName=TABLE,
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    assert status == 200
    yield machine
    await _forget_everything()


async def _after_a_kill(emulator: Emulator) -> dict[str, dict[str, Any]]:
    """Kill the emulator; all items, over a new connection."""
    os.kill(emulator.pid, signal.SIGKILL)
    async with client("dynamodb", emulator.endpoint) as db:
        return await items(db)


async def _some_requests(machine: Machine, chance: random.Random, count: int) -> int:
    """Random conditional writes on a few items. Returns how many were refused."""
    refused = 0
    for _ in range(count):
        key, other = ({"k": {"S": f"item {chance.randrange(6)}"}} for _ in range(2))
        number = {"N": str(chance.randrange(3))}
        update: dict[str, Any] = {
            "TableName": TABLE,
            "Key": key,
            "UpdateExpression": "SET n = if_not_exists(n, :zero) + :one ADD seen :set",
            "ConditionExpression": "attribute_not_exists(n) OR n < :limit",
            "ExpressionAttributeValues": {
                ":zero": {"N": "0"},
                ":one": {"N": "1"},
                ":limit": {"N": str(chance.randrange(8))},
                ":set": {"NS": [number["N"]]},
            },
        }
        put = {"TableName": TABLE, "Item": {**other, "v": number}, "ConditionExpression": "attribute_not_exists(k)"}
        match chance.randrange(5):
            case 0:
                status, _ = await machine.ask("UpdateItem", **update)
            case 1:
                status, _ = await machine.ask("PutItem", **put)
            case 2:
                status, _ = await machine.ask(
                    "DeleteItem", TableName=TABLE, Key=key, ConditionExpression="attribute_exists(k)"
                )
            case 3:
                status, _ = await machine.ask("TransactWriteItems", TransactItems=[{"Update": update}, {"Put": put}])
            case _:
                token = f"token {chance.randrange(count // 4)}"
                status, _ = await machine.ask(
                    "TransactWriteItems", TransactItems=[{"Update": update}], ClientRequestToken=token
                )
        refused += status != 200
    return refused


@pytest.mark.parametrize("seed", range(4))
async def test_a_repeated_journal_gives_the_same_tables(machine: Machine, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(3):
        refused = await _some_requests(machine, chance, 120)
        assert 0 < refused < 120
        if chance.random() < 0.5:
            await machine.durable.snapshot()
            await _some_requests(machine, chance, 20)
        before = await machine.table()
        assert before
        await machine.die()
        assert await machine.table() == before


async def test_refused_requests_and_reads_leave_no_trace_in_the_journal(machine: Machine) -> None:
    size = machine.durable.journal.size
    condition = {"TableName": TABLE, "Key": {"k": {"S": "absent"}}, "ConditionExpression": "attribute_exists(k)"}
    assert (await machine.ask("DeleteItem", **condition))[0] == 400
    assert (await machine.ask("TransactWriteItems", TransactItems=[{"Delete": condition}]))[0] == 400
    assert (await machine.ask("Scan", TableName=TABLE))[0] == 200
    assert machine.durable.journal.size == size


@pytest.mark.parametrize("snapshot", [False, True])
async def test_a_transaction_token_counts_for_ten_minutes_across_deaths(machine: Machine, snapshot: bool) -> None:
    async def add(amount: str) -> tuple[int, dict[str, Any]]:
        update = {
            "TableName": TABLE,
            "Key": {"k": {"S": "sum"}},
            "UpdateExpression": "ADD n :amount",
            "ExpressionAttributeValues": {":amount": {"N": amount}},
        }
        return await machine.ask("TransactWriteItems", TransactItems=[{"Update": update}], ClientRequestToken="once")

    assert (await add("1"))[0] == 200
    assert (await add("1"))[0] == 200
    if snapshot:
        await machine.durable.snapshot()
    await machine.die()
    machine.clock.now += 599
    assert (await add("1"))[0] == 200
    assert await machine.table() == [{"k": {"S": "sum"}, "n": {"N": "1"}}]
    status, error = await add("2")
    assert (status, error["__type"].rpartition("#")[2]) == (400, "IdempotentParameterMismatchException")
    machine.clock.now += 2
    assert (await add("2"))[0] == 200
    assert await machine.table() == [{"k": {"S": "sum"}, "n": {"N": "3"}}]


async def test_expired_items_go_and_stay_gone_and_their_keys_can_be_taken_again(machine: Machine) -> None:
    live, passed = str(int(machine.clock.now) + 100), str(int(machine.clock.now) - 1)

    async def put(key: str, ttl: dict[str, str]) -> int:
        item = {"k": {"S": key}, "expires": ttl}
        free = "attribute_not_exists(k)"
        return (await machine.ask("PutItem", TableName=TABLE, Item=item, ConditionExpression=free))[0]

    setting = {"Enabled": True, "AttributeName": "expires"}
    assert (await machine.ask("UpdateTimeToLive", TableName=TABLE, TimeToLiveSpecification=setting))[0] == 200
    times = {"live": {"N": live}, "passed": {"N": passed}, "text": {"S": passed}, "ancient": {"N": "9"}}
    for key, ttl in times.items():
        assert await put(key, ttl) == 200
    assert await delete_expired(machine.durable, machine.clock.now) == 1
    assert await put("passed", {"N": live}) == 200, "the key is free again"
    before = await machine.table()
    assert [item["k"]["S"] for item in before] == ["ancient", "live", "passed", "text"]
    await machine.die()
    assert await machine.table() == before
    described = (await machine.ask("DescribeTimeToLive", TableName=TABLE))[1]["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


async def test_what_cannot_be_kept_is_refused(machine: Machine) -> None:
    status, error = await machine.ask("CreateBackup", TableName=TABLE, BackupName="later")
    assert (status, error["__type"].rpartition("#")[2]) == (400, "UnknownOperationException")


async def test_a_deleted_table_leaves_nothing_to_a_new_one_of_its_name(machine: Machine) -> None:
    await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": "old"}})
    assert (await machine.ask("DeleteTable", TableName=TABLE))[0] == 200
    await machine.durable.snapshot()
    await machine.die()
    assert (await machine.ask("ListTables"))[1]["TableNames"] == []


async def test_twenty_thousand_small_writes_leave_a_small_journal(tmp_path: Path) -> None:
    largest = 0
    transact = {"X-Amz-Target": "DynamoDB_20120810.TransactWriteItems"}
    async with Emulator(tmp_path, max_journal_bytes=BOUND) as emulator, httpx.AsyncClient() as web:
        async with client("dynamodb", emulator.endpoint) as db:
            await create_table(db)
        for step in range(200):
            puts = [{"k": {"S": f"item {i}"}, "n": {"N": str(step)}} for i in range(100)]
            body = {"TransactItems": [{"Put": {"TableName": TABLE, "Item": put}} for put in puts]}
            reply = await web.post(emulator.endpoint, json=body, headers=transact)
            assert reply.status_code == 200
            largest = max(largest, (tmp_path / JOURNAL).stat().st_size)
        assert (await emulator.health())["journal"]["snapshots"] >= 5
        found = await _after_a_kill(emulator)
    assert BOUND // 2 < largest < 3 * BOUND, "it grows on while its successor is made, beside writes without a pause"
    assert {key: item["n"]["N"] for key, item in found.items()} == {f"item {i}": "199" for i in range(100)}
    assert (tmp_path / JOURNAL).stat().st_size < 20_000, "an orderly stop leaves no more than what stands"


async def test_a_journal_of_which_nothing_can_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    """Whatever overwrote it, the data may still be in a copy: going on would make that hard to see."""
    (tmp_path / JOURNAL).write_bytes(b"rubbish\nrubbish too\n")
    with pytest.raises(EmulatorFailed, match=r"tables\.journal.*line 1"):
        await Emulator(tmp_path).start()
    assert (tmp_path / JOURNAL).read_bytes() == b"rubbish\nrubbish too\n"
    (tmp_path / JOURNAL).write_bytes(b"0badc0de {")
    async with Emulator(tmp_path) as emulator:
        assert (await emulator.health())["journal"]["dropped_bytes"] == 10, "the very first record was torn"


async def test_a_torn_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    torn = b'0badc0de {"at":1,"target":"DynamoDB_20120810.PutItem","body":{"Tab'
    async with Emulator(tmp_path) as emulator, client("dynamodb", emulator.endpoint) as db:
        await create_table(db)
        await db.put_item(TableName=TABLE, Item={"k": {"S": "whole"}})
    with (tmp_path / JOURNAL).open("ab") as journal:
        journal.write(torn)
    async with Emulator(tmp_path) as emulator, client("dynamodb", emulator.endpoint) as db:
        assert set(await items(db)) == {"whole"}
        assert (await emulator.health())["journal"]["dropped_bytes"] == len(torn)
        said = [json.loads(line) for line in emulator.log_path.read_text().splitlines() if line.startswith("{")]
        assert [line["bytes"] for line in said if line["event"] == "journal_torn_line_dropped"] == [len(torn)]
        await db.put_item(TableName=TABLE, Item={"k": {"S": "later"}})
        assert set(await _after_a_kill(emulator)) == {"whole", "later"}


async def test_a_damaged_middle_stops_the_start_with_words_and_changes_nothing(tmp_path: Path) -> None:
    async with Emulator(tmp_path) as emulator, client("dynamodb", emulator.endpoint) as db:
        await create_table(db)
        await db.put_item(TableName=TABLE, Item={"k": {"S": "kept"}})
    journal = tmp_path / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"ledger", b"lodger")
    damaged = b"".join(lines)
    journal.write_bytes(damaged)
    with pytest.raises(EmulatorFailed, match=r"damaged at line 2 \(byte \d+\)"):
        await Emulator(tmp_path).start()
    assert journal.read_bytes() == damaged


@pytest.mark.parametrize("seed", range(3))
async def test_people_read_and_write_while_a_new_journal_is_made_and_it_holds_all_of_it(
    machine: Machine, seed: int
) -> None:
    chance = random.Random(seed)
    for start in range(0, 3000, 25):
        puts = [{"PutRequest": {"Item": {"k": {"S": f"item {start + i}"}}}} for i in range(25)]
        assert (await machine.ask("BatchWriteItem", RequestItems={TABLE: puts}))[0] == 200
    old = machine.durable.journal.size
    snapshot = asyncio.create_task(machine.durable.snapshot())
    reads = 0
    while not snapshot.done():
        key = {"k": {"S": f"item {chance.randrange(3000)}"}}
        assert (await machine.ask("GetItem", TableName=TABLE, Key=key))[0] == 200
        reads += 1
        gone = {"DeleteRequest": {"Key": {"k": {"S": f"item {chance.randrange(6, 3000)}"}}}}
        new = {"PutRequest": {"Item": {"k": {"S": f"new {reads}"}, "n": {"N": "1"}}}}
        assert (await machine.ask("BatchWriteItem", RequestItems={TABLE: [gone, new]}))[0] == 200
        await _some_requests(machine, chance, 4)
        await asyncio.sleep(0)
    assert (machine.durable.snapshots, machine.durable.journal.size < old + 100_000) == (1, True)
    assert reads > 10
    await _some_requests(machine, chance, 20)
    before = await machine.table()
    await machine.die()
    assert await machine.table() == before


async def test_a_transaction_made_while_a_new_journal_is_made_is_known_after_a_death(machine: Machine) -> None:
    update = {
        "TableName": TABLE,
        "Key": {"k": {"S": "sum"}},
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    for number in range(400):
        await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": f"item {number}"}})
    snapshot = asyncio.create_task(machine.durable.snapshot())
    tokens = []
    while not snapshot.done():
        tokens.append(f"token {len(tokens)}")
        request = {"TransactItems": [{"Update": update}], "ClientRequestToken": tokens[-1]}
        assert (await machine.ask("TransactWriteItems", **request))[0] == 200
        await asyncio.sleep(0)
    assert len(tokens) > 2
    await machine.die()
    for token in tokens:
        request = {"TransactItems": [{"Update": update}], "ClientRequestToken": token}
        assert (await machine.ask("TransactWriteItems", **request))[0] == 200
    sums = [item["n"]["N"] for item in await machine.table() if item["k"]["S"] == "sum"]
    assert sums == [str(len(tokens))], "none was made again"


@pytest.mark.parametrize("death", [False, True])
async def test_what_was_written_while_a_new_journal_was_made_does_not_stand_twice_after_a_stop(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, death: bool
) -> None:
    """Nothing is written after that journal: it must be seen from itself that it holds more than what stands."""
    synced, loop = Successor.sync, asyncio.get_running_loop()

    async def put(number: int) -> None:
        assert (await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": f"item {number}"}}))[0] == 200

    def sync(new: Successor) -> None:
        monkeypatch.setattr(Successor, "sync", synced)
        for number in range(100):
            asyncio.run_coroutine_threadsafe(put(number), loop).result(10)
        synced(new)

    for number in range(100):
        await put(number)
    monkeypatch.setattr(Successor, "sync", sync)
    await machine.durable.snapshot()
    twice = machine.path.stat().st_size
    if death:
        await machine.die()
    await machine.durable.close()
    assert machine.path.stat().st_size < twice / 2


async def test_what_is_written_while_a_new_journal_goes_to_the_disk_is_in_both(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut of the power may find either: the new one takes the place of the old one only when it is whole on disk."""
    loop, synced, whole = asyncio.get_running_loop(), Successor.sync, []

    async def put(number: int) -> None:
        assert (await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": f"late {number}"}}))[0] == 200

    def sync(new: Successor) -> None:
        synced(new)
        whole.append(b'"records":' in new.path.read_bytes())
        asyncio.run_coroutine_threadsafe(put(len(whole)), loop).result(10)
        assert machine.path.stat().st_ino != new.path.stat().st_ino, "the old one is still in its place"

    await put(0)
    monkeypatch.setattr(Successor, "sync", sync)
    await machine.durable.snapshot()
    assert whole == [False, True]
    before = await machine.table()
    assert len(before) == 3
    await machine.die()
    assert await machine.table() == before


@pytest.mark.parametrize("deed", ["append", "sync", "flush"])
async def test_a_disk_that_takes_no_new_journal_leaves_the_old_one_in_use(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": "early"}})
    monkeypatch.setattr(Successor, deed, full)
    await machine.durable.snapshot()
    assert (machine.durable.snapshots, machine.path.with_suffix(".new").exists()) == (0, False)
    await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": "later"}})
    await machine.die()
    assert len(await machine.table()) == 2


@pytest.mark.parametrize(
    "body",
    [
        '{"TableName": "ledger"}'.encode("utf-16"),
        '{"TableName": "ledger"}'.encode("utf-16-le"),
        '{"TableName": "ledger"}'.encode("utf-8-sig"),
        b'{"TableName": "\xed\xa0\x80"}',
        b'{"TableName": "\\ud800"}',
        b"[]",
        b"\xff",
        b"",
    ],
)
async def test_what_is_no_json_object_in_utf_8_is_refused_and_not_kept(machine: Machine, body: bytes) -> None:
    size = machine.durable.journal.size
    for op in ("PutItem", "TransactWriteItems"):
        assert (await machine.durable.dynamodb(op, body)).status == 400
    assert machine.durable.journal.size == size


async def test_an_empty_request_of_a_batch_does_no_harm_while_a_new_journal_is_made(machine: Machine) -> None:
    for number in range(600):
        await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": f"item {number}"}})
    snapshot = asyncio.create_task(machine.durable.snapshot())
    await asyncio.sleep(0)
    put = {"PutRequest": {"Item": {"k": {"S": "in the same batch"}}}}
    status, _ = await machine.ask("BatchWriteItem", RequestItems={TABLE: [put, {}]})
    await snapshot
    before = await machine.table()
    assert len(before) == 600 + (status == 200)
    await machine.die()
    assert await machine.table() == before


async def test_a_table_that_comes_while_a_new_journal_is_made_keeps_the_old_one_in_use(machine: Machine) -> None:
    for number in range(1500):
        await machine.ask("PutItem", TableName=TABLE, Item={"k": {"S": f"item {number}"}})
    snapshot = asyncio.create_task(machine.durable.snapshot())
    await asyncio.sleep(0)
    status, _ = await machine.ask(
        "CreateTable",
        TableName="other",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    assert status == 200
    await snapshot
    assert machine.durable.snapshots == 0
    assert not machine.path.with_suffix(".new").exists()
    await machine.ask("PutItem", TableName="other", Item={"k": {"S": "kept"}})
    await machine.die()
    assert len(await machine.table()) == 1500
    assert [item async for item in scan(machine.durable.forward, "other")] == [{"k": {"S": "kept"}}]


async def test_a_snapshot_of_several_pages_holds_every_numbered_row(machine: Machine) -> None:
    keys = [{"AttributeName": "movie", "KeyType": "HASH"}, {"AttributeName": "frame", "KeyType": "RANGE"}]
    types = [{"AttributeName": "movie", "AttributeType": "S"}, {"AttributeName": "frame", "AttributeType": "N"}]
    await machine.ask(
        "CreateTable", TableName="frames", KeySchema=keys, AttributeDefinitions=types, BillingMode="PAY_PER_REQUEST"
    )
    for movie in ("10", "9", "a"):
        for start in range(-100, 1100, 100):
            rows = [{"movie": {"S": movie}, "frame": {"N": str(start + i)}} for i in range(100)]
            puts = [{"Put": {"TableName": "frames", "Item": row}} for row in rows]
            assert (await machine.ask("TransactWriteItems", TransactItems=puts))[0] == 200
    await machine.durable.snapshot()
    assert machine.durable.snapshots == 1
    await machine.die()
    found = [(item["movie"]["S"], int(item["frame"]["N"])) async for item in scan(machine.durable.forward, "frames")]
    assert sorted(found) == sorted((movie, frame) for movie in ("10", "9", "a") for frame in range(-100, 1100))
