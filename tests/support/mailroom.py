"""A real mail server on a port of its own, which keeps what it gets and can be told to refuse or to go away."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


@dataclass
class MailRoom:
    """`letters` are (recipient, message); `said` is what clients got as far as. `refuse` answers a recipient."""

    letters: list[tuple[str, EmailMessage]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    refuse: str | None = None
    user: str | None = None
    url: str = ""
    _server: asyncio.Server | None = None
    _port: int = 0

    async def handle_MAIL(self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        self.said.append("MAIL")
        envelope.mail_from = address
        envelope.mail_options += options
        return "250 OK"

    async def handle_RCPT(self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]) -> str:
        self.said.append("RCPT")
        if self.refuse:
            return self.refuse
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_RSET(self, *_: Any) -> str:
        self.said.append("RSET")
        return "250 OK"

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:
        content = envelope.original_content or b""
        message = message_from_bytes(content, policy=default)
        assert isinstance(message, EmailMessage)
        self.letters += [(recipient, message) for recipient in envelope.rcpt_tos]
        return "250 taken"

    def _authenticated(self, *given: Any) -> AuthResult:
        shown = given[-1]
        assert isinstance(shown, LoginPassword)
        self.user = shown.login.decode()
        return AuthResult(success=shown.password == b"pass word", handled=False)

    async def open(self) -> None:
        """Take letters, at the same address each time."""
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {"authenticator": self._authenticated, "auth_require_tls": False}
        self._server = await loop.create_server(
            lambda: SMTP(self, enable_SMTPUTF8=True, hostname="mail.test", loop=loop, **options),
            "127.0.0.1",
            self._port,
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"smtp://127.0.0.1:{self._port}"

    async def close(self) -> None:
        """Nobody answers there any more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    def links(self, recipient: str) -> list[str]:
        """The sign-in links that this address got, oldest first."""
        return [link_in(message) for to, message in self.letters if to == recipient]


def link_in(message: EmailMessage) -> str:
    """The one address that a letter holds."""
    (link,) = re.findall(r"https?://\S+", message.get_content())
    return str(link)


def token_in(link: str) -> str:
    return parse_qs(urlsplit(link).query)["token"][0]


@asynccontextmanager
async def mail_room() -> AsyncIterator[MailRoom]:
    room = MailRoom()
    await room.open()
    try:
        yield room
    finally:
        await room.close()
