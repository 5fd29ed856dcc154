"""Sections of a profile: one file each, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Callable

from priorscope.profiles.sections._built_in import BUILT_IN
from priorscope.profiles.sections._deformations import DEFORMATIONS
from priorscope.profiles.sections._equivariance import EQUIVARIANCE, Moved, MovedOutputs
from priorscope.profiles.sections._exponents import EXPONENTS
from priorscope.profiles.sections._features import FEATURES
from priorscope.profiles.sections._labels import LABELS
from priorscope.profiles.sections._section import Finding, Section

__all__ = ["SECTIONS", "Finding", "Moved", "MovedOutputs", "Section", "register_section"]

SECTIONS: dict[str, Section] = {
    section.name: section for section in (FEATURES, BUILT_IN, EQUIVARIANCE, DEFORMATIONS, EXPONENTS, LABELS)
}


def register_section(section: Section) -> Callable[[], None]:
    """Measure this section in every profile from now on; the function that is given back takes it out again.

    Example:
        >>> forget = register_section(Section("silence", lambda scene: None))
        >>> "silence" in SECTIONS, forget(), "silence" in SECTIONS
        (True, None, False)
    """
    if section.name in SECTIONS:
        raise ValueError(f"there is a section named {section.name!r} already; give yours another name.")
    SECTIONS[section.name] = section

    def forget() -> None:
        SECTIONS.pop(section.name, None)

    return forget
