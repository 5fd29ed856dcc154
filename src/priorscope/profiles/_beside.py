"""What else is measured, beside the errors: architectures, symmetries, sections. Each may fail alone, in one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priorscope.probes import LabelMove
    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._progress import Progress
    from priorscope.profiles._result import Profile
    from priorscope.profiles.sections import Finding

__all__ = ["Beside", "beside"]


@dataclass
class Beside:
    """Architectures, symmetries of the labels, findings by section, and notes on what could not be measured."""

    candidates: tuple[ArchitectureProfile, ...] = ()
    symmetries: tuple[LabelMove, ...] = ()
    findings: dict[str, Finding] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def beside(result: Profile, seconds: float, steps: Progress) -> Beside:
    return Beside()
