"""What a format is: which paths it knows by their names or contents, and how it reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from priorscope.data.arrays._layout import Layout
from priorscope.data.arrays._missing import Missing
from priorscope.data.arrays._plain import Values, is_frame, plain_array
from priorscope.data.tables._frame import Frame

__all__ = ["Contents", "Format", "ReadOptions"]

Pair: TypeAlias = tuple[Values, Values]


@dataclass(frozen=True)
class ReadOptions:
    """What the caller of ``load`` said on reading; a format uses what concerns it.

    ``target`` names the target column or array, ``size`` and ``channels`` are for pictures (``size`` a side, (height,
    width), or "common" for the median), ``decimal`` and ``header`` for tables (None: found out), ``words`` the columns that
    are words whatever they hold.

    Example:
        >>> ReadOptions(target="price").size is None
        True
    """

    target: str | int | None = None
    size: int | tuple[int, int] | Literal["common"] | None = None
    channels: int | None = None
    decimal: Literal[".", ","] | None = None
    header: bool | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Contents:
    """What was read: inputs and targets as ``from_arrays`` takes them (None: rows to predict), a test part, and notes.

    ``layout`` is given where the format fixes it, ``missing`` says whether gaps are refused or filled in. A reader of tables
    returns a :class:`Frame` with all columns instead; one that returns contents names the inputs in ``columns``, so that
    whoever reads rows for a fitted model finds them by name.

    Example:
        >>> Contents([[0.0], [1.0]], ["a", "b"]).test is None
        True
    """

    x: Values
    y: Values | None
    test: Pair | None = None
    layout: Layout | None = None
    missing: Missing = "refuse"
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # names of the inputs, where they are columns of a table

    def frame(self, target: str) -> Frame | None:
        """Inputs and targets with the names of their columns; None where the inputs have no names.

        Example:
            >>> Contents([[0.0, 2.0], [1.0, 3.0]], ["a", "b"], columns=("size", "weight")).frame("kind").names
            ('size', 'weight', 'kind')
        """
        import pandas as pd

        if is_frame(self.x):
            table = self.x
        elif self.columns:
            table = pd.DataFrame(plain_array(self.x, "inputs"), columns=list(self.columns))
        else:
            return None
        return Frame.of(table if self.y is None else table.assign(**{target: plain_array(self.y, "targets")}))


def _never(path: Path) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A file layout: its ``name``, what it ``reads`` in words, how to ``read`` a path, and which paths are its own.

    ``read`` returns a :class:`Frame` with all columns of a table, or :class:`Contents`.

    A file is its own when the last suffix (in lower case, before ``.gz``) is among ``suffixes``, or when ``knows`` says so
    by name or contents; a folder only when ``knows`` says so.

    Example:
        >>> lines = Format("lines", "one sample per line", lambda path, options: Contents([], []), suffixes=(".lines",))
        >>> lines.owns(Path("a.lines.gz")), lines.owns(Path("a.txt"))
        (True, False)
    """

    name: str
    reads: str
    read: Callable[[Path, ReadOptions], Contents | Frame]
    suffixes: tuple[str, ...] = ()
    knows: Callable[[Path], bool] = _never

    def owns(self, path: Path) -> bool:
        """Whether this format reads ``path``."""
        suffixes = [s.lower() for s in path.suffixes]
        if suffixes and suffixes[-1] == ".gz":
            suffixes.pop()
        by_name = bool(suffixes) and suffixes[-1] in self.suffixes and not path.is_dir()
        return by_name or self.knows(path)
