"""A network built so that stochastic gradient descent stores samples in its weights, and a circuit reads a parity off them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, POSITIVE, check, checked, whole

__all__ = ["RegisterNetwork", "solve_parity"]


def solve_parity(inputs: Tensor, labels: Tensor) -> Tensor:
    """The set of bits whose parity gives the labels, by Gaussian elimination over two elements: 1 for its bits, else 0.

    ``inputs`` (m, n) and ``labels`` (m,) are 0 and 1. No step depends on a value, so that it can be vectorised; where
    the samples do not determine a bit, it is left out.

    Example:
        >>> x = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1]])
        >>> solve_parity(x, (x[:, 0] + x[:, 2]) % 2).tolist()
        [1, 0, 1]
    """
    table = torch.cat([inputs, labels[:, None]], 1).long()  # (m, n + 1)
    m, n = inputs.shape
    rows = torch.arange(m)
    used = torch.zeros(m, dtype=torch.long)  # rows that hold a pivot
    answer = torch.zeros(n, dtype=torch.long)
    owner = torch.zeros(n, dtype=torch.long)
    found = torch.zeros(n, dtype=torch.long)
    for k in range(n):
        free = table[:, k] * (1 - used)
        pivot = free.argmax()
        here = (rows == pivot).long() * free.max()  # all zero where no row is left for this bit
        line = (here[:, None] * table).sum(0)
        table = (table + (table[:, k] * (1 - here))[:, None] * line) % 2
        used = used + here
        owner = owner + (torch.arange(n) == k).long() * pivot
        found = found + (torch.arange(n) == k).long() * free.max()
    for k in range(n):
        value = ((rows == owner[k]).long() * table[:, n]).sum()
        answer = answer + (torch.arange(n) == k).long() * value * found[k]
    return answer


@checked(n=whole(), registers=whole(), threshold=NOT_NEGATIVE)
class RegisterNetwork(nn.Module):
    r"""Registers that one step of stochastic gradient descent fills with one sample each, and a circuit that solves for a parity.

    Each of the ``registers`` holds n + 1 weights, first zero. Training, the network gives :math:`w_j\cdot(1, x)` of
    the first register whose :math:`|w_{j,0}|` is below ``threshold``: on the squared loss a step with one sample
    leaves there a multiple of :math:`y\,(1, x)`. Once all are full, and in evaluation always, it reads signs of the
    weights as samples and gives the parity that explains them. The gates have derivative zero. A construction of ours
    for parities in the spirit of Abbe & Sandon (2018), Theorem 2, whose own emulation is a general one: descent on
    the population's gradient, or on large batches, writes nothing of use into it.

    Example:
        >>> net = RegisterNetwork(3, registers=4)
        >>> net(torch.ones(1, 3)).tolist()  # nothing is stored yet
        [[0.0]]
    """

    def __init__(self, n: int, registers: int, threshold: float = 0.4) -> None:
        super().__init__()
        check("RegisterNetwork", "n", n, whole(1))
        check("RegisterNetwork", "registers", registers, whole(1))
        check("RegisterNetwork", "threshold", threshold, POSITIVE)
        self.n, self.threshold = n, threshold
        self.weight = nn.Parameter(torch.zeros(registers, n + 1))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (n, 1): the open register's while training, the parity's in evaluation and once all registers are full."""
        full = (self.weight[:, 0].abs() > self.threshold).to(x.dtype)
        before = torch.cat([full.new_ones(1), full.cumprod(0)[:-1]])
        gate = ((1 - full) * before).detach()  # of the first that is not full
        written = torch.cat([x.new_ones(len(x), 1), x], 1) @ (gate @ self.weight)
        if self.training:
            return written[:, None]
        stored = self.weight.detach()
        bits = (stored[:, 1:] * stored[:, :1] < 0).long() * full.long()[:, None]
        label = (stored[:, 0] < 0).long() * full.long()
        chosen = solve_parity(bits, label).to(x.dtype)
        wrong = ((x < 0).to(x.dtype) @ chosen) % 2
        return (full.amax() * (1 - 2 * wrong))[:, None]
