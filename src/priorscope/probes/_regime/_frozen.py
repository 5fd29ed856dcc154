"""Training with a frozen tangent kernel: what a network would do if its features stayed as they are at some time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from ...inference import GradientFlow

__all__ = ["FrozenFit", "frozen_flow"]


@dataclass(frozen=True)
class FrozenFit:
    r"""Coefficients c of :math:`F(x) = \sum_\mu\Theta(x, x_\mu)c_\mu`, with time and success of the flow.

    Example:
        >>> fit = FrozenFit(torch.ones(2, 1), 1.0, True)
        >>> fit.predict(torch.eye(2)).tolist()
        [[1.0], [1.0]]
    """

    coefficients: Tensor  # (P, outputs)
    time: float
    finished: bool

    def predict(self, cross: Tensor) -> Tensor:
        """Predictions (m, outputs) from the kernel (m, P) between new and training points."""
        return cross.to(self.coefficients.dtype) @ self.coefficients


def frozen_flow(kernel: Tensor, targets: Tensor, flow: GradientFlow | None = None) -> FrozenFit:
    r"""Gradient flow of a linear model whose tangent kernel (P, P) is given, from :math:`F = 0`.

    .. math:: \dot F(x) = -\frac1P\sum_\mu \Theta(x, x_\mu)\,\ell'(F(x_\mu), y_\mu)

    Geiger et al. (2020), "Disentangling feature and lazy training", appendix A, with the constant of eq. 25 subtracted: take the
    kernel at the initial weights for the lazy limit, at the end of training for the features that were learnt, or at any time
    between. Integrated as a linear network on the rows of a Cholesky factor, by the same ``flow`` as the networks; its
    ``alpha`` drops out and is set to one. A jitter of 1e-12 of the mean diagonal keeps the factor real.

    Example:
        >>> y = torch.tensor([[1.0], [-1.0]])
        >>> fit = frozen_flow(2 * torch.eye(2), y, GradientFlow(time=1.0, max_turn=1e-6))  # dF/dt = y - F
        >>> round(float(fit.predict(2 * torch.eye(2))[0]), 2)
        0.63
    """
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or len(targets) != len(kernel):
        raise ValueError(
            f"frozen_flow needs a square kernel (P, P) and P targets; got {tuple(kernel.shape)} and {len(targets)} targets. "
            "Pass the block between training points; the one with new points goes to FrozenFit.predict."
        )
    K = kernel.double()
    jitter = 1e-12 * K.diagonal().mean()
    root = torch.linalg.cholesky(K + jitter * torch.eye(len(K), dtype=K.dtype))  # (P, P), rows are features
    model = nn.Linear(len(K), targets.shape[1], bias=False, dtype=torch.float64)
    nn.init.zeros_(model.weight)
    flow = replace(
        flow or GradientFlow(loss="soft-hinge", stop="fitted", max_turn=1e-3), alpha=1.0, dtype=torch.float64
    )
    fitted = flow.fit(model, SimpleNamespace(inputs=root, targets=targets.double()))
    w = fitted.params.reshape(targets.shape[1], len(K)).mT  # (P, outputs)
    c = torch.linalg.solve_triangular(root.mT, w, upper=True)
    return FrozenFit(c, float(fitted.times[0]), bool(fitted.finished.all()))
