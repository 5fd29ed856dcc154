"""Where the learned values of a filter sit on the sphere or on SO(3)."""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor

from priorscope.checks import checked, number, whole

__all__ = ["identity_filter", "local_filter", "ring_filter"]

_ANGLE = number(above=0, below=pi + 1e-9, advice="It is an angle from the centre, in radians.")


@checked(rings=whole(), points=whole(), turns=whole(), max_beta=_ANGLE, max_gamma=_ANGLE)
def local_filter(
    *, rings: int = 3, points: int = 8, turns: int = 3, max_beta: float = pi / 8, max_gamma: float = pi / 2
) -> Tensor:
    r"""Angles (rings × points × turns, 3) near the identity of SO(3): rings β, each of ``points`` α, and ``turns`` γ on each.

    The third angle is :math:`\gamma = g - \alpha` with g spread over [-max_gamma, max_gamma], so that the points of a ring are
    equally far from the identity. On the sphere γ does nothing: take ``turns=1``. Three rings of eight up to π/8 are the
    defaults of the authors' code, with three turns, which give the published count of weights.

    Example:
        >>> local_filter(turns=1).shape, local_filter().shape
        (torch.Size([24, 3]), torch.Size([72, 3]))
    """
    beta = torch.arange(1, rings + 1, dtype=torch.float64) * max_beta / rings
    alpha = torch.arange(points, dtype=torch.float64) * 2 * pi / points
    turn = torch.linspace(-max_gamma, max_gamma, turns, dtype=torch.float64) if turns > 1 else torch.zeros(1).double()
    b, a, g = torch.meshgrid(beta, alpha, turn, indexing="ij")
    return torch.stack([a, b, g - a], -1).reshape(-1, 3)


@checked(points=whole())
def ring_filter(points: int) -> Tensor:
    r"""Angles (points, 3) on the equator, β = π/2 and γ = 0: the non-local filters of Cohen et al. (2018), section 5.3.

    Example:
        >>> ring_filter(16).shape
        torch.Size([16, 3])
    """
    alpha = torch.arange(points, dtype=torch.float64) * 2 * pi / points
    return torch.stack([alpha, torch.full_like(alpha, pi / 2), torch.zeros_like(alpha)], -1)


def identity_filter() -> Tensor:
    """The identity alone (1, 3): mixes channels and cuts the bandwidth, as shortcuts of residual blocks do.

    Example:
        >>> identity_filter().tolist()
        [[0.0, 0.0, 0.0]]
    """
    return torch.zeros(1, 3, dtype=torch.float64)
