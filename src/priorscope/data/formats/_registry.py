"""The formats that ``load`` asks, in order: those registered last come first."""

from __future__ import annotations

from pathlib import Path

from priorscope.data.formats._cifar_binary import CIFAR_BINARY
from priorscope.data.formats._csv import TABLE
from priorscope.data.formats._format import Format
from priorscope.data.formats._idx import IDX
from priorscope.data.formats._image_folder import IMAGE_FOLDER
from priorscope.data.formats._npy import NPY
from priorscope.data.formats._npy_folder import NPY_FOLDER
from priorscope.data.formats._npz import NPZ

__all__ = ["known_formats", "register_format"]

_FORMATS: list[Format] = [NPZ, NPY, TABLE, IDX, CIFAR_BINARY, NPY_FOLDER, IMAGE_FOLDER]


def known_formats() -> tuple[Format, ...]:
    """All formats that ``load`` reads, in the order in which they are asked.

    Example:
        >>> [f.name for f in known_formats()]
        ['npz', 'npy', 'table', 'idx', 'CIFAR-10 binary', 'npy folder', 'image folder']
    """
    return tuple(_FORMATS)


def register_format(new: Format, *, replace: bool = False) -> None:
    """Let ``load`` (and every command that takes a file) read a format of your own; it is asked before the others.

    A name that is taken is refused unless ``replace`` is True, which puts the new format in the place of the old one.

    Example:
        >>> import json, tempfile
        >>> from priorscope.data import Contents, Format, load, register_format
        >>> def read(path, options):
        ...     rows = [json.loads(line) for line in path.read_text().splitlines()]
        ...     target = options.target or "y"
        ...     return Contents([[r["a"], r["b"]] for r in rows], [r[target] for r in rows], notes=(f"target: {target}",))
        >>> register_format(Format("json lines", ".jsonl with a, b and y", read, suffixes=(".jsonl",)), replace=True)
        >>> file = Path(tempfile.mkdtemp()) / "few.jsonl"
        >>> _ = file.write_text('{"a": 1, "b": 2, "y": 0.5}\\n{"a": 3, "b": 4, "y": 1.5}\\n')
        >>> load(file, test_fraction=0).notes
        ('target: y',)
        >>> forget_format("json lines")
    """
    names = [f.name for f in _FORMATS]
    if new.name not in names:
        _FORMATS.insert(0, new)
    elif replace:
        _FORMATS[names.index(new.name)] = new
    else:
        raise ValueError(f"a format named {new.name!r} is there already; choose another name or pass replace=True.")


def forget_format(name: str) -> None:
    """Take a format out again; what was never there raises."""
    names = [f.name for f in _FORMATS]
    if name not in names:
        raise ValueError(f"no format named {name!r}; there are {', '.join(names)}.")
    del _FORMATS[names.index(name)]


def find_format(path: Path) -> Format:
    """The first format that owns ``path``; a clear error when none does."""
    for one in _FORMATS:
        if one.owns(path):
            return one
    raise ValueError(f"{path.name} has no layout that is known here; load reads {formats_in_words()}.")


def formats_in_words() -> str:
    """What is read, in words."""
    return "; ".join(f.reads for f in _FORMATS)
