"""What can be seen of a text that people wrote, and what would turn the text around it.

Source of the characters: the Unicode Bidirectional Algorithm (UAX 9), section 2.
"""

from __future__ import annotations

import unicodedata

MARKS = frozenset("\u061c\u200e\u200f")
"""They say which way the letters beside them run; people who write from right to left need them."""
EMBEDDINGS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They turn whatever follows them, beyond the text that they stand in. Windows puts them before paths it copies."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs by their category, and empty to the eye."""

_EMPTY = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def is_blank(text: str) -> bool:
    """There is nothing to see: no text at all, or spaces and characters of no width alone."""
    return all(c in _BLANK_LETTERS or unicodedata.category(c) in _EMPTY for c in text)


def without_embeddings(text: str) -> str:
    """The text without what would turn its surroundings."""
    return "".join(c for c in text if c not in EMBEDDINGS)
