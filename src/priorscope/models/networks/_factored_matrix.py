"""A matrix as a product of two factors, seen through linear measurements of it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, checked, optional, whole

__all__ = ["FactoredMatrix"]


@checked(rows=whole(), columns=whole(), scale=POSITIVE, width=optional(whole()), seed=SEED)
class FactoredMatrix(nn.Module):
    r"""The function :math:`f(A) = \langle A, UV^\top\rangle` of matrices A, with U (rows, width) and V (columns, width).

    With ``width`` left out it is rows + columns and the factors start as :math:`U = \alpha\,[I\;0]`, :math:`V = \alpha\,[0\;I]`
    for ``scale`` :math:`\alpha`: the product is zero and the tangent kernel :math:`2\alpha^2` on single entries, so that the
    kernel regime leaves entries that were not measured as they are (Woodworth et al. 2020, on matrix completion). With a width
    given, entries of the factors are drawn from N(0, α²/width) by ``seed``. In float64.

    Example:
        >>> net = FactoredMatrix(2, 3, scale=0.1)
        >>> net(torch.ones(4, 2, 3, dtype=torch.float64)).flatten().tolist(), net.matrix.shape
        ([0.0, 0.0, 0.0, 0.0], torch.Size([2, 3]))
    """

    def __init__(self, rows: int, columns: int, scale: float, width: int | None = None, seed: int = 0) -> None:
        super().__init__()
        if width is None:
            left = torch.eye(rows, rows + columns, dtype=torch.float64)
            right = torch.eye(rows + columns, dtype=torch.float64)[rows:]
        else:
            draw = torch.Generator().manual_seed(seed)
            left, right = (
                torch.randn(n, width, generator=draw, dtype=torch.float64) / width**0.5 for n in (rows, columns)
            )
        self.left, self.right = nn.Parameter(scale * left), nn.Parameter(scale * right)

    @property
    def matrix(self) -> Tensor:
        """The product of the factors, (rows, columns)."""
        return self.left @ self.right.mT

    def forward(self, x: Tensor) -> Tensor:
        return (x.flatten(1) @ self.matrix.flatten())[:, None]
