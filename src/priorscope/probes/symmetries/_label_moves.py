"""Which single moves of the input the labels seem to share, by the data alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.contracts import guarded
from priorscope.data.groups import Move, moves_of
from priorscope.probes.symmetries._neighbours import Shared, agreement_by_chance, neighbour_agreement, shared_by

if TYPE_CHECKING:
    import altair as alt

__all__ = ["LabelMove", "LabelMoves", "label_moves"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelMove:
    """Evidence that a move of the inputs leaves labels as they are.

    ``agreement``: of moved samples, the share whose nearest other sample has the same label (in regression: the correlation
    with the neighbour's target); ``baseline``: the same without the move; ``chance``: what a random neighbour would give.
    ``gain``: kernel-target alignment of the kernel averaged over the move, relative to the plain kernel. ``error``: standard
    error of an agreement, from the number of samples.

    Example:
        >>> LabelMove(Move.MIRROR, agreement=0.6, baseline=0.9, chance=0.1, gain=0.9).shared.value
        'partly'
    """

    move: Move
    agreement: float
    baseline: float
    chance: float
    gain: float
    error: float = 0.0

    @property
    def shared(self) -> Shared:
        """Whether labels stay as they are: the rule of :func:`shared_by`."""
        return shared_by(self.agreement, self.baseline, self.chance, self.error, self.gain)

    @property
    def verdict(self) -> str:
        """The word for it."""
        return self.shared.value


@dataclass(frozen=True)
class LabelMoves:
    """One :class:`LabelMove` per move.

    Example:
        >>> found = LabelMoves((LabelMove(Move.MIRROR, agreement=0.9, baseline=0.9, chance=0.5, gain=1.1),))
        >>> [str(move) for move in found.shared]
        ['mirror']
    """

    found: tuple[LabelMove, ...]

    @property
    def shared(self) -> tuple[Move, ...]:
        """The moves that leave labels as they are."""
        return tuple(one.move for one in self.found if one.shared is Shared.YES)

    def table(self) -> pd.DataFrame:
        """One row per move."""
        return pd.DataFrame([{**vars(one), "move": str(one.move), "shared": one.verdict} for one in self.found])

    def chart(self) -> alt.TopLevelMixin:
        """Agreement by move as bars, with that of unmoved samples as a dashed line."""
        import altair as alt

        table = self.table()
        y = alt.Y("move:N", sort=table.move.tolist(), title=None)
        x = alt.X("agreement:Q", title="nearest neighbour has the same label")
        bars = alt.Chart(table).mark_bar().encode(x, y, alt.Color("shared:N", title="labels share it"))
        unmoved = alt.Chart(table[:1]).mark_rule(strokeDash=[4, 3]).encode(x="baseline:Q")
        chart: alt.TopLevelMixin = bars + unmoved
        return chart


def _alignment(gram: Array, targets: Array) -> float:
    """Centred kernel-target alignment, Cortes, Mohri & Rostamizadeh (2012), of any number of targets."""
    centre = np.eye(len(gram)) - 1 / len(gram)
    K, Y = centre @ gram @ centre, centre @ targets
    return float(((Y.T @ K) * Y.T).sum() / (np.linalg.norm(K) * np.linalg.norm(Y.T @ Y) + 1e-300))


@guarded()
def label_moves(
    inputs: Tensor,
    targets: Tensor | Array,
    labels: Tensor | NDArray[np.int64] | None = None,
    *,
    moves: Iterable[Move] | None = None,
) -> LabelMoves:
    """Try every move that fits the inputs, or those of ``moves``: labels of moved neighbours, and the gain in alignment.

    ``targets`` (n, outputs); without ``labels`` (class numbers) it is a regression. The kernel is Laplace's with the median
    distance as its scale, averaged over nothing and one move. The measure is ours.

    Example:
        >>> import priorscope as ps
        >>> digits = ps.data.digits().subset(300, seed=0)
        >>> found = label_moves(digits.inputs, digits.targets, digits.train_labels, moves=[Move.MIRROR, Move.SHIFT])
        >>> [(str(one.move), one.shared.value) for one in found.found]
        [('mirror', 'no'), ('shift by 1', 'partly')]
    """
    flat, Y = inputs.flatten(1).double(), torch.as_tensor(targets).double()
    distance = torch.cdist(flat, flat)
    scale = max(float(distance.median()), 1e-12)
    base, answers = np.exp(-distance.numpy() / scale), Y.numpy()
    plain = _alignment(base, answers)
    numbers = None if labels is None else torch.as_tensor(labels)
    baseline = neighbour_agreement(inputs, inputs, Y, numbers)
    chance, error = agreement_by_chance(numbers, len(flat))
    found = []
    for move in moves_of(tuple(inputs.shape[1:])) if moves is None else moves:
        moved = move(inputs)
        K = np.exp(-torch.cdist(flat, moved.flatten(1).double()).numpy() / scale)
        gain = _alignment(0.5 * base + 0.25 * (K + K.T), answers) / plain if plain > 0 else 1.0
        agreement = neighbour_agreement(inputs, moved, Y, numbers)
        found.append(LabelMove(move, agreement, baseline, chance, gain, error))
    return LabelMoves(tuple(found))
