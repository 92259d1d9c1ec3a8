"""How every command reads its settings and ends: one line on stderr says why, never a traceback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from service import logs
from service.domain.errors import TiptraceError
from service.local.connection import endpoint_of
from service.local.datadir import DataDirInUse, NothingRuns, NotOurs
from service.local.emulator import EmulatorFailed
from service.metrics_server import CannotListen
from service.queues import NotSetUp
from service.runtime import Runtime, open_runtime
from service.settings import Settings
from service.web.signer import SecretMissing

data_option = click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="Folder of the embedded default's data."
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def read_settings(**changed: Any) -> Settings:
    """Settings of the environment, with what the command line says put over them. Bad ones end with exit code 2."""
    try:
        settings = Settings(**{name: value for name, value in changed.items() if value is not None})
    except ValidationError as fault:
        told = "; ".join(f"TIPTRACE_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in fault.errors())
        raise click.UsageError(told.replace("TIPTRACE_: ", "").replace("Value error, ", "")) from None
    logs.configure(settings.log_level)
    return settings


def ends_plainly(command: Callable[..., Coroutine[Any, Any, int | None]]) -> Callable[..., None]:
    """Run an async command body; expected failures become one line and exit code 1."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            code = asyncio.run(command(*args, **kwargs))
        except TiptraceError as fault:
            raise click.ClickException(fault.message) from None
        except (
            CannotListen,
            DataDirInUse,
            EmulatorFailed,
            NothingRuns,
            NotOurs,
            NotSetUp,
            SecretMissing,
            BotoCoreError,
            ClientError,
        ) as fault:
            raise click.ClickException(str(fault)) from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        if code:
            raise SystemExit(code)

    return run


@asynccontextmanager
async def joined(data: Path | None) -> AsyncIterator[Runtime]:
    """The stores of a running service on this folder, or of an emulator started for this command, or of AWS."""
    settings = read_settings(data=data, log_level="warning")
    async with endpoint_of(settings) as endpoint, open_runtime(settings, endpoint=endpoint) as runtime:
        yield runtime
