"""A synchronous framework's quick work on the event loop itself, its async parts awaited in place.

Flask calls an `async def` view from synchronous code and wants its result back there. With a thread under each request
that is four changes of threads, which cost more than most of our views. Here the synchronous code runs in a greenlet:
where it must wait for a coroutine, it hands the coroutine to the task that runs it, and goes on with the result. No
other thread is involved, and the loop is free while the coroutine waits.

What blocks must not run this way: it would hold up everybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

T = TypeVar("T")


class _Walk(greenlet):  # type: ignore[misc]  # it has no types
    """Synchronous code under way on the loop."""


async def run_on_loop(work: Callable[[], T]) -> T:
    """What `work()` returns or raises. What it awaits by `awaiting` runs in this task and in this task's context."""
    walk = _Walk(work)
    walk.gr_context = getcurrent().gr_context  # one context: what Flask binds, the coroutine sees
    wanted = walk.switch()
    while not walk.dead:
        try:
            found = await wanted
        except BaseException as error:  # a cancellation too: the code that waits decides
            wanted = walk.throw(error)
        else:
            wanted = walk.switch(found)
    result: T = wanted
    return result


def awaiting(
    function: Callable[..., Coroutine[Any, Any, Any]], otherwise: Callable[..., Callable[..., Any]]
) -> Callable[..., Any]:
    """`function` as synchronous code calls it under `run_on_loop`; anywhere else as `otherwise(function)`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        here = getcurrent()
        if not isinstance(here, _Walk) or here.parent is None:
            return otherwise(function)(*args, **kwargs)
        wanted: Awaitable[Any] = function(*args, **kwargs)
        return here.parent.switch(wanted)

    return call
