"""Whether labels survive a move, by the nearest other sample of every moved one."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

__all__ = ["Shared", "agreement_by_chance", "neighbour_agreement", "shared_by"]


class Shared(StrEnum):
    """Whether labels stay as they are under a move; the value is the word in tables.

    Example:
        >>> Shared("cannot tell") is Shared.UNKNOWN
        True
    """

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    UNKNOWN = "cannot tell"


def neighbour_agreement(inputs: Tensor, moved: Tensor, targets: Tensor, labels: Tensor | None) -> float:
    """How often the nearest input to each moved one, never its own, has its label; a correlation of targets without labels.

    Example:
        >>> x = torch.tensor([[0.0], [0.1], [1.0], [1.1]])
        >>> neighbour_agreement(x, x + 1, x, torch.tensor([0, 0, 1, 1]))
        0.5
    """
    distance = torch.cdist(moved.flatten(1).double(), inputs.flatten(1).double())
    distance.fill_diagonal_(float("inf"))
    other = distance.argmin(1)
    if labels is not None:
        return float((labels == labels[other]).double().mean())
    a, b = targets.double().flatten().numpy(), targets[other].double().flatten().numpy()
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0


def agreement_by_chance(labels: Tensor | None, n: int) -> tuple[float, float]:
    """What a random neighbour would give, and the standard error of an agreement at chance, by the binomial law.

    Example:
        >>> agreement_by_chance(torch.tensor([0, 1, 0, 1]), 4)
        (0.5, 0.25)
    """
    if labels is None:
        return 0.0, n**-0.5  # of a correlation near zero
    chance = float((torch.bincount(labels).double() / len(labels)).square().sum())
    return chance, n**-0.5 * (chance * (1 - chance)) ** 0.5


def shared_by(agreement: float, baseline: float, chance: float, error: float, gain: float = 1.0) -> Shared:
    """Yes where moved neighbours agree nearly as often as unmoved ones, no where they fall to half or less.

    Nothing can be told where unmoved neighbours hardly agree more often than by chance (3 standard errors). Three quarters are
    enough where a kernel averaged over the move gains alignment. The bounds are ours.

    Example:
        >>> shared_by(0.88, 0.9, 0.1, 0.01).value, shared_by(0.3, 0.9, 0.1, 0.01).value, shared_by(0.5, 0.5, 0.5, 0.01).value
        ('yes', 'no', 'cannot tell')
    """
    kept = (agreement - chance) / max(baseline - chance, 1e-9)
    if baseline - chance < max(0.05, 3 * error):
        return Shared.UNKNOWN
    if kept > 0.9 or (kept > 0.75 and gain > 1.0):
        return Shared.YES
    return Shared.PARTLY if kept > 0.5 else Shared.NO
