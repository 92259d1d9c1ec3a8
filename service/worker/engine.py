"""One slot's engine: a single child process that a job may break without touching its neighbours.

Each slot has an executor of one process (spawned without secrets, niced, limited in memory), a pipe for what comes out,
and a shared order for what is wanted of it. A child that died or had to be killed is replaced before the next task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import structlog

from service.domain.errors import EngineCrashed
from service.domain.failures import Failure
from service.domain.job import Done, InspectTask, Output, Stopped, TraceTask
from service.usecases.workplace import JobFailed
from service.worker import engine_child
from service.worker.bare_spawn import BareContext
from service.worker.engine_child import ABORT, GO, HAND_BACK, Failed

log = structlog.get_logger()
_SPAWN = BareContext()
_ABORT_SECONDS = 3.0


class Engine:
    """Runs one task at a time. Use as an async context manager; leaving it ends the child."""

    def __init__(self, *, megabytes: int = 640, seconds: float = 3600) -> None:
        self._megabytes = megabytes
        self._seconds = seconds
        self._executor: ProcessPoolExecutor | None = None
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="engine-pipe")
        self._pipe: Connection
        self._pending: asyncio.Future[Any] | None = None
        self._order: Any = None
        self.pid: int | None = None

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._discard()
        self._reader.shutdown(wait=False, cancel_futures=True)

    def inspect(self, task: InspectTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        """See service.usecases.workplace.Engine."""
        return self._run(task, stop)

    def trace(self, task: TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        """See service.usecases.workplace.Engine."""
        return self._run(task, stop)

    async def _run(self, task: InspectTask | TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        future = self._submit(task)
        watcher = asyncio.create_task(self._hand_back_when(stop))
        deadline = asyncio.get_running_loop().time() + self._seconds
        finished = False
        try:
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        output = await self._received()
                except TimeoutError:
                    raise JobFailed(Failure("took_too_long")) from None
                except (EOFError, OSError):
                    raise EngineCrashed from None
                if isinstance(output, int):
                    self.pid = output
                elif isinstance(output, Failed):
                    finished = True
                    if output.traceback:
                        log.error("engine.task_failed", code=output.code, traceback=output.traceback)
                    raise JobFailed(Failure(output.code, output.numbers))
                else:
                    finished = isinstance(output, Done | Stopped)
                    yield output
                    if finished:
                        return
        finally:
            watcher.cancel()
            if not finished:
                await self._abort(future)

    def _submit(self, task: InspectTask | TraceTask) -> Future[None]:
        """Hand the task to a living child; a broken one is replaced first."""
        if self._executor is not None and self._pipe.poll():
            self._discard()  # an idle child says nothing: what can be read is its end
        if self._executor is not None:
            self._order.value = GO
            try:
                return self._executor.submit(engine_child.perform, task)
            except RuntimeError:  # the child died while it was idle
                self._discard()
        self._pipe, theirs = _SPAWN.Pipe(duplex=False)
        self._order = _SPAWN.Value("b", GO, lock=False)
        self._executor = ProcessPoolExecutor(
            1, _SPAWN, initializer=engine_child.start, initargs=(theirs, self._order, self._megabytes)
        )
        future = self._executor.submit(engine_child.perform, task)
        theirs.close()  # the child alone holds the writing end now: its death is an end of file here
        return future

    async def _received(self) -> Any:
        """The next thing out of the pipe. A reading that was given up goes on in its thread: the next call takes it."""
        if self._pending is None:
            self._pending = asyncio.get_running_loop().run_in_executor(self._reader, self._pipe.recv)
        pending = self._pending
        await asyncio.wait({pending})
        self._pending = None
        return pending.result()

    async def _hand_back_when(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._order.value = HAND_BACK

    async def _abort(self, future: Future[None]) -> None:
        """Ask the child to stop, empty the pipe meanwhile, and kill it if it does not."""
        if not future.done() and self._order is not None:
            self._order.value = ABORT
            with suppress(TimeoutError, EOFError, OSError):
                async with asyncio.timeout(_ABORT_SECONDS):
                    while not isinstance(await self._received(), Done | Stopped | Failed):
                        pass
                    return
        self._discard()

    def _discard(self) -> None:
        """End the child and forget it; the next task gets a new one. Its death ends a read that waits on the pipe."""
        if self._executor is None:
            return
        executor, self._executor = self._executor, None
        if self._pending is not None:
            self._pending.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody waits for it
            self._pending = None
        for process in list((executor._processes or {}).values()):
            process.kill()
        self.pid = None
        executor.shutdown(wait=False, cancel_futures=True)
