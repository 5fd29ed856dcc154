"""Checks of the parameters of nonlinearities."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real

__all__ = ["check_degree", "check_finite", "check_positive"]

MOST_DEGREES = 100  # E[x^200] = 199!! has 187 digits


def check_finite(who: str, **values: float) -> None:
    """Parameters are finite numbers."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
            raise ValueError(f"{who} needs a finite number {name}; got {value!r}.")


def check_positive(who: str, **values: float) -> None:
    """Parameters are finite and above zero."""
    check_finite(who, **values)
    for name, value in values.items():
        if value <= 0:
            raise ValueError(f"{who} needs {name} > 0; got {value!r}.")


def check_degree(who: str, degree: int) -> None:
    """A degree is a whole number, not negative, and small enough for its moments to be numbers."""
    if isinstance(degree, bool) or not isinstance(degree, Integral) or not 0 <= degree <= MOST_DEGREES:
        raise ValueError(f"{who} needs a whole degree >= 0 and at most {MOST_DEGREES}; got {degree!r}.")
