"""What a trial of networks on the pilot leaves behind: how they were trained, the networks, and their curve."""

from __future__ import annotations

from dataclasses import dataclass, field

from priorscope.profiles._extrapolate import Ahead
from priorscope.profiles._trained import MeasuredNetwork, Plan

__all__ = ["Trial"]


@dataclass(frozen=True)
class Trial:
    """The networks of an architecture, or of the user, that were trained on parts of the pilot: ``row`` is their name there."""

    row: str
    how: Plan
    made: MeasuredNetwork = field(repr=False)
    ahead: Ahead = field(repr=False)
