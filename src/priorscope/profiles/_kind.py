"""The kinds of predictors that a profile compares."""

from __future__ import annotations

from enum import Enum

__all__ = ["Kind"]


class Kind(Enum):
    """A kind of predictor.

    Example:
        >>> Kind.KERNEL.value, Kind.KERNEL.plural
        ('kernel machine', 'kernel machines')
    """

    KERNEL = "kernel machine"
    NETWORK = "network"
    CLASSICAL = "classical model"
    AVERAGE = "average"
    ESTIMATOR = "your model"

    @property
    def plural(self) -> str:
        """Several of them."""
        return f"{self.value}s"
