"""The few predictors that a reader wants to see side by side: the pick, the best of each other kind, and the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.profiles._kind import Kind

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["Contender", "contenders", "others"]

COLOURS = (
    "#2769b7",
    "#fa5d36",
    "#4ba435",
    "#be6df2",
    "#935a11",
)  # the palette's first: 3 to 1 on white and on near-black
_WORDS = {
    Kind.KERNEL: "best kernel machine",
    Kind.NETWORK: "best network",
    Kind.CLASSICAL: "best classical model",
    Kind.ESTIMATOR: "your estimator",
}


@dataclass(frozen=True)
class Contender:
    """A row with its colour on the page and its part in words."""

    row: Row
    colour: str
    role: str


def contenders(result: Profile) -> list[Contender]:
    """The first row, the best of each other kind, and up to two models of the user, in the order of the table."""
    best = result.best
    firsts = [row for kind in Kind if (row := result.best_of(kind)) is not None]
    families = {c.name: c.candidate.family for c in result.candidates}
    own = [row for row in result.rows if families.get(row.architecture or "") == "user"][:2]
    chosen = {row.name for row in (best, *firsts, *own)}
    rows = [row for row in result.rows if row.name in chosen][: len(COLOURS)]
    roles = {row.name: _WORDS[row.kind] for row in firsts}
    roles |= {row.name: "your model" for row in own if row.name not in roles}
    roles[best.name] = f"use this {best.kind.value}" if best.learns else f"lowest, a {best.kind.value}"
    return [Contender(row, colour, roles[row.name]) for row, colour in zip(rows, COLOURS, strict=False)]


def others(result: Profile) -> list[Row]:
    """All other rows."""
    shown = {c.row.name for c in contenders(result)}
    return [row for row in result.rows if row.name not in shown]
