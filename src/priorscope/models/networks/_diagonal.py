"""Linear models whose weights are differences of powers: the simplest networks with a kernel regime and a rich one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, checked, whole

__all__ = ["DiagonalNetwork"]


@checked(dim=whole(), scale=POSITIVE, depth=whole())
class DiagonalNetwork(nn.Module):
    r"""The linear function :math:`f(x) = \langle w_+^D - w_-^D, x\rangle` with all weights ``scale`` at first, hence f = 0.

    Woodworth et al. (2020), "Kernel and rich regimes in overparametrized models"; ``depth`` D = 2 is their model. Gradient flow
    of the squared loss ends at the fit that minimises :math:`Q_\alpha` of :func:`priorscope.probes.diagonal_solution`: the
    least l2 norm for large ``scale`` (kernel regime), the least l1 norm for small (rich regime). In float64.

    Example:
        >>> net = DiagonalNetwork(3, scale=0.1)
        >>> net(torch.ones(2, 3, dtype=torch.float64)).tolist(), net.coefficients.tolist()
        ([[0.0], [0.0]], [0.0, 0.0, 0.0])
    """

    def __init__(self, dim: int, scale: float, depth: int = 2) -> None:
        super().__init__()
        self.depth = depth
        self.positive = nn.Parameter(torch.full((dim,), float(scale), dtype=torch.float64))
        self.negative = nn.Parameter(torch.full((dim,), float(scale), dtype=torch.float64))

    @property
    def coefficients(self) -> Tensor:
        """The coefficients of the linear function, (dim,)."""
        return self.positive**self.depth - self.negative**self.depth

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.coefficients)[:, None]
