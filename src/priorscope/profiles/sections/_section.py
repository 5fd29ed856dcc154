"""What more a profile measures: a section has a measurement, sentences, a part of the page and entries in JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from priorscope.checks import POSITIVE, checked
from priorscope.profiles._scene import Scene

if TYPE_CHECKING:
    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["Finding", "Section"]


class Finding(ABC):
    """What a section found: the same numbers in words, in JSON and on the page.

    Example:
        >>> class Nothing(Finding):
        ...     def sentences(self): return ["Nothing was found."]
        ...     def plain(self): return {"found": 0}
        ...     def page(self, figure): return None
        >>> Nothing().warnings(), Nothing().spoken()
        ([], [])
    """

    @abstractmethod
    def sentences(self) -> list[str]:
        """All there is to say, in full sentences; every figure says at which n it was measured."""

    @abstractmethod
    def plain(self) -> dict[str, object]:
        """The numbers in plain lists and dictionaries, for JSON."""

    @abstractmethod
    def page(self, figure: Figures) -> Folded | None:
        """The folded part of the page (None: none); ``figure(name, chart, alt, caption)`` places a chart."""

    def spoken(self) -> list[str]:
        """The sentences that belong in the verdict, if any."""
        return []

    def warnings(self) -> list[str]:
        """What to be careful about, if anything."""
        return []


def _always(scene: Scene) -> bool:
    return True


@checked(work=POSITIVE)
@dataclass(frozen=True)
class Section:
    """A name (the key in JSON and in ``Profile.findings``), what measures it, and about how many seconds that takes.

    ``measure`` gives None where there is nothing to say, and is not asked where ``fits`` says no; an error of it becomes a note,
    and nothing else is lost. ``work`` is for 300 samples: it starts only where that fits into what is left of the budget.

    Example:
        >>> Section("silence", lambda scene: None).work
        1.0
    """

    name: str
    measure: Callable[[Scene], Finding | None] = field(repr=False)
    work: float = 1.0
    fits: Callable[[Scene], bool] = field(default=_always, repr=False)
