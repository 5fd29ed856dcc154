"""Whole numbers as words."""

from __future__ import annotations

import re

__all__: list[str] = []

_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")


def whole_number(word: str) -> bool:
    """Whether the word is an integer in digits.

    Example:
        >>> whole_number(" -12 "), whole_number("1.0"), whole_number("one")
        (True, False, False)
    """
    return _WHOLE.fullmatch(word.strip()) is not None
