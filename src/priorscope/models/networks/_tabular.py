"""A dense network for tables: numbers embedded by waves, members that share their weights, readouts of their own."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, checked, each, number, whole

__all__ = ["TabularNetwork"]

_WAVES = 16  # per number, Holzmüller et al. 2024, Table A.1
_EMBEDDED = 3  # dimensions that waves are mapped to; the number itself is the fourth


class _Embedding(nn.Module):
    r"""Each number x becomes (x, A cos(2π(w x + b)) + c) with matrices of its own ("PBLD", Holzmüller et al. 2024)."""

    def __init__(self, numbers: int, frequency: float) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(frequency * torch.randn(numbers, _WAVES))
        self.phases = nn.Parameter(math.pi * (2 * torch.rand(numbers, _WAVES) - 1))
        self.mix = nn.Parameter(torch.randn(numbers, _WAVES, _EMBEDDED) / _WAVES**0.5)
        self.shift = nn.Parameter(torch.zeros(numbers, _EMBEDDED))

    def forward(self, x: Tensor) -> Tensor:
        waves = torch.cos(2 * math.pi * self.frequencies * x[..., None] + self.phases)  # (n, numbers, waves)
        mixed = torch.einsum("njw,jwe->nje", waves, self.mix) + self.shift
        return torch.cat([x, mixed.flatten(1)], 1)


class _Shared(nn.Module):
    """A linear layer that members share, each with its own signs before, scales after and biases (Wen et al. 2020)."""

    def __init__(self, before: int, after: int, members: int, *, first: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(before, after).uniform_(-1, 1) / before**0.5)
        start = torch.ones(members, before)
        self.signs = nn.Parameter(torch.randn(members, before).sign() if first else start)
        self.scales = nn.Parameter(torch.ones(members, after))
        self.bias = nn.Parameter(torch.empty(members, after).uniform_(-1, 1) / before**0.5)

    def forward(self, x: Tensor) -> Tensor:
        return ((x * self.signs) @ self.weight) * self.scales + self.bias


@checked(
    features=whole(),
    outputs=whole(),
    width=whole(),
    depth=whole(),
    members=whole(),
    dropout=number(least=0, below=1),
    frequency=POSITIVE,
    plain=each(whole(0), empty=True),
)
class TabularNetwork(nn.Module):
    """Outputs (n, members, outputs) of networks that differ in signs, scales, biases and readouts and share all else.

    Made of what worked best for tables: the members of TabM (Gorishniy, Kotelnikov & Babenko 2025, arXiv 2410.24210: adapters
    of the first layer start as random signs, all others at 1) on the periodic embedding of RealMLP (Holzmüller, Grinsztajn &
    Steinwart 2024, arXiv 2407.04491). Columns ``plain`` (such as 0 and 1) are not embedded.

    Example:
        >>> TabularNetwork(5, 3, width=16, members=4)(torch.zeros(2, 5)).shape
        torch.Size([2, 4, 3])
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        *,
        width: int = 256,
        depth: int = 2,
        members: int = 8,
        dropout: float = 0.1,
        plain: tuple[int, ...] = (),
        frequency: float = 0.1,
    ) -> None:
        """Draw weights from torch's generator; numbers are the columns that are not ``plain``."""
        super().__init__()
        self.members = members
        numbers = [j for j in range(features) if j not in set(plain)]
        self.register_buffer("numbers", torch.tensor(numbers, dtype=torch.long))
        self.register_buffer("plain", torch.tensor(sorted(plain), dtype=torch.long))
        self.embed = _Embedding(len(numbers), frequency) if numbers else None
        sizes = [len(plain) + len(numbers) * (1 + _EMBEDDED), *[width] * depth]
        self.layers = nn.ModuleList(
            _Shared(before, after, members, first=i == 0) for i, (before, after) in enumerate(pairwise(sizes))
        )
        self.dropout = nn.Dropout(dropout)
        self.readout = nn.Parameter(torch.empty(members, width, outputs).uniform_(-1, 1) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(members, outputs))

    numbers: Tensor
    plain: Tensor

    def forward(self, x: Tensor) -> Tensor:
        parts = [x[:, self.plain]]
        if self.embed is not None:
            parts.append(self.embed(x[:, self.numbers]))
        h = torch.cat(parts, 1)[:, None, :]  # (n, 1, features), then (n, members, width)
        for layer in self.layers:
            h = self.dropout(torch.relu(layer(h)))
        return torch.einsum("nkw,kwo->nko", h, self.readout) + self.bias
