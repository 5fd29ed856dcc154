"""Many fully connected networks in NTK parametrisation with a smooth rectifier, all members in one product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, checked, each, whole
from priorscope.models.networks._smooth_rectifier import SmoothRectifier, phi, phi_slope

__all__ = ["DenseStack"]


@checked(dim=whole(), width=whole(), depth=whole(), seeds=each(SEED))
class DenseStack(nn.Module):
    r"""K networks :math:`f = W^L z^L/\sqrt h`, :math:`z^{l+1} = \sigma(W^l z^l/\sqrt{n_l} + B^l)`, entries of W from N(0, 1).

    Stacked weights (K, out, in), so that one batched product evaluates all members: what ``GradientFlow`` trains at once.
    With ``bias`` the hidden layers have biases, which start at zero; without, there are none. The activation is a softplus
    of sharpness 5, scaled to unit second moment under N(0, 1). Geiger et al. (2020), "Disentangling feature and lazy training
    in deep neural networks", Sec. 2.

    Example:
        >>> stack = DenseStack(dim=3, width=8, depth=2, seeds=range(4))
        >>> x = torch.ones(5, 3, dtype=torch.float64)
        >>> len(stack), stack(x).shape, stack.gram(stack.stacked, x).shape
        (4, torch.Size([4, 5, 1]), torch.Size([4, 5, 5]))
    """

    def __init__(self, dim: int, width: int, depth: int, seeds: Sequence[int], *, bias: bool = False) -> None:
        """Draw the weights of every seed and say the dense form of the stack."""
        super().__init__()
        self.depth, self.bias = depth, bias
        sizes = [dim, *[width] * depth, 1]
        members = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            members.append([torch.randn(o, i, generator=generator, dtype=torch.float64) for i, o in pairwise(sizes)])
        rectifier = SmoothRectifier()
        self.dense_form: list[
            dict[str, Any]
        ] = [  # for passes written by hand: the fields of a DenseLayer, layer by layer
            {
                "weight": f"w{i}",
                "bias": f"b{i}" if bias and i < depth else None,
                "scale": n_in**-0.5,
                "activation": rectifier if i < depth else None,
            }
            for i, n_in in enumerate(sizes[:-1])
        ]
        self.stacked = {f"w{i}": torch.stack([m[i] for m in members]) for i in range(depth + 1)}
        if bias:
            self.stacked |= {f"b{i}": torch.zeros(len(members), width, dtype=torch.float64) for i in range(depth)}

    def __len__(self) -> int:
        return len(self.stacked["w0"])

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self.stacked, x)

    def member(self, i: int) -> nn.Module:
        """Network ``i`` by itself, a plain module with copies of its weights."""
        return _Member({name: w[i] for name, w in self.stacked.items()}, self.depth)

    def hidden(self, stacked: Mapping[str, Tensor], x: Tensor) -> list[Tensor]:
        """Pre-activations (K, n, h) of every hidden layer."""
        z, found = x, []
        for i in range(self.depth):
            w = stacked[f"w{i}"]
            a = z @ (w.mT / w.shape[2] ** 0.5)
            found.append(a + stacked[f"b{i}"][:, None] if self.bias else a)
            z = phi(found[-1])
        return found

    def call(self, stacked: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (K, n, 1)."""
        w = stacked[f"w{self.depth}"]
        found: Tensor = phi(self.hidden(stacked, x)[-1]) @ (w.mT / w.shape[2] ** 0.5)
        return found

    @torch.no_grad()
    def gram(self, stacked: Mapping[str, Tensor], x1: Tensor, x2: Tensor | None = None) -> Tensor:
        r"""Tangent kernels (K, n1, n2), layer by layer: activations' products times products of back-propagated signals.

        .. math:: \Theta = \frac{z^L\cdot z'^L}{h}
            + \sum_l \Big(\frac{z^{l-1}\cdot z'^{l-1}}{n_{l-1}} + [B]\Big)\;\delta^l\cdot\delta'^l

        with one for :math:`[B]` when there are biases. Derived here by back-propagation.
        """
        left = self._signals(stacked, x1)
        right = left if x2 is None else self._signals(stacked, x2)
        total = torch.zeros((), dtype=x1.dtype)
        for (z, d), (z2, d2) in zip(left, right):
            share = (z @ z2.mT) / z.shape[-1]
            total = total + (share if d is None or d2 is None else (share + self.bias) * (d @ d2.mT))
        return total

    def _signals(self, stacked: Mapping[str, Tensor], x: Tensor) -> list[tuple[Tensor, Tensor | None]]:
        """The activations each weight sees and the signal behind it (None behind the readout)."""
        pre = self.hidden(stacked, x)
        seen = [x, *[phi(a) for a in pre]]
        found: list[tuple[Tensor, Tensor | None]] = [(seen[-1], None)]
        w = stacked[f"w{self.depth}"]
        back = (w / w.shape[2] ** 0.5) * phi_slope(pre[-1])  # (K, n, h)
        for i in range(self.depth - 1, -1, -1):
            found.append((seen[i], back))
            if i:
                w = stacked[f"w{i}"]
                back = (back @ (w / w.shape[2] ** 0.5)) * phi_slope(pre[i - 1])
        return found


class _Member(nn.Module):
    """One network of a stack."""

    def __init__(self, params: Mapping[str, Tensor], depth: int) -> None:
        super().__init__()
        self.depth = depth
        for name, value in params.items():
            self.register_parameter(name, nn.Parameter(value.detach().clone()))

    def forward(self, x: Tensor) -> Tensor:
        params, z = dict(self.named_parameters()), x
        for i in range(self.depth + 1):
            w = params[f"w{i}"]
            z = z @ w.mT / w.shape[1] ** 0.5
            if i < self.depth:
                z = phi(z + params[f"b{i}"] if f"b{i}" in params else z)
        return z
