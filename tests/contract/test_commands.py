"""The `tiptrace` command as a person types it: real processes on a data folder of their own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog
from click.testing import CliRunner

from service import metrics
from service.cli import main
from service.local.emulator import Emulator
from service.local.journal import encode
from service.metrics_server import metrics_served
from tests.support.emulator import emulator_in_thread

MOVIE = Path(__file__).parents[3] / "shared" / "data" / "plants" / "circumnutation_2019-07-12.mp4"


async def typed(*words: str, seconds: float = 120, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `tiptrace words...`."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service.cli", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "120", **environment},
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


async def told(*words: str, **environment: str) -> tuple[int, str, str]:
    """The same in this process: a Python start per command is most of what the commands of operators take."""
    run = CliRunner(env={"COLUMNS": "120", **environment}).invoke
    result = await asyncio.to_thread(run, main, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """A command sets up the log of its process; other tests of this process keep theirs."""
    root = logging.getLogger()
    before, handlers, level = structlog.get_config(), root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder whose emulator is up already, so that each command joins it."""
    data = tmp_path_factory.mktemp("data")
    with emulator_in_thread(data):
        yield data


async def test_create_tables_makes_what_is_missing_and_then_changes_nothing(folder: Path) -> None:
    code, out, err = await told("admin", "create-tables", "--json", "--data", str(folder))
    assert code == 0, err
    first = json.loads(out)
    assert len([name for name in first["created"] if name.startswith("tiptrace-")]) >= 9
    code, out, err = await told("admin", "create-tables", "--json", "--data", str(folder))
    assert code == 0, err
    again = json.loads(out)
    assert again["created"] == []
    assert set(first["created"]) <= set(again["present"])


async def test_an_operator_adds_people_and_takes_their_keys_away(folder: Path) -> None:
    at = ("--json", "--data", str(folder))
    code, out, err = await told("admin", "add-course", "bio-7", "--name", "Bio 7", *at)
    assert code == 0, err
    assert json.loads(out)["course_key"]
    person = ("admin", "add-user", "--email", "Ada@Example.org", "--name", "Ada", "--course", "bio-7")
    code, out, err = await told(*person, "--course-admin", *at)
    assert code == 0, err
    ada = json.loads(out)
    assert re.fullmatch(r"a[0-9a-f]{32}", ada["api_key"])
    code, out, err = await told(*person, *at)
    assert (code, out) == (1, "")
    assert "registered under this address already" in err
    assert "Traceback" not in err
    code, out, err = await told("admin", "add-key", ada["user_id"], *at)
    second = json.loads(out)["api_key"]
    assert second != ada["api_key"]
    assert (await told("admin", "disable-key", second, *at))[0] == 0
    asked = ("admin", "sign-in-link", "--url", "https://lab.test/", *at, "--email")
    code, out, err = await told(*asked, "ADA@example.org")
    assert code == 0, err
    assert json.loads(out)["user_id"] == ada["user_id"]
    assert re.fullmatch(r"https://lab\.test/signin\?token=\S+", json.loads(out)["link"])
    code, _, err = await told(*asked, "nobody@example.org")
    assert (code, "Traceback" in err) == (1, False)
    assert (await told("admin", "jobs", *at))[1].strip() == "[]"
    code, _, err = await told("admin", "job", "m" + "0" * 36, *at)
    assert code == 1
    assert "no such movie" in err


async def test_bad_arguments_end_with_2_and_bad_settings_say_which(folder: Path) -> None:
    assert (await told("serve", "--port", "70000"))[0] == 2
    assert (await told("admin", "add-user", "--name", "X"))[0] == 2
    code, _, err = await told("serve", TIPTRACE_LEASE_SECONDS="20")
    assert code == 2
    assert "TIPTRACE_LEASE_SECONDS" in err
    assert "Traceback" not in err


