"""E-mail addresses and people's names: one form for every way of typing them, and nothing else in it."""

from __future__ import annotations

import re
import unicodedata

from service.domain.errors import InvalidParameter
from service.domain.visible import EMBEDDINGS, MARKS, is_blank

MAX_NAME = 100
_LONGEST, _LONGEST_LOCAL = 254, 64
_ATOM = r"[^\s<>()\[\]\\,;:\"@.]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*\Z")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")
_TURNS = MARKS | EMBEDDINGS
"""Characters that turn the direction of what follows them, so that it reads as something else."""
_LONGEST_TYPED = 4 * _LONGEST
"""More is no address in any way of typing one, and would take the machine a second to read."""


def normal_email(email: str, parameter: str = "email") -> str:
    """One form for every way of typing an address: trimmed, NFKC, lower case, the domain in ASCII.

    What it returns holds no space, control character, quote, bracket or comma, so it cannot be anything but one address
    wherever it is put. Raises InvalidParameter (of `parameter`) for what is no address.
    """
    if len(email) > _LONGEST_TYPED:
        raise InvalidParameter(parameter, "is not an e-mail address")
    clean = unicodedata.normalize("NFKC", email).strip().lower()
    local, _, domain = clean.rpartition("@")
    try:
        domain = domain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        domain = ""
    plain = all(_visible(c) and unicodedata.category(c) != "Cf" for c in clean)
    short = len(local) <= _LONGEST_LOCAL and len(local) + 1 + len(domain) <= _LONGEST
    if not (plain and short and _LOCAL.fullmatch(local) and _DOMAIN.fullmatch(domain)):
        raise InvalidParameter(parameter, "is not an e-mail address")
    return f"{local}@{domain}"


def named_address(text: str) -> tuple[str, str]:
    """(name, address) of `Ada Green <ada@example.org>`; the name is empty where there is none. Neither is checked."""
    name, opened, rest = text.partition("<")
    email, closed, after = rest.partition(">")
    # By hand, since the obvious pattern takes hours for a line of spaces.
    if not (opened and closed) or after.strip() or ">" in name or "<" in email:
        return "", text
    return name.strip().strip('"'), email


def checked_name(name: str, email: str, parameter: str = "name") -> str:
    """A person's name, trimmed, in one line; the address's first part where there is none to be seen.

    Raises InvalidParameter.
    """
    clean = unicodedata.normalize("NFC", name).strip()
    if not all(_visible(c) for c in clean):
        raise InvalidParameter(parameter, "must not hold control characters")
    if len(clean) > MAX_NAME:
        raise InvalidParameter(parameter, f"must have at most {MAX_NAME} characters")
    return email.partition("@")[0] if is_blank(clean) else clean


def _visible(character: str) -> bool:
    return character not in _TURNS and unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
