"""A port of its own for the metrics of a process that serves nothing else: a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from service.metrics import REGISTRY


class CannotListen(Exception):
    """A port is not to be had."""


@contextmanager
def metrics_served(host: str, port: int) -> Iterator[str]:
    """Answer whoever asks with all that this process has counted, from a thread; yields the address.

    port: 0 lets the system pick one. Raises CannotListen.
    """
    shown = f"[{host}]" if ":" in host else host
    try:
        server, thread = start_http_server(port, host, registry=REGISTRY)
    except OSError as fault:
        raise CannotListen(f"Metrics cannot be served at {shown}:{port}: {fault.strerror}.") from None
    try:
        yield f"http://{shown}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
