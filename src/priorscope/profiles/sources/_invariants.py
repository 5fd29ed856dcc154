"""Architectures averaged over the moves that leave the labels as they are."""

from __future__ import annotations

from collections.abc import Sequence

from priorscope.contracts import is_kernel_model
from priorscope.data.groups import Move
from priorscope.models import Invariant
from priorscope.probes import LabelMove, Shared
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._scene import Scene
from priorscope.profiles.sources._source import Source

__all__ = ["INVARIANTS", "shared_groups"]

_PLANE = (  # the largest group whose generators all keep the labels comes first
    ("p4m", ({Move.QUARTER_TURN, Move.MIRROR}, {Move.QUARTER_TURN, Move.UPSIDE_DOWN})),
    ("p4", ({Move.QUARTER_TURN},)),
    ("flips", ({Move.MIRROR, Move.UPSIDE_DOWN},)),
    ("mirror", ({Move.MIRROR}, {Move.REVERSAL})),
)


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


def _offer(scene: Scene) -> list[Candidate]:
    """The leading architecture averaged over each group that the labels share and that it does not have already."""
    best = scene.leading
    if best is None or not is_kernel_model(best.candidate.model):
        return []
    plain = best.candidate
    made = []
    for group in shared_groups(scene.symmetries):
        model = Invariant(best.candidate.model, group)
        words = f"{plain.words}; averaged over {model.words}, which labels share"
        made.append(Candidate(f"{plain.name}/{group}", model, plain.family, words, {**plain.options, "group": group}))
    return made


INVARIANTS = Source("invariants", _offer)
