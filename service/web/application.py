"""Flask, and a second way through it that waits in place where Flask would block a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cached_property, lru_cache, partial
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from flask import Flask, Response
from flask.signals import request_started
from werkzeug.middleware.proxy_fix import ProxyFix

_in_place: ContextVar[bool] = ContextVar("in_place", default=False)


@lru_cache(maxsize=512)
def _is_async(function: Callable[..., Any]) -> bool:
    """Flask asks this several times a request about the same few functions, and the answer takes a while."""
    return iscoroutinefunction(function)


class Application(Flask):
    """`quick_blueprints`: the names of those whose async views are to be answered by `answer`, on the event loop."""

    quick_blueprints: frozenset[str] = frozenset()
    _believe: ProxyFix | None = None

    @cached_property
    def quick_paths(self) -> frozenset[str]:
        """The paths of the routes that are to be answered on the loop."""
        return frozenset(
            rule.rule
            for rule in self.url_map.iter_rules()
            if rule.endpoint.partition(".")[0] in self.quick_blueprints
            and _is_async(self.view_functions[rule.endpoint])
        )

    def believe_proxies(self, count: int) -> None:
        """Take the word of so many proxies in front of us for who is asking, and how."""
        if not count:
            return
        believing = partial(ProxyFix, x_for=count, x_proto=count, x_host=0)
        self.wsgi_app = believing(self.wsgi_app)  # type: ignore[method-assign]
        self._believe = believing(lambda environ, start_response: ())

    async def answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """As the WSGI application, on the event loop and in a context of its own: an async view is awaited in place.

        Whatever else Flask calls on the way (hooks, error handlers) is not async and must not block.
        """
        _in_place.set(True)
        if self._believe is not None:
            self._believe(environ, start_response)  # which changes the environment and nothing else
        context = self.request_context(environ)
        error: BaseException | None = None
        try:
            try:
                context.push()
                response = await self._dispatched()
            except Exception as fault:
                error = fault
                response = self.handle_exception(fault)
            except BaseException as fault:
                error = fault
                raise
            return response(environ, start_response)
        finally:
            context.pop(error)

    async def _dispatched(self) -> Response:
        self._got_first_request = True
        try:
            request_started.send(self, _async_wrapper=self.ensure_sync)
            told: Any = self.preprocess_request()
            if told is None:
                told = self.dispatch_request()
                if iscoroutine(told):
                    told = await told
        except Exception as fault:
            told = self.handle_user_exception(fault)
        return self.finalize_request(told)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """In place, a view's coroutine is what `answer` wants."""
        return func if _in_place.get() or not _is_async(func) else self.async_to_sync(func)
