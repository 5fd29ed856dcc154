"""Data named on the command line: a bundled or published set by name, or a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priorscope.data import Dataset

__all__ = ["named_data"]


def named_data(
    text: str,
    *,
    target: str | None = None,
    classes: str | None = None,
    seed: int = 0,
    test_fraction: float = 0.2,
    groups: str | None = None,
    time: str | None = None,
) -> Dataset:
    """``digits``, ``mnist``, ``fashion-mnist``, ``cifar10``, or whatever ``priorscope.data.load`` reads.

    Images of different sizes are brought to their median, with a note. ``test_fraction`` is held out of files without a
    test part. ``groups`` and ``time`` name columns that say which rows belong together and which come first.
    """
    from priorscope.data import as_dataset

    return as_dataset(
        text,
        target=target,
        classes=classes,
        seed=seed,
        test_fraction=test_fraction,
        missing="median",
        groups=groups,
        time=time,
    )
