"""Data sets by their names: those that are bundled or fetched."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from priorscope.data._dataset import Dataset
from priorscope.data.published._digits import digits
from priorscope.data.published._published import cifar10, fashion_mnist, mnist

__all__ = ["KNOWN_NAMES", "closest_name", "is_known_name", "named"]

_LOADERS: dict[str, Callable[..., Dataset]] = {
    "digits": digits,
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "cifar10": cifar10,
}
KNOWN_NAMES = tuple(_LOADERS)


def is_known_name(text: object) -> bool:
    """Whether a text names a data set; underscores and capitals do not matter.

    Example:
        >>> is_known_name("digits"), is_known_name("Fashion_MNIST"), is_known_name("table.csv")
        (True, True, False)
    """
    return isinstance(text, str) and _plain(text) in _LOADERS


def named(text: str, classes: str | None = None) -> Dataset:
    """The data set of this name with a label scheme.

    Example:
        >>> named("digits", "parity").n_outputs
        1
    """
    return _LOADERS[_plain(text)](classes=classes or "classes")


def closest_name(text: str) -> str | None:
    """The known name that this text may be a misspelling of.

    Example:
        >>> closest_name("digit"), closest_name("table.csv")
        ('digits', None)
    """
    found = difflib.get_close_matches(_plain(text), KNOWN_NAMES, n=1)
    return found[0] if found else None


def _plain(text: str) -> str:
    return text.strip().lower().replace("_", "-")
