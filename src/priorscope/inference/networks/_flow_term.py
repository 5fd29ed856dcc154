"""What flows: the right-hand side of a gradient flow, for networks and for linear models given by their kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from priorscope.inference.networks._dense_pass import DensePass
from priorscope.inference.networks._loss import Loss, as_loss
from priorscope.inference.networks._members import Members

if TYPE_CHECKING:
    from priorscope.inference.networks._gradient_flow import GradientFlow

__all__ = ["KernelTerm", "NetworkTerm", "Term"]

CACHE = 16 * 2**20  # bytes a window may touch: what a core's share of a last-level cache holds


class Term(ABC):
    """Predictions, loss and gradient of K members at given parameters, and scalar products of their gradients.

    ``start`` (K, P) are the parameters at time zero, ``window`` how many members one evaluation should take, and ``tables``
    tensors with one row per member, which the integrator reorders together with its own.
    """

    y: Tensor
    loss: Loss
    start: Tensor
    window: int
    tables: dict[str, Tensor]

    @abstractmethod
    def evaluate(self, w: Tensor, rows: slice, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions (k, n, outputs), loss with its prefactor (k,), gradient (k, P) of the members in these rows."""

    @abstractmethod
    def products(self, g: Tensor, g1: Tensor, rows: slice, room: Tensor) -> tuple[Tensor, Tensor]:
        """Squared norm of the gradients ``g1`` and their scalar product with ``g``, (k,) each; ``room`` may be overwritten."""


class NetworkTerm(Term):
    r"""Networks with :math:`F = \alpha(f - f_0)` and :math:`\Lambda = \frac{1}{\alpha^2 n}\sum_\mu\ell(F(x_\mu), y_\mu)`.

    Fully connected members are passed by hand-written products, others by automatic differentiation.
    """

    def __init__(self, flow: GradientFlow, members: Members, x: Tensor, y: Tensor, window: int | None = None) -> None:
        """Choose the way to differentiate and the size of a window, and compute the outputs at the start to subtract."""
        K = len(members)
        alpha = torch.as_tensor(flow.alpha, dtype=flow.dtype).flatten()
        if len(alpha) not in (1, K):
            raise ValueError(f"alpha must be one number or one per member ({K}); got {len(alpha)} values.")
        self.members, self.x, self.y, self.loss = members, x, y, as_loss(flow.loss)
        self.start = members.flat
        self.dense = DensePass.of(members, x)
        self.window = window or (K if self.dense is None else max(16, CACHE // self.dense.bytes_a_member))
        with torch.no_grad():
            f0 = members.call(members.flat, x)
        if f0.shape[1:] != y.shape:
            raise ValueError(
                f"network outputs (n, outputs) must match targets {tuple(y.shape)}; got {tuple(f0.shape[1:])}."
            )
        if self.dense is not None:  # the offset by the same products as the outputs, so that they cancel to zero
            f0 = torch.cat([self.dense.forward(w)[0] for w in members.flat.split(self.window)])
        offset = f0.contiguous() if flow.centre else torch.zeros_like(f0)
        self.tables = {"alpha": alpha.expand(K).contiguous(), "offset": offset}

    def evaluate(self, w: Tensor, rows: slice, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions, loss and gradient of the members in these rows, without tracing where the networks are dense."""
        alpha, offset = self.tables["alpha"][rows], self.tables["offset"][rows]
        if self.dense is not None:
            f, tape = self.dense.forward(w)
            F = (f - offset).mul_(alpha[:, None, None])
            slopes = self.loss.slope(F, self.y) / (alpha * len(self.x))[:, None, None]
            return F, self.loss(F, self.y) / alpha.square(), self.dense.backward(w, tape, slopes, out)
        kept: list[Tensor] = []

        def objective(v: Tensor) -> Tensor:
            F = alpha[:, None, None] * (self.members.call(v, self.x) - offset)
            kept.append(F.detach())
            return self.loss(F, self.y) / alpha.square()

        value, g = self.members.gradient(w, objective)
        return kept[0], value, g if out is None else out.copy_(g)

    def products(self, g: Tensor, g1: Tensor, rows: slice, room: Tensor) -> tuple[Tensor, Tensor]:
        return torch.linalg.vector_norm(g1, dim=1).square_(), torch.mul(g, g1, out=room[: len(g)]).sum(1)


class KernelTerm(Term):
    r"""Coefficients c of :math:`F = \Theta c` under :math:`\dot c = -\ell'(F)/P`, one kernel (P, P) per member.

    The weights of the linear model are features times c, so that gradients :math:`g = \ell'/P` have the scalar product
    :math:`g^T\Theta g'` and steps are those the linear model itself would take.
    """

    def __init__(self, flow: GradientFlow, kernels: Tensor, targets: Tensor) -> None:
        self.y, self.loss, self.window = targets, as_loss(flow.loss), len(kernels)
        self.start = kernels.new_zeros(len(kernels), targets.numel())
        self.tables = {"kernels": kernels.clone()}  # rows change places

    def evaluate(self, w: Tensor, rows: slice, out: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        F = torch.bmm(self.tables["kernels"][rows], w.view(len(w), *self.y.shape))
        g = (self.loss.slope(F, self.y) / len(self.y)).flatten(1)
        return F, self.loss(F, self.y), g if out is None else out.copy_(g)

    def products(self, g: Tensor, g1: Tensor, rows: slice, room: Tensor) -> tuple[Tensor, Tensor]:
        ahead = torch.bmm(self.tables["kernels"][rows], g1.view(len(g1), *self.y.shape)).flatten(1)
        return (g1 * ahead).sum(1), (g * ahead).sum(1)
