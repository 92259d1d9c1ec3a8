"""The emulator as a child process: started, watched, replaced when it dies, and never left behind.

The parent owns the listening socket. A child that dies takes its open connections with it, but new ones wait in the
socket's queue until its successor has read the journal: for callers a death is a broken connection and a pause.
"""

import asyncio
import json
import os
import secrets
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import structlog

import service
from service.local.datadir import HEALTH, DataDirLock, Endpoint, write_endpoint
from service.local.journal import EXIT_JOURNAL

START_SECONDS = 300.0
"""How long a start may take, the journal's replay included (12,000 items a second). A death is noticed at once."""
STOP_SECONDS = 15.0
"""How long an orderly stop may take before the child is killed (which loses nothing)."""
FAILED_STARTS = 5
"""After how many failed restarts in a row the emulator is given up."""
HEALTHY_SECONDS = 10.0
"""A child that lived this long is replaced at once; deaths in quicker succession are answered with growing pauses."""
LOG_BYTES = 1_000_000
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")

log = structlog.get_logger(__name__)


class EmulatorFailed(Exception):
    """The embedded emulator did not start. The message ends with the last lines of its log."""


class Emulator:
    """The embedded DynamoDB, SQS and S3 on 127.0.0.1, durable in `data_dir`. An async context manager.

    `max_journal_bytes`: size at which the journal starts anew (or twice the live data, if that is more).
    `secret_access_key`: with which clients sign; presigned addresses are checked against it.
    Raises `DataDirInUse` if another service runs on the directory, `EmulatorFailed` if the child does not come up.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        max_journal_bytes: int = 8_000_000,
        secret_access_key: str = "test",  # noqa: S107
    ) -> None:
        self.data_dir = data_dir
        self._max_journal_bytes = max_journal_bytes
        self._secret = secret_access_key
        self._instance = secrets.token_hex(16)
        self._lock = DataDirLock(data_dir)
        self._socket: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._port = 0
        self.given_up = asyncio.Event()
        """Set when the child died and none could be started in its place; the port is closed then."""

    @property
    def endpoint(self) -> str:
        """The URL for all three services, the same for the whole life of this object once started."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The process id of the child that runs now; it changes when a dead one is replaced."""
        if self._process is None:
            raise RuntimeError("The emulator is not running.")
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """Where the child writes its log: JSON lines of ours, plain lines of the emulator."""
        return self.data_dir / "emulator.log"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Lock the directory, start the child, wait until it answers. On failure nothing is left behind."""
        await asyncio.to_thread(self._lock.acquire)
        try:
            (self.data_dir / "objects").mkdir(exist_ok=True, mode=0o700)
            self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
            self._port = self._socket.getsockname()[1]
            await self._launch()
        except BaseException:
            await self.stop()
            raise
        self._watcher = asyncio.create_task(self._watch(), name="emulator-watch")

    async def stop(self) -> None:
        """Stop the child in order (it starts a new journal), kill it if it does not end, release everything."""
        if self._watcher:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
            self._watcher = None
        await self._end_child()
        if self._socket:
            self._socket.close()
            self._socket = None
        if self._lock.fd >= 0:
            (self.data_dir / "endpoint.json").unlink(missing_ok=True)
            self._lock.release()

    async def health(self) -> dict[str, Any]:
        """What the child says of itself: instance, pid, journal (bytes, dropped_bytes, replayed, snapshots)."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(f"GET {HEALTH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise ConnectionError("The emulator left without an answer.")
        return dict(json.loads(body))

    async def _launch(self) -> None:
        """Start a child and wait until it answers. Raises `EmulatorFailed`, with no child left."""
        if self._socket is None:
            raise RuntimeError("The emulator is stopped.")
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_BYTES:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        _remove_unfinished(self.data_dir / "objects")
        config = {
            "journal": str(self.data_dir / "tables.journal"),
            "socket_fd": self._socket.fileno(),
            "instance": self._instance,
            "max_journal_bytes": self._max_journal_bytes,
        }
        with self.log_path.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "service.local"),
                stdin=asyncio.subprocess.PIPE,  # its end tells the child that we are gone
                stdout=output,
                stderr=output,
                env=self._environment(),
                pass_fds=(self._socket.fileno(), self._lock.fd),
                start_new_session=True,  # Ctrl-C is for us; we stop the child when nobody needs it any more
            )
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # a child that died at once is reported below
            self._process.stdin.write(json.dumps(config).encode("utf-8") + b"\n")
            await self._process.stdin.drain()
        answer = await self._first_answer(self._process)
        if answer["journal"]["dropped_bytes"]:
            log.warning("journal_torn_line_dropped", bytes=answer["journal"]["dropped_bytes"])
        write_endpoint(
            self.data_dir, Endpoint(self.endpoint, self._process.pid, os.getpid(), self._instance, time.time())
        )

    async def _first_answer(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        """Ask once: the question waits in the socket's queue until the child is ready, or the child ends first."""
        question = asyncio.create_task(self.health())
        end = asyncio.create_task(process.wait())
        try:
            await asyncio.wait((question, end), timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if question.done() and not question.exception():
                return question.result()
        finally:
            question.cancel()
            end.cancel()
            await asyncio.gather(question, end, return_exceptions=True)
        code = process.returncode
        how = f"did not answer within {START_SECONDS:.0f} s" if code is None else f"ended with exit code {code}"
        await self._end_child(kill=True)
        tail = _tail(self.log_path)
        if code == EXIT_JOURNAL and (reason := _reason(tail)):
            raise EmulatorFailed(reason)
        raise EmulatorFailed(f"The embedded emulator {how}. The end of {self.log_path}:\n{tail}")

    async def _watch(self) -> None:
        """Replace a child that dies. If no successor comes up, close the port, so that callers are told."""
        deaths = failed_starts = 0
        while failed_starts < FAILED_STARTS:
            started = time.monotonic()
            if self._process is not None:
                code = await self._process.wait()
                log.error("emulator_died", exit_code=code)
            deaths = 1 if time.monotonic() - started > HEALTHY_SECONDS else deaths + 1
            await asyncio.sleep(0 if deaths == 1 else min(0.1 * 2**deaths, 5.0))
            try:
                await self._launch()
                failed_starts = 0
                log.info("emulator_replaced", pid=self.pid)
            except (EmulatorFailed, OSError) as error:
                await self._end_child(kill=True)
                failed_starts += 1
                log.error("emulator_restart_failed", reason=str(error))
        log.critical("emulator_given_up", failed_starts=failed_starts)
        self.given_up.set()
        if self._socket:
            self._socket.close()

    async def _end_child(self, *, kill: bool = False) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill() if kill else process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            except TimeoutError:
                log.error("emulator_killed", after_seconds=STOP_SECONDS)
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.stdin:
            process.stdin.close()

    def _environment(self) -> dict[str, str]:
        """Only what the child needs: no cloud settings of the person who started us reach it."""
        return {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            "PYTHONPATH": str(Path(service.__file__).parent.parent),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port),
            "SERVICES": "dynamodb,sqs,s3",
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str((self.data_dir / "objects").resolve()),
            "PERSIST_STATE": "0",  # the journal is the only truth
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
            "MINISTACK_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": self._secret,
        }


def _remove_unfinished(objects: Path) -> None:
    """Remove what a killed emulator was just writing: it would take `name.tmp` for an object of that name."""
    for path in objects.rglob("*.tmp"):
        if path.is_file() and not path.with_name(path.name + ".meta.json").exists():
            path.unlink()


def _reason(tail: str) -> str:
    """What the child said about the journal before it ended, for a person; empty if it said nothing."""
    for line in reversed(tail.splitlines()):
        with suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict) and told.get("event") == "journal_unusable":
                return str(told["reason"])
    return ""


def _tail(path: Path, lines: int = 20) -> str:
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"
