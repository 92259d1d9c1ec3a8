"""Letters and the two ways by which they leave: what may go wrong there, and what a hostile address cannot do."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr, ValidationError

from service import mail
from service.domain.errors import AddressRefused, MailFailed, MailNotSetUp
from service.domain.letters import Letter, sign_in_letter
from service.mail import UNDER_WAY, Outbox, Smtp, mailer_of, message_of
from service.mail_server import Server, server_of
from service.settings import Settings
from tests.support.mailroom import MailRoom, mail_room

LETTER = sign_in_letter("ada@school.example", "https://lab.example/signin?token=t", 60, ("Bio 101",))
SENDER = "tiptrace@lab.example"


@pytest_asyncio.fixture
async def room() -> AsyncIterator[MailRoom]:
    async with mail_room() as running:
        yield running


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", Server("mail.example", 25, "none")),
        ("smtp://mail.example?starttls", Server("mail.example", 587, "starttls")),
        ("smtp://mail.example:2525?starttls=1", Server("mail.example", 2525, "starttls")),
        ("smtps://mail.example", Server("mail.example", 465, "at once")),
        ("smtps://ada%40x:p%2Fw%20d@mail.example:99", Server("mail.example", 99, "at once", "ada@x", "p/w d")),
    ],
)
def test_a_mail_server_is_written_as_one_address(url: str, server: Server) -> None:
    assert server_of(url) == server


@pytest.mark.parametrize("url", ["http://mail.example", "mail.example:25", "smtp://", "smtp://x:port", "", "smtp:x"])
def test_a_setting_that_leads_to_no_mail_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError):
        server_of(url)
    with pytest.raises(ValidationError) as refusal:
        Settings(_env_file=None, smtp_url=url.replace("//", "//u:secret@"), public_url="https://lab.example")
    assert "secret" not in str(refusal.value)


def test_links_in_mail_never_lead_where_a_request_says() -> None:
    with pytest.raises(ValidationError, match="TIPTRACE_PUBLIC_URL"):
        Settings(_env_file=None, smtp_url=SecretStr("smtp://mail.example"))


def test_the_sender_is_one_address_of_the_public_host(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, data=tmp_path, public_url="https://lab.example/tiptrace")
    assert message_of(LETTER, mailer_of(settings)._sender)["From"] == "tiptrace <tiptrace@lab.example>"  # type: ignore[attr-defined]
    with pytest.raises(ValidationError, match="not an e-mail address"):
        Settings(_env_file=None, mail_from="a@b.example\r\nBcc: c@d.example")


async def test_the_outbox_keeps_each_letter_as_a_file_that_its_owner_alone_reads(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "new" / "outbox", SENDER)
    await asyncio.gather(*(outbox.send(LETTER) for _ in range(5)))
    await outbox.rehearse(LETTER)
    files = sorted(outbox.folder.iterdir())
    assert [path.suffix for path in files] == [".eml"] * 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(outbox.folder.stat().st_mode) == 0o700
    assert b"\r\nhttps://lab.example/signin?token=t\r\n" in files[0].read_bytes(), "also for a person who copies it"
    message = message_from_bytes(files[0].read_bytes(), policy=default)
    assert (message["To"], message["Subject"]) == ("ada@school.example", LETTER.subject)
    assert "https://lab.example/signin?token=t" in message.get_content()  # type: ignore[attr-defined]


async def test_an_outbox_that_cannot_be_written_is_a_failure_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file is in the way")
    outbox = Outbox(tmp_path / "outbox", SENDER)
    for attempt in (outbox.send, outbox.rehearse):
        with pytest.raises(MailFailed):
            await attempt(LETTER)


async def test_a_deployment_without_a_mail_server_says_so(tmp_path: Path) -> None:
    mailer = mailer_of(Settings(_env_file=None, backend="aws", data=tmp_path))
    for attempt in (mailer.send, mailer.rehearse):
        with pytest.raises(MailNotSetUp):
            await attempt(LETTER)
    assert not (tmp_path / "outbox").exists()


async def test_a_letter_arrives_with_user_and_password(room: MailRoom) -> None:
    url = room.url.replace("smtp://", "smtp://labs%40school:pass%20word@")
    await Smtp(server_of(url), SENDER).send(LETTER)
    ((recipient, message),) = room.letters
    assert (recipient, room.user, message["Date"] is not None) == ("ada@school.example", "labs@school", True)
    with pytest.raises(MailFailed):
        await Smtp(server_of(url.replace("word", "wrong")), SENDER).send(LETTER)


async def test_an_address_with_other_letters_arrives_too(room: MailRoom) -> None:
    letter = Letter("zoë@school.example", "Grüße", "Blätter: ä\n")
    await Smtp(server_of(room.url), SENDER).send(letter)
    await Smtp(server_of(room.url), SENDER).send(Letter("ada@school.example", "Grüße", "Blätter: ä\n"))
    (_, plain) = room.letters.pop()
    assert plain.get_content() == "Blätter: ä\r\n"
    ((recipient, message),) = room.letters
    assert (recipient, message["To"], message["Subject"]) == ("zoë@school.example", "zoë@school.example", "Grüße")
    assert message.get_content() == "Blätter: ä\r\n"


async def test_starttls_is_kept_to_where_it_was_asked_for(room: MailRoom) -> None:
    """Against a server that offers none, so that nobody on the way can take it out."""
    with pytest.raises(MailFailed):
        await Smtp(server_of(room.url + "?starttls"), SENDER).send(LETTER)
    assert room.said == []


@pytest.mark.parametrize(("answer", "kind"), [("550 no such user", AddressRefused), ("450 later", MailFailed)])
async def test_a_refused_recipient_is_told_from_a_server_that_is_busy(
    room: MailRoom, answer: str, kind: type[Exception]
) -> None:
    room.refuse = answer
    with pytest.raises(kind) as refusal:
        await Smtp(server_of(room.url), SENDER).send(LETTER)
    assert type(refusal.value) is kind


async def test_a_server_that_is_silent_is_given_up_and_holds_up_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """C17: a view that waits for a mail server holds a thread that polls need."""
    monkeypatch.setattr(mail, "_SECONDS", 0.8)
    monkeypatch.setattr(mail, "PATIENCE", 0.2)
    connected = asyncio.Semaphore(0)
    gone = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.release()
        await gone.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    smtp = Smtp(Server("127.0.0.1", server.sockets[0].getsockname()[1], "none"), SENDER)
    waiting = [asyncio.create_task(smtp.send(LETTER)) for _ in range(UNDER_WAY)]
    for _ in waiting:
        await connected.acquire()
    with pytest.raises(MailFailed):
        await smtp.send(LETTER)
    assert not any(task.done() for task in waiting), "those that came too late were given up first"
    assert all(isinstance(failure, MailFailed) for failure in await asyncio.gather(*waiting, return_exceptions=True))
    gone.set()
    server.close()
    with pytest.raises(MailFailed):
        await smtp.send(LETTER)


async def test_a_class_that_comes_in_at_once_gets_all_its_letters(room: MailRoom) -> None:
    smtp = Smtp(server_of(room.url), SENDER)
    await asyncio.gather(*(smtp.send(LETTER) for _ in range(5 * UNDER_WAY)))
    assert len(room.letters) == 5 * UNDER_WAY