async def test_serve_answers_until_it_is_told_to_stop_and_a_second_one_says_so(tmp_path: Path) -> None:
    """Two processes at one address. Told to stop, they are not ready any more while they answer on, and end with 0."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data", str(tmp_path)),
        *("--workers", "1", "--processes", "2"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TIPTRACE_DRAIN_SECONDS": "1"},
    )
    try:
        assert process.stdout
        line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, "the service ended"
        address = found.group(0)
        async with httpx.AsyncClient(base_url=address) as http:
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/readyz")).status_code == 200
            assert "<title>" in (await http.get("/signin")).text
            code, _, err = await told("serve", "--port", "0", "--data", str(tmp_path))
            assert code == 1
            assert "in use" in err
            assert "Traceback" not in err
            process.send_signal(signal.SIGTERM)
            while (ready := await http.get("/readyz")).status_code == 200:
                pass
            assert (ready.status_code, ready.json()["code"]) == (503, "stopping")
            assert (await http.get("/healthz")).status_code == 200
    finally:
        if process.returncode is None:
            process.terminate()
        assert await asyncio.wait_for(process.wait(), 60) == 0


@pytest.mark.parametrize("command", [("serve",), ("serve", "--processes", "2"), ("demo",)], ids=" ".join)
async def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = str(taken.sockets[0].getsockname()[1])
    async with taken:
        code, _, err = await told(*command, "--port", port, "--data", str(tmp_path))
    said = f"Error: 127.0.0.1:{port} cannot be listened on: Address already in use. Choose another with --port.\n"
    assert (code, err) == (1, said)


async def test_a_folder_that_cannot_be_used_is_said_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "tables.journal").write_bytes(b"not a journal\n" + encode({"journal": 1, "at": 0}))
    code, _, err = await typed("serve", "--port", "0", "--data", str(tmp_path))
    assert (code, err.splitlines()[-1].partition(" is damaged at line 1 ")[0]) == (
        1,
        f"Error: The journal {tmp_path}/tables.journal",
    )
    nowhere = tmp_path / "tables.journal" / "below a file"
    code, _, err_there = await typed("serve", "--port", "0", "--data", str(nowhere))
    assert (code, err_there.splitlines()[-1]) == (1, f"Error: {nowhere}: Not a directory.")
    assert "Traceback" not in err + err_there


async def test_the_demonstration_agrees_with_the_known_truth(tmp_path: Path) -> None:
    """Apex within 3 px on average, amplitude within 5 %, through the real queue."""
    code, out, err = await typed("demo", "--once", "--data", str(tmp_path), seconds=240)
    assert code == 0, err
    apex = re.search(r"Apex\s+│\s+(\d+)\s+│\s+(\d+)\s+│\s+([\d.]+) px", out)
    assert apex, out
    assert (int(apex[1]) + int(apex[2])) == 300
    assert float(apex[3]) < 3
    amplitude = re.search(r"amplitude ([\d.]+) px of ([\d.]+) px", out)
    assert amplitude, out
    assert float(amplitude[1]) == pytest.approx(float(amplitude[2]), rel=0.05)


@pytest.mark.long
@pytest.mark.skipif(not MOVIE.exists(), reason="the real movies do not lie beside this repository")
async def test_the_demonstration_traces_a_real_movie_too(tmp_path: Path) -> None:
    code, out, err = await typed("demo", "--once", "--data", str(tmp_path), "--movie", str(MOVIE), seconds=240)
    assert code == 0, err
    assert "Traced frames 0 to 295" in out
    assert "Point 1" in out


@pytest.mark.long
async def test_a_file_that_is_no_movie_ends_the_demonstration_with_its_reason(tmp_path: Path) -> None:
    bad = tmp_path / "homework.mp4"
    bad.write_text("not a movie")
    code, _, err = await typed("demo", "--once", "--data", str(tmp_path / "d"), "--movie", str(bad))
    assert code == 1
    assert "cannot be read as a movie" in err
    assert "Traceback" not in err


async def test_worker_processes_need_their_service(tmp_path: Path, emulator: Emulator) -> None:
    """On AWS without its queue the worker ends with one line, not with a traceback."""
    code, _, err = await typed(
        "worker",
        TIPTRACE_BACKEND="aws",
        TIPTRACE_TABLE_PREFIX="nobody-",
        AWS_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        **{f"AWS_ENDPOINT_URL_{name}": emulator.endpoint for name in ("DYNAMODB", "S3", "SQS")},
    )
    assert code == 1
    assert "create-tables" in err
    assert "Traceback" not in err


async def test_lease_advice_reads_addresses_files_and_receipts(folder: Path, tmp_path: Path) -> None:
    metrics.LEASE_SECONDS.set(60)
    metrics.HEARTBEAT_SECONDS.set(10)
    for _ in range(100):
        metrics.HEARTBEAT_LATENESS.labels(kind="tracing").observe(100)
    page = tmp_path / "metrics.txt"
    page.write_bytes(metrics.exposition()[0])
    with metrics_served("127.0.0.1", 0) as address:
        code, out, err = await told("admin", "lease-advice", address, str(page), "--sweep-seconds", "5", "--json")
    advised = json.loads(out)
    assert (code, advised["well"], err) == (1, False, "")
    assert advised["judged"] == {"lease": 60, "heartbeat": 10, "sweep": 5}
    assert advised["recommended"]["lease"] > 200
    code, out, _ = await told("admin", "lease-advice", "--receipts", "--data", str(folder))
    assert (code, out.splitlines()[0][:19]) == (0, "look   lease      O")
    assert "nly 0 renewals of workers were measured" in out
    for words, expected in (((), 2), ((str(tmp_path / "not-there"),), 1), (("http://127.0.0.1:9/metrics",), 1)):
        code, _, err = await told("admin", "lease-advice", *words)
        assert code == expected
        assert err
        assert "Traceback" not in err
