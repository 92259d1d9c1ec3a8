"""The Flask application over an open runtime."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cached_property, lru_cache
from inspect import iscoroutinefunction
from typing import Any

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from service.on_loop import awaiting
from service.runtime import Runtime
from service.web import compressing, headers, journal, limits, problems
from service.web.admin import admin
from service.web.context import NAME, web_over
from service.web.directory import people_directory
from service.web.editing import editing
from service.web.exports import exports
from service.web.health import health
from service.web.leases import leases
from service.web.media import media
from service.web.movies import movies
from service.web.pages import pages
from service.web.people import people
from service.web.reading import reading
from service.web.reference import reference
from service.web.registration import registration
from service.web.render import Json
from service.web.sample import sample
from service.web.tracing import tracing

BLUEPRINTS = (
    pages,
    health,
    reference,
    people,
    registration,
    people_directory,
    admin,
    leases,
    editing,
    movies,
    reading,
    tracing,
    media,
    exports,
    sample,
)
_QUICK = (leases, reading, editing, tracing, movies)
"""What pages at work ask for by the thousand. Their views wait for the store and compute next to nothing."""
_MAX_FORM_BYTES = 1 << 20


def build_app(runtime: Runtime) -> Application:
    """Every route of the contract over `runtime`, which must stay open as long as the application serves.

    Views are async and run on the loop that opened the runtime's clients: serve it through `service.bridge`. Raises
    SecretMissing.
    """
    app = bare_app()
    app.config["MAX_FORM_MEMORY_SIZE"] = _MAX_FORM_BYTES
    web = app.extensions[NAME] = web_over(runtime)
    journal.install(app)
    headers.install(app, runtime.stores.objects)
    compressing.install(app)
    problems.install(app)
    limits.install(app, web.attempts)
    trusted = runtime.settings.trusted_proxies
    if trusted:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=trusted, x_proto=trusted, x_host=0)  # type: ignore[method-assign]
    return app


@lru_cache(maxsize=512)
def _is_async(function: Callable[..., Any]) -> bool:
    """Flask asks this several times a request about the same few functions, and the answer takes a while."""
    return iscoroutinefunction(function)


class Application(Flask):
    """Flask, whose async views are awaited in place where the bridge answers on the loop."""

    @cached_property
    def quick_paths(self) -> frozenset[str]:
        """The paths of the routes that are to be answered on the loop."""
        quick = {blueprint.name for blueprint in _QUICK}
        return frozenset(rule.rule for rule in self.url_map.iter_rules() if rule.endpoint.partition(".")[0] in quick)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return self.async_to_sync(func) if _is_async(func) else func

    def async_to_sync(self, func: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        return awaiting(func, otherwise=super().async_to_sync)


def bare_app() -> Application:
    """The routes alone, over nothing: enough to describe them, not to answer."""
    app = Application("tiptrace", static_folder=None, template_folder=None)
    app.json = Json(app)
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    return app
