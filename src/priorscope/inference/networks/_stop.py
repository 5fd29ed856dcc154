"""When training may stop before its budget ends: rules that look at predictions on the training set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import ANY_NUMBER, checked
from priorscope.inference.networks._loss import Loss

__all__ = ["StopRule", "LossBelow", "AllFitted", "as_stop"]


class StopRule(ABC):
    """A rule that says which members have finished, (K,) bool, from their predictions (K, n, outputs).

    Example:
        >>> from priorscope.inference import Squared
        >>> class RightSigns(StopRule):
        ...     def __call__(self, loss, predictions, targets):
        ...         return (predictions * targets > 0).flatten(1).all(1)
        >>> RightSigns()(Squared(), torch.tensor([[[0.1]], [[-0.1]]]), torch.ones(1, 1)).tolist()
        [True, False]
    """

    @abstractmethod
    def __call__(self, loss: Loss, predictions: Tensor, targets: Tensor) -> Tensor:
        """Which members are done."""


@checked(value=ANY_NUMBER)
@dataclass(frozen=True)
class LossBelow(StopRule):
    """Stop when the mean loss (without any 1/alpha² prefactor or weight decay) is below ``value``.

    Example:
        >>> from priorscope.inference import Squared
        >>> LossBelow(0.6)(Squared(), torch.zeros(1, 2, 1), torch.ones(2, 1)).tolist()
        [True]
    """

    value: float

    def __call__(self, loss: Loss, predictions: Tensor, targets: Tensor) -> Tensor:
        return loss(predictions, targets) < self.value


@dataclass(frozen=True)
class AllFitted(StopRule):
    """Stop when every training point is fitted: each margin met (hinge losses), each loss exactly zero (others).

    Example:
        >>> from priorscope.inference import Hinge
        >>> AllFitted()(Hinge(), torch.full((1, 2, 1), 2.0), torch.ones(2, 1)).tolist()
        [True]
    """

    def __call__(self, loss: Loss, predictions: Tensor, targets: Tensor) -> Tensor:
        return loss.satisfied(predictions, targets)


@dataclass(frozen=True)
class _Never(StopRule):
    def __call__(self, loss: Loss, predictions: Tensor, targets: Tensor) -> Tensor:
        return torch.zeros(predictions.shape[0], dtype=torch.bool, device=predictions.device)


def as_stop(stop: StopRule | float | str | None) -> StopRule:
    """A rule from its short form: None (never), a number (loss below it), "fitted" (all points fitted).

    Example:
        >>> as_stop(1e-3)
        LossBelow(value=0.001)
    """
    if stop is None:
        return _Never()
    if isinstance(stop, StopRule):
        return stop
    if stop == "fitted":
        return AllFitted()
    if isinstance(stop, (int, float)):
        return LossBelow(float(stop))
    raise ValueError(f"stop must be None, a loss value, 'fitted' or a StopRule; got {stop!r}.")
