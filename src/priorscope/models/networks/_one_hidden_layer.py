"""One hidden layer as theorems on wide networks have it: normal inner weights, outer signs that may stay fixed."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, checked, optional, whole

__all__ = ["OneHiddenLayer"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "softplus": nn.functional.softplus,
    "relu": nn.functional.relu,
    "tanh": torch.tanh,
}


@checked(dim=whole(), width=whole(), outputs=whole(), readout=optional(POSITIVE), seed=SEED)
class OneHiddenLayer(nn.Module):
    r""":math:`f(x) = V\phi(Wx)` with entries of W from N(0, 1), in float64.

    By default V is fixed, its entries :math:`\pm 1/\sqrt{kK\log K}` by coin flips for width k and K outputs
    (:math:`\pm1/\sqrt k` for one), and only W is trained: the setting of Oymak, Fabian, Li & Soltanolkotabi (2019, arXiv
    1906.05392), Theorem on random initialisation. With ``readout`` V is trained too and starts at N(0, readout²), as in the
    same talk's theorem on optimisation. ``activation`` is "softplus" (the talk's example), "relu" or "tanh".

    Example:
        >>> net = OneHiddenLayer(5, width=40, outputs=3)
        >>> net(torch.zeros(2, 5)).shape, [name for name, _ in net.named_parameters()]
        (torch.Size([2, 3]), ['inner'])
    """

    def __init__(
        self,
        dim: int,
        width: int,
        outputs: int = 1,
        *,
        activation: str = "softplus",
        readout: float | None = None,
        seed: int = 0,
    ) -> None:
        """Draw the inner weights, then the outer ones."""
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}.")
        self.activation = ACTIVATIONS[activation]
        g = torch.Generator().manual_seed(seed)
        self.inner = nn.Parameter(torch.randn(width, dim, generator=g, dtype=torch.float64))
        if readout is None:
            signs = torch.randint(2, (outputs, width), generator=g).double() * 2 - 1
            self.register_buffer("outer", signs / (width * (outputs * log(outputs) if outputs > 1 else 1)) ** 0.5)
        else:
            self.outer = nn.Parameter(readout * torch.randn(outputs, width, generator=g, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        outer: Tensor = self.outer
        hidden: Tensor = self.activation(x.to(self.inner.dtype) @ self.inner.mT)
        return hidden @ outer.mT
