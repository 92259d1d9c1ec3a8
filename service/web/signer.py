"""Signs sign-in links, and keeps the secret with which it does."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from itsdangerous import BadData, URLSafeSerializer

from service.settings import Settings
from service.usecases.sign_in import BadLink, SignInLink

_SALT = "tiptrace.sign-in"


class SecretMissing(Exception):
    """Set TIPTRACE_SECRET_KEY: several machines must sign with the same secret."""

    def __str__(self) -> str:
        return self.__doc__ or ""


@dataclass(frozen=True, slots=True)
class Signer:
    """Turns sign-in links into tokens for an address and back. A token is URL-safe and cannot be forged."""

    secret: str

    def token(self, link: SignInLink) -> str:
        return self._serializer.dumps([link.user_id, link.nonce, link.expires_at])

    def link(self, token: str) -> SignInLink:
        """Raises BadLink for anything that this signer did not make."""
        try:
            user_id, nonce, expires_at = self._serializer.loads(token)
        except (BadData, ValueError, TypeError):
            raise BadLink from None
        return SignInLink(user_id=user_id, nonce=nonce, expires_at=expires_at)

    @property
    def _serializer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt=_SALT)


def signer_of(settings: Settings) -> Signer:
    """By the configured secret, else (embedded only) by one made once in the data folder. Raises SecretMissing."""
    if settings.secret_key is not None:
        return Signer(settings.secret_key.get_secret_value())
    if settings.backend != "embedded":
        raise SecretMissing
    return Signer(kept_secret(settings.data))


def kept_secret(folder: Path) -> str:
    """The folder's own secret, readable by its owner alone. Two processes that make it at once agree on one."""
    path = folder / "secret-key"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    own = folder / f"secret-key.{secrets.token_hex(8)}"
    if not path.exists():
        descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(own, path)  # whole or not at all, and never over another's
        except FileExistsError:
            pass
        finally:
            own.unlink()
    return path.read_text(encoding="ascii").strip()
