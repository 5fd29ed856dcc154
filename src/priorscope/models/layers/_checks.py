"""Checks of settings that several layers share."""

from __future__ import annotations

__all__ = ["PADDINGS", "check_padding"]

PADDINGS = ("circular", "zeros", "valid")


def check_padding(who: str, padding: str) -> None:
    """Padding is one of the three known."""
    if padding not in PADDINGS:
        raise ValueError(f"{who} needs padding in {', '.join(PADDINGS)}; got {padding!r}.")
