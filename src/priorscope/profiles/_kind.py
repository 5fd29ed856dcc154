"""What kind of predictor a row of the profile is."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Kind"]


class Kind(StrEnum):
    """The kinds of predictors that a profile compares; the value is the word in tables.

    Example:
        >>> Kind.KERNEL.value, Kind("network") is Kind.NETWORK
        ('kernel machine', True)
    """

    KERNEL = "kernel machine"  # kernel regression with the infinite-width kernel of an architecture, ridge tuned
    NETWORK = "network"  # a finite network, ours or the user's, trained until it stops improving
    CLASSICAL = "classical model"  # a reference of scikit-learn
    ESTIMATOR = "your estimator"  # an estimator of scikit-learn that the user gave

    @property
    def plural(self) -> str:
        """The word for several."""
        return f"{self.value}s"
