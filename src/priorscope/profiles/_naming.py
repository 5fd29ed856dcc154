"""What predictors are called in sentences: words first, the name of the table behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from priorscope.profiles._kind import Kind
from priorscope.profiles._phrases import listed, number

if TYPE_CHECKING:
    from priorscope.profiles._row import Row

__all__ = ["SHOWN", "called", "several", "short"]

_KERNELS = {
    "fcn": "of dense networks",
    "vec": "of convolutional networks that keep places",
    "lap": "of convolutional networks pooled over windows",
    "gap": "of convolutional networks pooled over all places",
}
_NAME = re.compile(r"(fcn|vec|lap|gap)-(\d+)(?:-(erf|gelu))?( \+ features)?")
SHOWN = 4  # names in a row


def called(row: Row) -> str:
    """A row in a sentence: words first, the name of the table behind them."""
    if row.offered:
        return f"your model {row.name}"
    found = _NAME.fullmatch(row.name)
    if row.kind is Kind.KERNEL and found is not None:
        family, depth, phi, features = found.groups()
        layers = f"{number(int(depth))} layer{'s' * (depth != '1')}"
        more = f", {phi}" * bool(phi) + ", features learnt" * bool(features)
        return f"the kernel machine {_KERNELS[family]}, {layers}{more} ({row.name})"
    if row.kind is Kind.KERNEL:
        return f"the kernel machine {row.name}"
    if row.kind is Kind.NETWORK and row.words:
        return f"the {row.words}" if row.words.startswith(row.name) else f"the {row.name} ({row.words})"
    if row.kind is Kind.NETWORK:
        return f"the network {row.name}"
    return f"the {row.title}" if row.words.endswith("machine") else row.title


def short(row: Row) -> str:
    """The name of a row in a list: the members of an average are joined by pluses."""
    return row.name.replace(", ", " + ").replace(" and ", " + ") if row.kind is Kind.AVERAGE else row.name


def several(rows: Sequence[Row], most: int = SHOWN) -> str:
    """Names of rows, the first few and how many more."""
    names = [short(row) for row in rows[:most]]
    return listed([*names, f"{number(len(rows) - most)} more"] if len(rows) > most else names)
