"""The Flask application over an open runtime."""

from __future__ import annotations

from service.runtime import Runtime
from service.web import compressing, headers, journal, limits, problems
from service.web.admin import admin
from service.web.application import Application
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
    app.believe_proxies(runtime.settings.trusted_proxies)
    return app


def bare_app() -> Application:
    """The routes alone, over nothing: enough to describe them, not to answer."""
    app = Application("tiptrace", static_folder=None, template_folder=None)
    app.quick_blueprints = frozenset(blueprint.name for blueprint in _QUICK)
    app.json = Json(app)
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    return app
