"""The few predictors that a reader wants to see side by side: the pick, the best of each other kind, and the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.profiles._kind import Kind
from priorscope.report import PALETTE

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["Shown", "others", "shown"]

_MOST = 7
_WORDS = {
    Kind.KERNEL: "best kernel machine",
    Kind.NETWORK: "best network",
    Kind.CLASSICAL: "best classical model",
    Kind.AVERAGE: "best average",
    Kind.ESTIMATOR: "your model",
}


@dataclass(frozen=True)
class Shown:
    """A row with its colour on the page and its part in words."""

    row: Row
    colour: str
    role: str


def shown(result: Profile) -> list[Shown]:
    """The first row, the user's own and the best of each other kind, in the order of the table."""
    best = result.best
    roles = {best.name: f"use this {best.kind.value}" if result.learns else "first of the table"}
    for row in result.rows:
        if row.offered:
            roles.setdefault(row.name, "your model")
    for kind in Kind:
        leading = result.best_of(kind)
        if leading is not None and not (kind is Kind.AVERAGE and len(roles) >= 4):
            roles.setdefault(leading.name, _WORDS[kind])
    names = [row for row in result.rows if row.name in list(roles)[:_MOST]]
    if best.offered:
        roles[best.name] = "use this, your model"
    return [Shown(row, colour, roles[row.name]) for row, colour in zip(names, PALETTE, strict=False)]


def others(result: Profile) -> list[Row]:
    """All other rows."""
    names = {one.row.name for one in shown(result)}
    return [row for row in result.rows if row.name not in names]
