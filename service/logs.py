"""The log: one JSON object a line on stderr, with the bound ids, the full traceback, and no secret.

Code logs an event word and ids: `structlog.get_logger(__name__).info("job_claimed", attempt=2)`. Ids that belong to a
whole request or job are bound once with `structlog.contextvars.bind_contextvars(job_id=...)`. Lines of other libraries
(uvicorn, botocore) take the same way, if nobody gives them handlers of their own (`uvicorn.run(log_config=None)`).
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, TextIO

import structlog

REDACTED = "[redacted]"

# A field of one of these names is a secret as a whole, and its value is one wherever else it appears in the event.
SECRET_FIELDS = frozenset({"analysis_lease_id", "lease_id", "api_key", "x-api-key", "authorization", "cookie"})
# Shorter values ("", "1", "null") are no tokens; blotting them out everywhere would only make the line unreadable.
_SHORTEST_TOKEN = 8
_KEY_LENGTH = 32

# From the last question mark on, so that a text of question marks is not read again from each of them.
_QUERY = re.compile(r"\?[^\s\"'<>?]*\bX-Amz-[^\s\"'<>]*", re.IGNORECASE)
_QUOTE = r"(?:\\?[\"'])?"
_ASSIGNED = re.compile(
    # name, then = or : with or without quotes, also as DynamoDB writes it: 'analysis_lease_id': {'S': '...'}
    rf"\b((?:analysis_)?lease_id|x-amz-[a-z0-9-]+)({_QUOTE}\s*[:=]\s*(?:\{{\s*{_QUOTE}S{_QUOTE}\s*:\s*)?{_QUOTE})"
    r"[^\s&\"'<>,;{}()\[\]\\]+",
    re.IGNORECASE,
)
_API_KEY = re.compile(r"(?<![0-9A-Za-z])a[0-9a-f]{32}(?![0-9A-Za-z])")

# These say at INFO what we say ourselves, or print whole requests at DEBUG.
_LOUD = ("aioboto3", "aiobotocore", "boto3", "botocore", "urllib3", "asyncio", "s3transfer")


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send every log line of this process as JSON to `stream` (stderr), from `level` up.

    level: a name that `logging` knows, in either case. Errors: ValueError for another. Calling it again replaces the
    former configuration.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"no such log level: {level}")
    out = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]
    rendering: list[structlog.typing.Processor] = [
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        redact,  # after the traceback is text, before anything is written
        structlog.processors.JSONRenderer(),
    ]
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    for former in root.handlers[:]:
        if isinstance(former.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(number)
    for name in _LOUD:
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """A structlog processor: the event without presigned queries, analysis lease ids and API keys, in any string of it.

    What is not JSON becomes its `repr` here, so that a secret inside an object's text is seen too.
    """
    tokens = sorted({token for token in _tokens(event) if len(token) >= _SHORTEST_TOKEN}, key=len, reverse=True)
    return {key: _clean_field(key, value, tokens) for key, value in event.items()}


def clean(text: str) -> str:
    """`text` without the secrets that can be told by their shape or by the name in front of them."""
    if "?" in text:  # most values are short words, and every request has a line
        text = _QUERY.sub(f"?{REDACTED}", text)
    if len(text) > _SHORTEST_TOKEN:
        text = _ASSIGNED.sub(rf"\1\2{REDACTED}", text)
    return _API_KEY.sub(REDACTED, text) if len(text) > _KEY_LENGTH else text


def _tokens(fields: Mapping[Any, Any]) -> Iterator[str]:
    """Values of secret fields, however deep."""
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _tokens(value)
        elif isinstance(value, list | tuple):
            yield from _tokens(dict(enumerate(value)))
        elif isinstance(value, str) and _is_secret(key):
            yield value


def _is_secret(key: Any) -> bool:
    return isinstance(key, str) and (key.lower() in SECRET_FIELDS or key.lower().startswith("x-amz-"))


def _clean_field(key: Any, value: Any, tokens: list[str]) -> Any:
    if _is_secret(key) and value is not None:
        return REDACTED
    return _clean_value(value, tokens)


def _clean_value(value: Any, tokens: list[str]) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {_clean_value(str(key), tokens): _clean_field(key, item, tokens) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean_value(item, tokens) for item in value]
    text = str(value) if isinstance(value, str) else repr(value)
    for token in tokens:
        text = text.replace(token, REDACTED)
    return clean(text)
