"""Every exception that the stack under this service can raise, each with a secret, a path and a trace in its text."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import pickle
import struct
import subprocess
import zipfile
from collections.abc import Iterator
from typing import Any

import aiohttp
import av
import botocore.exceptions
import cv2

from service.domain import errors
from tracer.errors import MovieError

MARKS = ("X-Amz-Signature", "5ec2e7f00d", "/srv/hidden/place", "AKIA0EXAMPLE0KEY", "line 4711", "a0123456789abcdef")
"""None of these may be seen by anybody but an operator."""

TEXT = (
    "GET https://bucket.s3.amazonaws.com/movies/m1?X-Amz-Credential=AKIA0EXAMPLE0KEY&X-Amz-Signature=5ec2e7f00d failed:"
    " [Errno 13] '/srv/hidden/place/movie.mp4' (key a0123456789abcdef0123456789abcdef)\n"
    'Traceback (most recent call last):\n  File "/srv/hidden/place/run.py", line 4711, in go\n'
)

REFUSALS = {
    "AccessDeniedException": 400,
    "ExpiredTokenException": 400,
    "IdempotentParameterMismatchException": 400,
    "InternalServerError": 500,
    "InvalidAccessKeyId": 403,
    "ItemCollectionSizeLimitExceededException": 400,
    "ResourceNotFoundException": 400,
    "ServiceUnavailable": 503,
    "SlowDown": 503,
    "ThrottlingException": 400,
    "TransactionCanceledException": 400,
    "ValidationException": 400,
}
"""Codes of AWS's own refusals and their statuses; the message is AWS's, and can quote what was sent."""

_NOT_ERRORS = (
    errors.FenceLost,  # says that the job is somebody else's
    errors.EngineCrashed,  # is no failure of the movie's: tried with the others of its kind in the protocol's tests
)


def refusal(code: str) -> botocore.exceptions.ClientError:
    answer: Any = {
        "Error": {"Code": code, "Message": TEXT},
        "ResponseMetadata": {"HTTPStatusCode": REFUSALS[code]},
        "CancellationReasons": [{"Code": "ValidationError", "Message": TEXT}],
    }
    return botocore.exceptions.ClientError(answer, "TransactWriteItems")


def made(kind: type[Exception]) -> Exception:
    """One of this class that says TEXT, whatever its constructor asks for."""
    try:
        error = kind(1, TEXT, TEXT) if issubclass(kind, av.error.FFmpegError) else kind(TEXT)
    except (TypeError, LookupError):
        error = kind.__new__(kind)
        Exception.__init__(error, TEXT)
    for name in ("kwargs", "details", "numbers", "cmd", "stderr", "strerror", "filename", "message"):
        try:
            setattr(error, name, {} if name in ("kwargs", "details", "numbers") else TEXT)
        except AttributeError:  # has no such field, or does not let it be set
            continue
    return error


def below(kind: type[Exception]) -> Iterator[type[Exception]]:
    """A class and all classes derived from it."""
    yield kind
    for child in kind.__subclasses__():
        yield from below(child)


def every_kind() -> list[type[Exception]]:
    """Each class once, by name."""
    roots: tuple[type[Exception], ...] = (
        botocore.exceptions.BotoCoreError,
        aiohttp.ClientError,
        OSError,
        ArithmeticError,
        LookupError,
        ValueError,
        RuntimeError,
        av.error.FFmpegError,
        MovieError,
        errors.TiptraceError,
        concurrent.futures.BrokenExecutor,
        pickle.PickleError,
        subprocess.SubprocessError,
    )
    others: tuple[type[Exception], ...] = (
        MemoryError,
        AssertionError,
        AttributeError,
        BufferError,
        ImportError,
        NameError,
        StopAsyncIteration,
        SyntaxError,
        TypeError,
        cv2.error,
        struct.error,
        zipfile.BadZipFile,
        asyncio.IncompleteReadError,
        asyncio.InvalidStateError,
        asyncio.QueueFull,
        json.JSONDecodeError,
    )
    rooms = ("botocore", "aiobotocore", "aiohttp", "av", "builtins", "tracer", "service", "concurrent", "pickle")
    found = {
        kind
        for root in roots
        for kind in below(root)
        if kind.__module__.split(".")[0] in (*rooms, "_pickle", "asyncio", "json", "subprocess", "zipfile", "socket")
        and not issubclass(kind, _NOT_ERRORS)
        and kind is not botocore.exceptions.ClientError
    }
    return sorted(found | set(others), key=lambda kind: f"{kind.__module__}.{kind.__qualname__}")


def a_few_kinds() -> list[type[Exception]]:
    """One or two of each family, and those that the service treats in a way of their own."""
    return [
        botocore.exceptions.EndpointConnectionError,
        botocore.exceptions.ParamValidationError,
        botocore.exceptions.HTTPClientError,
        aiohttp.ClientPayloadError,
        PermissionError,
        TimeoutError,
        MemoryError,
        KeyError,
        StopAsyncIteration,
        cv2.error,
        av.error.InvalidDataError,
        MovieError,
        concurrent.futures.BrokenExecutor,
        errors.TiptraceError,
        errors.OutcomeUnknown,
        errors.NoRight,
    ]


def every_error() -> list[Exception]:
    return [made(kind) for kind in every_kind()] + [refusal(code) for code in REFUSALS]


def a_few_errors() -> list[Exception]:
    return [made(kind) for kind in a_few_kinds()] + [refusal("AccessDeniedException"), refusal("SlowDown")]


class ExplodingClient:
    """A client of which one call in all, or every call, of the named ones raises."""

    def __init__(self, client: Any, error: Exception, calls: tuple[str, ...], *, once: bool) -> None:
        self._client, self._error, self._calls, self._once = client, error, calls, once
        self.exploded = 0
        self.exploding = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        if name not in self._calls:
            return call

        async def explode(**request: Any) -> Any:
            if self._once and self.exploded:
                return await call(**request)
            self.exploded += 1
            self.exploding.set()
            raise self._error

        return explode
