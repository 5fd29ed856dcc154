"""The leading architecture averaged over the moves that leave the labels as they are: more contenders for the race."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from priorscope.contracts import is_kernel_model
from priorscope.data.groups import Move, moves_of
from priorscope.models import Invariant
from priorscope.probes import LabelMove, Shared, label_moves
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._contender import Contender
from priorscope.profiles._defaults import kernel_contender
from priorscope.profiles._kind import Kind

if TYPE_CHECKING:
    from priorscope.profiles._race import Race

__all__ = ["invariants", "shared_groups"]

_PLANE = (  # the largest group whose generators all keep the labels comes first
    ("p4m", ({Move.QUARTER_TURN, Move.MIRROR}, {Move.QUARTER_TURN, Move.UPSIDE_DOWN})),
    ("p4", ({Move.QUARTER_TURN},)),
    ("flips", ({Move.MIRROR, Move.UPSIDE_DOWN},)),
    ("mirror", ({Move.MIRROR}, {Move.REVERSAL})),
)
_ORDERS = {"p4m": 8, "p4": 4, "flips": 4, "mirror": 2, "sign": 2}  # how many times longer the kernel takes
_ASKED = {Move.QUARTER_TURN, Move.MIRROR, Move.UPSIDE_DOWN, Move.REVERSAL, Move.SIGN_FLIP}
_MOST = 300  # rows, of which the labels are asked
_SHARE = 0.1  # of the budget, that one fit to all rows may take


def shared_groups(found: Sequence[LabelMove]) -> list[str]:
    """Names of the groups all of whose moves leave the labels as they are: at most one of the grid, and the sign.

    Shifts are left out: a shift by one pixel that keeps labels says nothing of all cyclic ones, and ``gap`` has those.

    Example:
        >>> kept = LabelMove(Move.MIRROR, agreement=0.9, baseline=0.9, chance=0.5, gain=1.1)
        >>> lost = LabelMove(Move.SIGN_FLIP, agreement=0.5, baseline=0.9, chance=0.5, gain=0.9)
        >>> shared_groups([kept, lost])
        ['mirror']
    """
    kept = {s.move for s in found if s.shared is Shared.YES}
    plane = next((name for name, choices in _PLANE if any(moves <= kept for moves in choices)), None)
    return ([] if plane is None else [plane]) + (["sign"] if Move.SIGN_FLIP in kept else [])


def _label_moves(race: Race) -> Sequence[LabelMove]:
    """Which moves labels share, by a stratified sample of the rows."""
    problem = race.problem
    index = np.arange(problem.n)
    if problem.n > _MOST:
        index = problem.structure.growing(index, _MOST, race.seed)
    part = problem.data.take(torch.as_tensor(index))
    labels = problem.y[index] if problem.n_classes else None
    moves = [move for move in moves_of(problem.shape) if move in _ASKED]
    return label_moves(part.standardised().inputs, part.targets, labels, moves=moves).found


def invariants(race: Race) -> list[Contender]:
    """The leading architecture averaged over each group that the labels share, unless that takes too long."""
    best: Candidate | None = None
    for name in race.standings().order:
        contender = race.records[name].contender
        if contender.kind is Kind.KERNEL and contender.candidate is not None and contender.candidate.options:
            best, cost = contender.candidate, race.records[name].cost(race.ladder.top, race.ladder)
            break
    if best is None or not is_kernel_model(best.model):
        return []
    found = []
    for group in shared_groups(_label_moves(race)):
        if _ORDERS[group] * cost > _SHARE * race.seconds:
            continue
        model = Invariant(best.model, group)
        words = f"{best.words}; averaged over {model.words}, which labels share"
        code = f"ps.models.invariant({_call(best)}, {group!r})"
        made = Candidate(f"{best.name}/{group}", model, best.family, words, {**best.options, "group": group}, code)
        family = "averaged" if race.problem.positions else best.family  # the group moves images, not flat rows
        found.append(replace(kernel_contender(replace(made, family=family), race.problem), candidate=made))
    return found


def _call(candidate: Candidate) -> str:
    """The call that makes an architecture of the tables."""
    return (
        candidate.code
        or f"ps.models.{candidate.family}({', '.join(f'{k}={v!r}' for k, v in candidate.options.items())})"
    )
