"""A residual block on SO(3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import checked, whole
from priorscope.models.equivariant.spheres._correlation import S2Correlation, SO3Correlation
from priorscope.models.equivariant.spheres._filters import identity_filter

__all__ = ["SphericalResidual"]


@checked(inputs=whole(), outputs=whole(), bandwidth_in=whole(), bandwidth_out=whole())
class SphericalResidual(nn.Module):
    """Correlation, batch normalisation, ReLU, correlation, batch normalisation; then the input is added, then ReLU.

    The first correlation is on the sphere where ``sphere``, else on SO(3). Where channels or bandwidth change, the shortcut is a
    correlation with the identity alone (Cohen et al. 2018, section 5.4, and the authors' code).

    Example:
        >>> block = SphericalResidual(1, 4, bandwidth_in=6, bandwidth_out=4, sphere=True)
        >>> block(torch.randn(2, 1, 12, 12)).shape
        torch.Size([2, 4, 8, 8, 8])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bandwidth_in: int,
        bandwidth_out: int,
        *,
        sphere: bool = False,
        points: Tensor | None = None,
    ) -> None:
        """The two correlations with their normalisations, and the shortcut."""
        super().__init__()
        kind = S2Correlation if sphere else SO3Correlation
        at = points if not sphere else None
        self.body = nn.Sequential(
            kind(inputs, outputs, bandwidth_in, bandwidth_out, points=at),
            nn.BatchNorm3d(outputs),
            nn.ReLU(),
            SO3Correlation(outputs, outputs, bandwidth_out, bandwidth_out, points=points),
            nn.BatchNorm3d(outputs),
        )
        same = not sphere and inputs == outputs and bandwidth_in == bandwidth_out
        mix = kind(inputs, outputs, bandwidth_in, bandwidth_out, points=identity_filter(), bias=False)
        self.shortcut: nn.Module = nn.Identity() if same else mix

    def forward(self, signal: Tensor) -> Tensor:
        return torch.relu(self.body(signal) + self.shortcut(signal))
