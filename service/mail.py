"""Two ways for a letter to leave: by SMTP, or into a folder that stands for it on a machine without mail."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as RULES
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import urlsplit

import aiosmtplib
import structlog

from service.domain.errors import AddressRefused, MailFailed, MailNotSetUp
from service.domain.letters import Letter, Mailer
from service.mail_server import Server, server_of
from service.settings import Settings

UNDER_WAY = 12
"""Letters sent at the same time. A view that sends one holds a thread, and pages need the others for their polls."""
PATIENCE = 1.5
"""Seconds that others wait for a turn while no letter gets through: a class comes in at once, a dead server stays."""
_SECONDS = 10.0
_HOME = "localhost"

log = structlog.get_logger(__name__)


def talk_to(server: Server) -> aiosmtplib.SMTP:
    """A conversation that, entered, is connected, encrypted and signed in as the server's address says."""
    return aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        use_tls=server.tls == "at once",
        start_tls=server.tls == "starttls",
        timeout=_SECONDS / 2,
    )


class Smtp:
    """Hands each letter to a mail server, over a connection of its own, within ten seconds."""

    def __init__(self, server: Server, sender: str) -> None:
        self._server = server
        self._sender = sender
        self._places = asyncio.Semaphore(UNDER_WAY)
        self._moved = 0.0

    async def send(self, letter: Letter) -> None:
        message = message_of(letter, self._sender)
        async with self._connected() as client:
            await client.send_message(message, sender=self._sender, recipients=[letter.to])

    async def rehearse(self, letter: Letter) -> None:
        """The same conversation up to the recipient, taken back."""
        message_of(letter, self._sender)
        async with self._connected() as client:
            await client.mail(self._sender)
            await client.rset()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[aiosmtplib.SMTP]:
        """An open conversation; everything that goes wrong in it is said as MailFailed or AddressRefused."""
        await self._turn()
        try:
            async with asyncio.timeout(_SECONDS), talk_to(self._server) as client:
                yield client
            self._moved = asyncio.get_running_loop().time()
        except aiosmtplib.SMTPRecipientsRefused as refusal:
            self._tell(refusal)
            permanent = all(500 <= one.code < 600 for one in refusal.recipients)
            raise (AddressRefused if permanent else MailFailed) from None
        except aiosmtplib.SMTPNotSupported as failure:  # an address with letters that this server cannot write
            self._tell(failure)
            raise AddressRefused from None
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as failure:
            self._tell(failure)
            raise MailFailed from None
        finally:
            self._places.release()

    async def _turn(self) -> None:
        """Wait for one of the places, as long as letters get through. Raises MailFailed."""
        now = asyncio.get_running_loop().time
        if self._places.locked():
            while (left := self._moved + PATIENCE - now()) > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._places.acquire()
                        return
            log.warning("mail_failed", reason="too many letters are under way")
            raise MailFailed
        await self._places.acquire()
        self._moved = now()

    def _tell(self, failure: Exception) -> None:
        """The server's words may hold the address, so only its number is logged."""
        code = getattr(failure, "code", None)
        log.warning("mail_failed", host=self._server.host, error_type=type(failure).__name__, smtp_code=code)


class Outbox:
    """Puts each letter into a folder as one `.eml` file that any mail program opens: readable by its owner alone."""

    def __init__(self, folder: Path, sender: str) -> None:
        self.folder = folder
        self._sender = sender

    async def send(self, letter: Letter) -> None:
        path = await self._kept(letter)
        log.info("mail_put_into_outbox", file=path.name)

    async def rehearse(self, letter: Letter) -> None:
        (await self._kept(letter, ".draft")).unlink(missing_ok=True)

    async def _kept(self, letter: Letter, suffix: str = ".eml") -> Path:
        try:
            return await asyncio.to_thread(self._write, message_of(letter, self._sender), suffix)
        except OSError as failure:
            log.warning("mail_failed", error_type=type(failure).__name__)
            raise MailFailed from None

    def _write(self, message: EmailMessage, suffix: str) -> Path:
        """Whole or not at all: whoever lists the folder never sees half a letter."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = secrets.token_hex(8)
        draft = self.folder / f"{name}.part"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(message.as_bytes())
        return draft.rename(self.folder / f"{time.time_ns()}-{name}{suffix}")


class NoMail:
    """A deployment without a mail server says so instead of promising mail."""

    async def send(self, letter: Letter) -> None:
        raise MailNotSetUp

    async def rehearse(self, letter: Letter) -> None:
        raise MailNotSetUp


def mailer_of(settings: Settings) -> Mailer:
    """SMTP if a server is set; else the outbox of the embedded default's data folder."""
    sender = settings.mail_from or f"tiptrace@{urlsplit(settings.public_url or '').hostname or _HOME}"
    if settings.smtp_url is not None:
        return Smtp(server_of(settings.smtp_url.get_secret_value()), sender)
    if settings.backend == "embedded":
        return Outbox(settings.data / "outbox", sender)
    return NoMail()


def message_of(letter: Letter, sender: str) -> EmailMessage:
    """The letter as it travels. Addresses go in as what they are, so that none can become another header."""
    message = EmailMessage(RULES.clone(utf8=not letter.to.isascii()))
    message["From"] = _address(sender, "tiptrace")
    message["To"] = _address(letter.to)
    message["Subject"] = letter.subject
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    # As it is, so that the link can be copied out of the file by hand too; quoted-printable would break it up.
    message.set_content(letter.text, cte="7bit" if letter.text.isascii() else "8bit")
    return message


def _address(email: str, name: str = "") -> Address:
    local, _, domain = email.rpartition("@")
    return Address(name, local, domain)
