"""Budgets in processor seconds, in numbers or in words."""

from __future__ import annotations

import re

__all__ = ["DEFAULT", "seconds_of"]

DEFAULT = 60.0  # processor seconds: what a person waits for
_UNITS = {
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "min": 60.0,
    "m": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
}
_WORDS = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*?)s?\s*")


def seconds_of(budget: float | str | None) -> float:
    """Processor seconds of a budget: a number, or words such as "90 s", "2 min" or "1 hour"; None is the default, a minute.

    Example:
        >>> seconds_of("2 min"), seconds_of("90s"), seconds_of(30), seconds_of(None)
        (120.0, 90.0, 30.0, 60.0)
    """
    if budget is None:
        return DEFAULT
    if isinstance(budget, str):
        found = _WORDS.fullmatch(budget.lower())
        if found is None or found[2] not in _UNITS:
            raise ValueError(f"budget must be processor seconds, or words such as '90 s' or '2 min'; got {budget!r}.")
        seconds = float(found[1]) * _UNITS[found[2]]
    elif isinstance(budget, bool) or not isinstance(budget, int | float):
        raise ValueError(f"budget must be processor seconds, or words such as '90 s' or '2 min'; got {budget!r}.")
    else:
        seconds = float(budget)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"budget must be above zero and finite; got {budget!r}.")
    return seconds
