"""What to be careful about in a forecast: the kind is state, the words are for the reader."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Caution", "CautionKind"]


class CautionKind(Enum):
    """Why a forecast should be taken with care; the value says it in few words.

    Example:
        >>> CautionKind.SMALL_PILOT.value
        'the pilot is small'
    """

    DISAGREE = "the estimators disagree"
    SMALL_PILOT = "the pilot is small"
    NO_FALL = "the error on the pilot does not fall with more samples"
    NOTHING_LEARNT = "the kernel barely beats predicting zero on the pilot"
    TOO_FAR = "the size asked for is far beyond the pilot"
    JITTER = "the kernel matrix was nearly singular"


@dataclass(frozen=True)
class Caution:
    """One thing to be careful about, with its figures.

    Example:
        >>> str(Caution(CautionKind.SMALL_PILOT, "the pilot has only 12 samples"))
        'the pilot has only 12 samples'
    """

    kind: CautionKind
    words: str

    def __str__(self) -> str:
        return self.words
