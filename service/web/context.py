"""What every view reaches: the open runtime, who is known by which key, and the signer of sign-in links."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app

from service.runtime import Runtime
from service.store.stores import Stores
from service.usecases.people import Authenticator
from service.web.signer import Signer

NAME = "tiptrace"


@dataclass(frozen=True, slots=True)
class Web:
    """One per application. The authenticator remembers keys for seconds, so there is one for all requests."""

    runtime: Runtime
    authenticator: Authenticator
    signer: Signer


def web() -> Web:
    """The running application's. Only inside a request."""
    held: Web = current_app.extensions[NAME]
    return held


def stores() -> Stores:
    return web().runtime.stores
