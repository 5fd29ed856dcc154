"""Gradient flow of linear models given by their kernels, by the integrator of networks, in coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Tensor

from priorscope.inference import Members
from priorscope.inference.networks._flow_integration import Integration

__all__ = ["KernelIntegration"]


class KernelIntegration(Integration):
    r"""Coefficients c of :math:`F = \Theta c` under :math:`\dot c = -\ell'(F)/P`, a row a kernel (K, P, P).

    The weights of the linear model are features times c, so that gradients :math:`g = \ell'/P` have the scalar product
    :math:`g^T\Theta g'` and steps are those the linear model itself would take.
    """

    tables: ClassVar[tuple[str, ...]] = (*Integration.tables, "kernels")
    kernels: Tensor

    def __init__(self, flow: Any, kernels: Tensor, targets: Tensor) -> None:
        K, P, outputs = len(kernels), *targets.shape
        self.kernels = kernels.clone()  # rows change places
        zero = SimpleNamespace(stacked={"c": kernels.new_zeros(K, P * outputs)}, call=_nothing)
        super().__init__(flow, Members(zero), targets, targets)

    def evaluate(self, w: Tensor, rows: slice, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions, loss, and slopes over P."""
        F = torch.bmm(self.kernels[rows], w.view(len(w), *self.y.shape))
        g = (self.loss.slope(F, self.y) / len(self.y)).flatten(1)
        return F, self.loss(F, self.y), g if out is None else out.copy_(g)

    def products(self, g: Tensor, g1: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Norm and scalar product of the linear model's gradients."""
        ahead = torch.bmm(self.kernels[rows], g1.view(len(g1), *self.y.shape)).flatten(1)
        return (g1 * ahead).sum(1), (g * ahead).sum(1)


def _nothing(stacked: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """Outputs where all coefficients are zero: where every flow starts."""
    return stacked["c"].view(-1, *inputs.shape)
