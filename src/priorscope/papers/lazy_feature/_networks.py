"""The networks of lazy-feature: fully connected, NTK parametrisation, smooth rectifier, all members in one product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from priorscope.inference.networks._dense_form import DenseLayer

__all__ = ["SCALE", "SHARPNESS", "DenseStack", "SmoothRectifier", "TracedRectifier"]

SHARPNESS = 5.0
SCALE = 1.4043833476  # of the softplus of that sharpness: its second moment under N(0, 1) is one


def phi(x: Tensor) -> Tensor:
    return SCALE * functional.softplus(x, beta=SHARPNESS)


def phi_slope(x: Tensor) -> Tensor:
    return SCALE * (SHARPNESS * x).sigmoid()


class SmoothRectifier:
    r"""The activation as it enters forward and backward passes, in few passes over memory.

    With :math:`u = -\beta x` and :math:`q = \mathrm{sigmoid}(u)` the value is :math:`-(c/\beta)\log q` and the slope
    :math:`c(1 - q)`; the factors :math:`-\beta`, :math:`-c/\beta` and :math:`c` are left to the products around it.
    """

    before, after, slope = -SHARPNESS, -SCALE / SHARPNESS, SCALE

    def __call__(self, x: Tensor) -> Tensor:
        return phi(x)

    @property
    def fold(self) -> SmoothRectifier:
        """This object knows its own passes."""
        return self

    def forward(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """log q, and q."""
        q = u.sigmoid()
        value = q.log()
        if bool(u.amin() < -700):  # q underflows, and log q is u
            value = torch.where(u < -700, u, value)
        return value, q

    def pull(self, d: Tensor, q: Tensor) -> Tensor:
        """d (1 - q), in place."""
        return d.addcmul_(d, q, value=-1)


class TracedRectifier(torch.autograd.Function):
    """The activation under autograd, by the same two functions: several times faster than torch's softplus in float64."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        value, q = SmoothRectifier().forward(SmoothRectifier.before * x)
        ctx.save_for_backward(q)
        return value.mul_(SmoothRectifier.after)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Tensor:
        (q,) = ctx.saved_tensors
        return SmoothRectifier().pull(SmoothRectifier.slope * slopes[0], q)


class DenseStack(nn.Module):
    r"""K networks :math:`f = W^L z^L/\sqrt h`, :math:`z^{l+1} = \sigma(W^l z^l/\sqrt{n_l} + B^l)`, entries of W from N(0, 1).

    Stacked weights (K, out, in), so that one batched product evaluates all members: what ``GradientFlow`` trains at once.
    With ``bias`` the hidden layers have biases, which start at zero; without, there are none.
    """

    def __init__(self, dim: int, width: int, depth: int, seeds: Sequence[int], *, bias: bool = False) -> None:
        super().__init__()
        self.depth, self.bias = depth, bias
        sizes = [dim, *[width] * depth, 1]
        members = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            members.append([torch.randn(o, i, generator=generator, dtype=torch.float64) for i, o in pairwise(sizes)])
        rectifier = SmoothRectifier()
        self.dense_form = [
            DenseLayer(
                f"w{i}",
                f"b{i}" if bias and i < depth else None,
                scale=n_in**-0.5,
                activation=rectifier if i < depth else None,
            )
            for i, n_in in enumerate(sizes[:-1])
        ]
        self.stacked = {f"w{i}": torch.stack([m[i] for m in members]) for i in range(depth + 1)}
        if bias:
            self.stacked |= {f"b{i}": torch.zeros(len(members), width, dtype=torch.float64) for i in range(depth)}

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
        return phi(self.hidden(stacked, x)[-1]) @ (w.mT / w.shape[2] ** 0.5)

    @torch.no_grad()
    def gram(self, stacked: Mapping[str, Tensor], x1: Tensor, x2: Tensor | None = None) -> Tensor:
        r"""Tangent kernels (K, n1, n2), layer by layer: activations' products times products of back-propagated signals.

        .. math:: \Theta = \frac{z^L\cdot z'^L}{h}
            + \sum_l \Big(\frac{z^{l-1}\cdot z'^{l-1}}{n_{l-1}} + [B]\Big)\;\delta^l\cdot\delta'^l

        with one for :math:`[B]` when there are biases.
        """
        left = self._signals(stacked, x1)
        right = left if x2 is None else self._signals(stacked, x2)
        total = torch.zeros((), dtype=x1.dtype)
        for (z, d), (z2, d2) in zip(left, right):
            share = (z @ z2.mT) / z.shape[-1]
            total = total + (share if d is None or d2 is None else (share + self.bias) * (d @ d2.mT))
        return total

    def _signals(self, stacked: Mapping[str, Tensor], x: Tensor) -> list[tuple[Tensor, Tensor | None]]:
        """Of each weight: the activations it sees and the signal behind it (None behind the readout)."""
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
