"""Linear networks of circular convolutions: they weigh frequencies as diagonal networks weigh features."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, checked, whole

__all__ = ["CircularNetwork"]


@checked(dim=whole(2), scale=POSITIVE, depth=whole(), seed=SEED)
class CircularNetwork(nn.Module):
    r"""The linear function :math:`f(x) = \langle\beta, x\rangle` with :math:`\hat\beta = \hat w_1\cdots\hat w_D` in frequencies.

    A linear convolutional network with filters as long as the input: Gunasekar, Lee, Soudry & Srebro (2018), "Implicit bias of
    gradient descent on linear convolutional networks", with the unitary discrete Fourier transform. Its weights are shortest at
    :math:`\|w\|^2 = D\,\|\hat\beta\|_{2/D}^{2/D}`, so that losses of exponential tail lead to few frequencies. Filters are drawn
    from N(0, scale²/dim) by ``seed``. In float64.

    Example:
        >>> net = CircularNetwork(4, scale=1.0, depth=2)
        >>> tuple(net(torch.ones(3, 4, dtype=torch.float64)).shape), tuple(net.coefficients.shape)
        ((3, 1), (4,))
    """

    def __init__(self, dim: int, scale: float, depth: int = 2, seed: int = 0) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.filters = nn.Parameter(scale / dim**0.5 * torch.randn(depth, dim, generator=draw, dtype=torch.float64))

    @property
    def coefficients(self) -> Tensor:
        """The coefficients of the linear function, (dim,)."""
        found: Tensor = torch.fft.irfft(
            torch.fft.rfft(self.filters, norm="ortho").prod(0), self.filters.shape[1], norm="ortho"
        )
        return found

    def forward(self, x: Tensor) -> Tensor:
        return (x.flatten(1) @ self.coefficients)[:, None]
