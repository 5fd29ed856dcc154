"""Checks of settings that several layers share."""

from __future__ import annotations

from math import isfinite

__all__ = ["PADDINGS", "check_padding", "check_positive", "check_variances"]

PADDINGS = ("circular", "zeros", "valid")


def check_variances(who: str, weight_variance: float, bias_variance: float) -> None:
    """Variances are finite and not negative."""
    for name, value in (("weight_variance", weight_variance), ("bias_variance", bias_variance)):
        if not (isfinite(value) and value >= 0):
            raise ValueError(
                f"{who} needs a finite {name} >= 0; got {value!r}. Pass a variance, not a standard deviation."
            )


def check_padding(who: str, padding: str) -> None:
    """Padding is one of the three known."""
    if padding not in PADDINGS:
        raise ValueError(f"{who} needs padding in {', '.join(PADDINGS)}; got {padding!r}.")


def check_positive(who: str, name: str, value: int | None) -> None:
    """A size is a positive whole number."""
    if not (isinstance(value, int) and value >= 1):
        raise ValueError(f"{who} needs a whole number {name} >= 1; got {value!r}.")
