"""The description of the routes for those who show it, a host's own documentation among them.

host = FastAPI(lifespan=lifespan)
host.mount("/lab", service.asgi.app)
own = host.openapi
host.openapi = lambda: merged(own(), "/lab")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.web.app import bare_app
from service.web.operations import describe


def document() -> dict[str, Any]:
    """What `/openapi.json` answers, without a running service."""
    return describe(bare_app())


def merged(host: Mapping[str, Any], mount: str) -> dict[str, Any]:
    """A host's document with ours added below `mount`. The host's own entries stay as they are."""
    ours = document()
    components = {**host.get("components", {})}
    for kind, named in ours["components"].items():
        components[kind] = {**named, **components.get(kind, {})}
    below = {mount.rstrip("/") + path: operations for path, operations in ours["paths"].items()}
    return {**host, "paths": {**below, **host.get("paths", {})}, "components": components}
