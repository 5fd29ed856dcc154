"""The stripe and its networks: one hidden layer with biases, every member with a training set of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from priorscope.papers.lazy_feature._networks import TracedRectifier, phi, phi_slope

__all__ = ["EDGES", "StripeStack", "stripe"]

EDGES = (-0.3, 1.18549)  # of the stripe in the first coordinate: half of the points lie inside


def stripe(n: int, dim: int, seed: int) -> tuple[Tensor, Tensor]:
    """Gaussian points (n, dim) and labels (n,): +1 where the first coordinate lies in the stripe, −1 outside."""
    x = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    inside = (x[:, 0] > EDGES[0]) & (x[:, 0] < EDGES[1])
    return x, torch.where(inside, 1.0, -1.0).double()


class StripeStack(nn.Module):
    r"""K networks :math:`f = \frac{1}{\sqrt h}\sum_i c_i\,\sigma(w_i\cdot x/\sqrt d + b_i)`, all parameters N(0, 1).

    Member k trains on its own points: they are kept with its parameters, without a gradient. Outputs come multiplied by the
    members' labels and by the inputs passed in, signs s (P, 1) which are also the targets: :math:`s\,(s\,y f) = yf`, so that one
    flow integrates all members at once.
    """

    def __init__(self, x: Tensor, y: Tensor, width: int, seeds: Sequence[int]) -> None:
        super().__init__()
        dim = x.shape[2]
        found: dict[str, list[Tensor]] = {"w": [], "b": [], "c": []}
        for seed in seeds:
            g = torch.Generator().manual_seed(seed)
            for name, shape in (("w", (width, dim)), ("b", (width,)), ("c", (width,))):
                found[name].append(torch.randn(*shape, generator=g, dtype=torch.float64))
        self.stacked = {name: torch.stack(values) for name, values in found.items()} | {"x": x, "y": y}

    def call(self, stacked: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """Outputs times labels times signs (K, P, 1) on the members' own points."""
        return (self.outputs(stacked, stacked["x"].detach()) * stacked["y"].detach())[..., None] * inputs

    @staticmethod
    def hidden(stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Pre-activations (K, n, h)."""
        w = stacked["w"]
        return x @ (w.mT / w.shape[2] ** 0.5) + stacked["b"][:, None]

    @classmethod
    def outputs(cls, stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (K, n) on any points (n, d) or (K, n, d)."""
        c = stacked["c"]
        return (TracedRectifier.apply(cls.hidden(stacked, x)) @ (c[..., None] / c.shape[1] ** 0.5))[..., 0]

    @classmethod
    @torch.no_grad()
    def gram(cls, stacked: Mapping[str, Tensor], x1: Tensor, x2: Tensor) -> Tensor:
        """Tangent kernels (K, n1, n2) over weights, biases and readout."""
        h, d = stacked["w"].shape[1:]
        left, right = cls.hidden(stacked, x1), cls.hidden(stacked, x2)
        c = stacked["c"][:, None] / h**0.5
        last = phi(left) @ phi(right).mT / h
        return last + (x1 @ x2.mT / d + 1) * ((c * phi_slope(left)) @ (c * phi_slope(right)).mT)
