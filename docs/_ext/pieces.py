"""Pieces of Markdown that the lists are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BLANK = re.compile(r"\{(\w+)\}")


def code(text: str) -> str:
    """Text in code style, as it stands; nothing for nothing."""
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """Text from a docstring in one line, with what Markdown would take for its own made harmless."""
    line = " ".join(text.split())
    for character in "\\<>*_[]":
        line = line.replace(character, f"\\{character}")
    return line


def spoken(sentence: str) -> str:
    """A message with its blanks shown as such: `{name} is editing` becomes *name* is editing."""
    told = ""
    for n, part in enumerate(_BLANK.split(sentence)):
        if n % 2:  # a blank may bring the space before it along
            told += (" " if told[-1:].isalnum() or told[-1:] == "*" else "") + f"*{part.replace('_', ' ')}*"
        else:
            told += plain(f"|{part}|")[1:-1]
    return told


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown already. Bars inside cells are escaped, line breaks become spaces."""
    lines = [_row(head), _row(["---"] * len(head))]
    return "\n".join([*lines, *map(_row, rows)]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
