"""How much of a pixel-pixel covariance the layers above will use."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Need"]


class Need(IntEnum):
    """NONE: there are no pixels; DIAGONAL: d numbers per pair of inputs; FULL: all d² pixel pairs.

    Example:
        >>> Need.NONE < Need.DIAGONAL < Need.FULL
        True
    """

    NONE = 0
    DIAGONAL = 1
    FULL = 2
