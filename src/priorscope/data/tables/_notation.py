"""Numbers as people write them: decimal comma, thousands, currency, percent, brackets for a negative amount."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__: list[str] = []

Decimal: TypeAlias = Literal[".", ","]

_SPACES = "   '’"  # a blank, two that do not break, and what the Swiss write
_MONEY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|INR"
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+\-−])?\s*(?P<money>{_MONEY})?\s*(?P<inner>[+\-−])?"
    rf"(?P<body>[0-9.,{_SPACES}]*[0-9.,])(?P<power>[eE][+-]?[0-9]+)?\s*"
    rf"(?P<percent>%)?\s*(?P<after>{_MONEY})?\s*(?P<close>\))?"
)
_BODY: dict[Decimal, re.Pattern[str]] = {
    ".": re.compile(rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:([,{_SPACES}])[0-9]{{3}})(?:\1[0-9]{{3}})*)?(?:\.[0-9]*)?"),
    ",": re.compile(rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:([.{_SPACES}])[0-9]{{3}})(?:\1[0-9]{{3}})*)?(?:,[0-9]*)?"),
}


@dataclass(frozen=True)
class Numeral:
    """A number and the signs it was written with; ``whole`` when it was written without a decimal sign or an exponent."""

    value: float
    whole: bool
    grouped: bool = False
    money: str = ""
    percent: bool = False


def read_numeral(text: str, decimal: Decimal = ".") -> Numeral | None:
    """The number that ``text`` stands for, or None; 5 % is 0.05, (3) is −3.

    Example:
        >>> [read_numeral(t).value for t in ("1,100", "-$5.20", "5%", "(3)", "1 234.5", "2e3")]
        [1100.0, -5.2, 0.05, -3.0, 1234.5, 2000.0]
        >>> read_numeral("1.100,5", ",").value, read_numeral("1,5"), read_numeral("12a")
        (1100.5, None, None)
    """
    match = _CELL.fullmatch(text.strip())
    if match is None or bool(match["open"]) != bool(match["close"]) or (match["sign"] and match["inner"]):
        return None
    if (match["money"] and match["after"]) or (match["open"] and (match["sign"] or match["inner"])):
        return None
    body = match["body"]
    form = _BODY[decimal].fullmatch(body)
    if form is None or not any(c.isdigit() for c in body):
        return None
    point = body.replace(",", "").replace("'", "") if decimal == "." else body.replace(".", "").replace(",", ".")
    digits = re.sub(rf"[{_SPACES}]", "", point)
    value = float(digits + (match["power"] or ""))
    negative = bool(match["open"]) or (match["sign"] or match["inner"] or "+") != "+"
    whole = decimal not in body and not match["power"] and not match["percent"]
    money = match["money"] or match["after"] or ""
    value = value / 100 if match["percent"] else value
    return Numeral(-value if negative else value, whole, form[1] is not None, money, bool(match["percent"]))


def is_numeral(text: str) -> bool:
    """Whether ``text`` is a number in either notation."""
    return read_numeral(text, ".") is not None or read_numeral(text, ",") is not None


def votes(cells: Iterable[str]) -> tuple[int, int, int]:
    """How many cells are numbers only with a decimal point, only with a decimal comma, and both ways with unequal values.

    Example:
        >>> votes(["1.5", "1,5", "1,100", "7", "word"])
        (1, 1, 1)
    """
    point = comma = either = 0
    for cell in cells:
        if "," not in cell and "." not in cell:
            continue
        by_point, by_comma = read_numeral(cell, "."), read_numeral(cell, ",")
        if by_point is not None and by_comma is not None:
            either += by_point.value != by_comma.value
        else:
            point, comma = point + (by_point is not None), comma + (by_comma is not None)
    return point, comma, either
