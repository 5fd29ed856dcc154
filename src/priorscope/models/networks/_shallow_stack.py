"""Many networks of one hidden layer, each with a training set of its own, in one product."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, checked, each, whole
from priorscope.models.networks._smooth_rectifier import TracedRectifier, phi, phi_slope

__all__ = ["ShallowStack"]


@checked(width=whole(), seeds=each(SEED))
class ShallowStack(nn.Module):
    r"""K networks :math:`f = \frac{1}{\sqrt h}\sum_i c_i\,\sigma(w_i\cdot x/\sqrt d + b_i)`, all parameters N(0, 1).

    Member k trains on its own points: they are kept with its parameters, without a gradient. Outputs come multiplied by the
    members' labels and by the inputs passed in, signs s (P, 1) which are also the targets: :math:`s\,(s\,y f) = yf`, so that one
    flow integrates all members at once. The activation is that of :class:`DenseStack`.

    Example:
        >>> x, y = torch.randn(2, 6, 3, dtype=torch.float64), torch.ones(2, 6, dtype=torch.float64)
        >>> stack = ShallowStack(x, y, width=10, seeds=[0, 1])
        >>> signs = torch.ones(6, 1, dtype=torch.float64)
        >>> len(stack), stack(signs).shape, stack.outputs(stack.stacked, x[0]).shape
        (2, torch.Size([2, 6, 1]), torch.Size([2, 6]))
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

    def __len__(self) -> int:
        return len(self.stacked["w"])

    def forward(self, inputs: Tensor) -> Tensor:
        return self.call(self.stacked, inputs)

    def member(self, i: int) -> nn.Module:
        """Network ``i`` by itself with its own points: a stack of one."""
        one = copy.copy(self)
        one.stacked = {name: value[i : i + 1].clone() for name, value in self.stacked.items()}
        return one

    def call(self, stacked: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
        """Outputs times labels times signs (K, P, 1) on the members' own points."""
        return (self.outputs(stacked, stacked["x"].detach()) * stacked["y"].detach())[..., None] * inputs

    @staticmethod
    def hidden(stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Pre-activations (K, n, h)."""
        w = stacked["w"]
        found: Tensor = x @ (w.mT / w.shape[2] ** 0.5) + stacked["b"][:, None]
        return found

    @classmethod
    def outputs(cls, stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (K, n) on any points (n, d) or (K, n, d)."""
        c = stacked["c"]
        z: Tensor = TracedRectifier.apply(cls.hidden(stacked, x))  # type: ignore[no-untyped-call]
        found: Tensor = (z @ (c[..., None] / c.shape[1] ** 0.5))[..., 0]
        return found

    @classmethod
    @torch.no_grad()
    def gram(cls, stacked: Mapping[str, Tensor], x1: Tensor, x2: Tensor) -> Tensor:
        """Tangent kernels (K, n1, n2) over weights, biases and readout."""
        h, d = stacked["w"].shape[1:]
        left, right = cls.hidden(stacked, x1), cls.hidden(stacked, x2)
        c = stacked["c"][:, None] / h**0.5
        last = phi(left) @ phi(right).mT / h
        found: Tensor = last + (x1 @ x2.mT / d + 1) * ((c * phi_slope(left)) @ (c * phi_slope(right)).mT)
        return found
