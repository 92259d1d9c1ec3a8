"""What was acknowledged survives the death of the emulator, of its service, and of both; nothing is left behind."""

import asyncio
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.local.datadir import DataDirInUse, find_running, read_endpoint
from service.local.emulator import Emulator
from tests.support.writers import LOST, Writers, client, create_table, items

LISTEN = "0A"


@contextmanager
def hosted(data_dir: Path) -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    """A process that hosts an emulator: the process, the endpoint, the emulator's process id."""
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.host_emulator", str(data_dir)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert host.stdout is not None
        endpoint, pid = host.stdout.readline().split()
        with os.fdopen(os.pidfd_open(int(pid))) as emulator:
            yield host, endpoint, int(pid)
            host.kill()
            if not ended(emulator.fileno(), 10):
                signal.pidfd_send_signal(emulator.fileno(), signal.SIGKILL)
                pytest.fail("The emulator outlived its killed service.")
    finally:
        host.kill()
        host.communicate()


def ended(pidfd: int, seconds: float) -> bool:
    """Wait until the process behind the descriptor has ended."""
    return bool(select.select([pidfd], [], [], seconds)[0])


async def test_no_acknowledged_write_is_lost_when_the_emulator_is_killed_under_16_writers(tmp_path: Path) -> None:
    writers = Writers()
    async with Emulator(tmp_path) as emulator, client("dynamodb", emulator.endpoint) as db:
        await create_table(db)
        first = emulator.pid
        writing = asyncio.create_task(writers.run(db))
        await writers.enough.wait()
        os.kill(first, signal.SIGKILL)
        await writing
        async with client("dynamodb", emulator.endpoint) as again:
            # The same address: the request waits until the successor has read the journal.
            writers.check(await items(again))
        assert emulator.pid != first


async def test_no_acknowledged_write_is_lost_when_everything_is_killed(tmp_path: Path) -> None:
    writers = Writers()
    with hosted(tmp_path) as (host, endpoint, pid):
        async with client("dynamodb", endpoint) as db:
            await create_table(db)
            writing = asyncio.create_task(writers.run(db))
            await writers.enough.wait()
            host.kill()
            os.kill(pid, signal.SIGKILL)
            await writing
    async with Emulator(tmp_path) as emulator, client("dynamodb", emulator.endpoint) as db:
        writers.check(await items(db))


async def test_a_write_that_cannot_be_journaled_is_not_acknowledged_and_not_there(tmp_path: Path) -> None:
    async with Emulator(tmp_path) as emulator:
        async with client("dynamodb", emulator.endpoint) as db:
            await create_table(db)
            await db.put_item(TableName="ledger", Item={"k": {"S": "before"}})
            room = (tmp_path / "tables.journal").stat().st_size + 500
            resource.prlimit(emulator.pid, resource.RLIMIT_FSIZE, (room, room))  # as if the disk were full
            with pytest.raises(LOST):
                await db.put_item(TableName="ledger", Item={"k": {"S": "too much"}, "text": {"S": "x" * 1000}})
        async with client("dynamodb", emulator.endpoint) as db:
            await db.put_item(TableName="ledger", Item={"k": {"S": "after"}})
            assert set(await items(db)) == {"before", "after"}
            assert (await emulator.health())["journal"]["dropped_bytes"] == 0


async def test_a_clean_stop_keeps_tables_objects_queues_and_rules(tmp_path: Path) -> None:
    rules = {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["https://example.org"]}]}
    async with (
        Emulator(tmp_path) as emulator,
        client("dynamodb", emulator.endpoint) as db,
        client("s3", emulator.endpoint) as s3,
        client("sqs", emulator.endpoint) as sqs,
    ):
        await create_table(db)
        await db.put_item(TableName="ledger", Item={"k": {"S": "kept"}, "text": {"S": "Blüte 🌱"}, "n": {"N": "1.50"}})
        await s3.create_bucket(Bucket="movies")
        await s3.create_bucket(Bucket="empty")
        await s3.put_bucket_cors(Bucket="movies", CORSConfiguration=rules)
        await s3.put_object(
            Bucket="movies", Key="a/b", Body=b"frames", ContentType="video/mp4", Metadata={"sha256": "0a"}
        )
        await sqs.create_queue(QueueName="jobs", Attributes={"VisibilityTimeout": "77"})
    async with (
        Emulator(tmp_path) as emulator,
        client("dynamodb", emulator.endpoint) as db,
        client("s3", emulator.endpoint) as s3,
        client("sqs", emulator.endpoint) as sqs,
    ):
        assert (await items(db))["kept"] == {"k": {"S": "kept"}, "text": {"S": "Blüte 🌱"}, "n": {"N": "1.5"}}
        found = await s3.get_object(Bucket="movies", Key="a/b")
        assert (found["ContentType"], found["Metadata"]) == ("video/mp4", {"sha256": "0a"})
        assert await found["Body"].read() == b"frames"
        assert (await s3.get_bucket_cors(Bucket="movies"))["CORSRules"] == rules["CORSRules"]
        await s3.head_bucket(Bucket="empty")
        queue = (await sqs.get_queue_url(QueueName="jobs"))["QueueUrl"]
        assert queue.startswith(emulator.endpoint)
        attributes = await sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])
        assert attributes["Attributes"] == {"VisibilityTimeout": "77"}


