"""What the service writes to people, and the one way by which it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Letter:
    """One mail to one normal address. `text` is for people; nothing that a stranger typed belongs into it."""

    to: str
    subject: str
    text: str


class Mailer(Protocol):
    """Where letters go. Which one it is, the settings say."""

    async def send(self, letter: Letter) -> None:
        """Returns when the letter has been taken over. Raises MailFailed, AddressRefused."""

    async def rehearse(self, letter: Letter) -> None:
        """Everything that sending takes, as nearly as can be, and no letter: for an address that nobody has.

        Raises MailFailed where `send` would.
        """


def sign_in_letter(to: str, link: str, minutes: int, courses: tuple[str, ...] = ()) -> Letter:
    """The mail with a sign-in link. Holds no name, since whoever asks for it may not be the one who reads it."""
    welcome = f"you are registered for {' and '.join(courses)}.\n\n" if courses else ""
    return Letter(
        to,
        "Your sign-in link for tiptrace",
        f"""Hello,

{welcome}This link signs you in:

{link}

It works once, within {minutes} minutes. If you did not ask for it, leave it alone: nothing happens by itself.
""",
    )
