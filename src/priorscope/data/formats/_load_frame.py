"""A table as a pandas frame with typed columns: for whoever needs the columns by name, now and for later rows."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from priorscope.data.formats._format import ReadOptions
from priorscope.data.formats._registry import find_format
from priorscope.data.tables._frame import Frame
from priorscope.data.tables._table import find_target

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_frame"]


def load_frame(
    path: str | Path,
    *,
    target: str | None = None,
    words: Collection[str] = (),
    keep: Collection[str] = (),
    decimal: Literal[".", ","] | None = None,
    header: bool | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The columns of a file of any format that names them, before words are coded and gaps filled in; and notes.

    Whole numbers are integers where none is missing, other numbers floats, everything else words (None for gaps). Columns
    named in ``words`` stay words whatever they hold. Columns that number the rows are left out unless ``keep`` names them, and
    so are rows that hold nothing but the ``target`` where it is given. A format without names of columns is refused.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = file.write_text("id;size;kind\\n1;1,5;a\\n2;2,5;b\\n3;;a\\n")
        >>> frame, notes = load_frame(file)
        >>> frame.to_dict("list")
        {'size': [1.5, 2.5, nan], 'kind': ['a', 'b', 'a']}
        >>> notes[-1]
        "column 'id' numbers the rows and is left out (keep=['id'] keeps it)"
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"no file {path}.")
    options = ReadOptions(target, decimal=decimal, header=header, words=frozenset(words))
    found = find_format(path).read(path, options)
    frame = found if isinstance(found, Frame) else found.frame(target or "y")
    if frame is None:
        raise ValueError(f"{path.name} holds arrays without names of columns; use load, or name the columns.")
    if target is not None:
        target = frame.names[find_target(frame.names, target, path.name)]
    samples = frame.samples(target, keep)
    notes = samples.notes if isinstance(found, Frame) else (*found.notes, *samples.notes)
    return samples.pandas(), (*notes, *samples.apart)