async def test_a_queue_and_an_object_outlive_a_killed_emulator(tmp_path: Path) -> None:
    async with (
        Emulator(tmp_path) as emulator,
        client("s3", emulator.endpoint) as s3,
        client("sqs", emulator.endpoint) as sqs,
    ):
        await s3.create_bucket(Bucket="movies")
        await s3.put_object(Bucket="movies", Key="a", Body=b"frames", ContentType="video/mp4")
        half_written = tmp_path / "objects" / "000000000000" / "movies" / "b.tmp"
        half_written.write_bytes(b"fra")
        url = (await sqs.create_queue(QueueName="jobs"))["QueueUrl"]
        os.kill(emulator.pid, signal.SIGKILL)
    async with (
        Emulator(tmp_path) as emulator,
        client("s3", emulator.endpoint) as s3,
        client("sqs", emulator.endpoint) as sqs,
    ):
        assert (await s3.head_object(Bucket="movies", Key="a"))["ContentType"] == "video/mp4"
        assert [found["Key"] for found in (await s3.list_objects_v2(Bucket="movies"))["Contents"]] == ["a"]
        found = (await sqs.get_queue_url(QueueName="jobs"))["QueueUrl"]
        assert found.rpartition("/")[2] == url.rpartition("/")[2]


async def test_a_second_service_on_the_directory_is_told_who_runs_there(tmp_path: Path) -> None:
    async with Emulator(tmp_path) as emulator:
        running = find_running(tmp_path)
        assert running is not None
        assert (running.endpoint, running.pid, running.owner_pid) == (emulator.endpoint, emulator.pid, os.getpid())
        with pytest.raises(DataDirInUse) as caught:
            await Emulator(tmp_path).start()
        assert str(os.getpid()) in str(caught.value)
        assert emulator.endpoint in str(caught.value)
        assert find_running(tmp_path) == running, "the one that was turned away must not touch the one that runs"
    assert find_running(tmp_path) is None


def test_the_endpoint_file_of_a_killed_service_names_no_running_emulator(tmp_path: Path) -> None:
    with hosted(tmp_path) as (host, endpoint, pid):
        pidfd = os.pidfd_open(pid)
        host.kill()
        assert ended(pidfd, 10)
    stale = read_endpoint(tmp_path)
    assert stale is not None
    assert stale.endpoint == endpoint
    assert find_running(tmp_path) is None


def test_no_emulator_outlives_its_killed_service(tmp_path: Path) -> None:
    with hosted(tmp_path) as (host, _, pid):
        pidfd = os.pidfd_open(pid)
        host.kill()
        assert ended(pidfd, 10), "the emulator is an orphan"


async def test_a_new_service_waits_for_the_emulator_of_a_killed_one_to_end(tmp_path: Path) -> None:
    with hosted(tmp_path) as (host, _, old):
        pidfd = os.pidfd_open(old)
        host.kill()
        async with Emulator(tmp_path):
            assert ended(pidfd, 0)


def test_the_emulator_listens_on_the_loopback_address_alone(tmp_path: Path) -> None:
    with hosted(tmp_path) as (_, endpoint, pid):
        listening = listening_addresses(pid)
    assert listening == {f"127.0.0.1:{endpoint.rpartition(':')[2]}"}


def listening_addresses(pid: int) -> set[str]:
    """Every address on which a process listens for TCP, or is bound for UDP, from /proc."""
    links = (str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir())
    inodes = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes and (fields[3] == LISTEN or table.startswith("udp")):
                host, _, port = fields[1].partition(":")
                words = struct.pack(f"={len(host) // 8}I", *(int(host[i : i + 8], 16) for i in range(0, len(host), 8)))
                family = socket.AF_INET6 if table.endswith("6") else socket.AF_INET
                found.add(f"{socket.inet_ntop(family, words)}:{int(port, 16)}")
    return found
