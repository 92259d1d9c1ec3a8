"""What every answer says to a browser about what it may do."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Flask, Response

from service.domain.origin import origin_of
from service.store.objects import Objects

_FIXED = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
)


def install(app: Flask, objects: Objects) -> None:
    policy = content_policy(storage_origins(objects))

    @app.after_request
    def guard(answer: Response) -> Response:
        if answer.status_code == 304:
            return answer  # what the browser kept is guarded already, and stays so
        answer.headers.setdefault("Content-Security-Policy", policy)
        answer.headers.extend(_FIXED)
        return answer


def storage_origins(objects: Objects) -> list[str]:
    """Where signed links and forms lead: the store's endpoint, and on AWS the bucket's own host names.

    Nowhere else than to us, where the store has a front.
    """
    if objects.front:
        return []
    endpoint = objects.client.meta.endpoint_url
    origins = [origin_of(endpoint)]
    if (urlsplit(endpoint).hostname or "").endswith(".amazonaws.com"):
        region = objects.client.meta.region_name
        origins += [
            f"https://{objects.bucket}.s3.amazonaws.com",
            f"https://{objects.bucket}.s3.{region}.amazonaws.com",
        ]
    return origins


def content_policy(storage: list[str]) -> str:
    """Only our own scripts and styles; pictures, movies and uploads also from and to the store."""
    store = " ".join(storage)
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        "worker-src": "'self'",
        "style-src": "'self'",
        "font-src": "'self'",
        "manifest-src": "'self'",
        "img-src": f"'self' data: blob: {store}",
        "media-src": f"'self' blob: {store}",
        "connect-src": f"'self' {store}",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "object-src": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
