"""Data named on the command line: a bundled or published set by name, or a path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priorscope.data import Dataset

__all__ = ["named_data"]

_NAMES = ("digits", "mnist", "fashion-mnist", "cifar10")


def named_data(
    text: str,
    *,
    target: str | None = None,
    classes: str | None = None,
    seed: int = 0,
    test_fraction: float = 0.2,
) -> Dataset:
    """``digits``, ``mnist``, ``fashion-mnist``, ``cifar10``, or whatever ``priorscope.data.load`` reads.

    Images of different sizes are brought to their median, with a note. ``test_fraction`` is held out of files without a
    test part.
    """
    from priorscope import data

    if text in _NAMES:
        if target is not None:
            raise ValueError(
                f"--target names a column of a table; {text} has none. Use --classes parity, for instance."
            )
        loaders: dict[str, Callable[..., Dataset]] = {
            "digits": data.digits,
            "mnist": data.mnist,
            "fashion-mnist": data.fashion_mnist,
            "cifar10": data.cifar10,
        }
        return loaders[text](classes=classes or "classes")
    path = Path(text).expanduser()
    if not path.exists():
        import difflib

        close = difflib.get_close_matches(text, _NAMES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"{text!r} is neither a known data set ({', '.join(_NAMES)}) nor a file or folder.{hint} Files may be "
            f"{'; '.join(f.reads for f in data.known_formats())}."
        )
    return data.load(path, target=target, classes=classes, seed=seed, test_fraction=test_fraction, size="common")
