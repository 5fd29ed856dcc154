"""The SOFT grid of bandwidth b, 2b samples per angle, and the weights that integrate on it."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import checked, whole

__all__ = ["bandwidth_of", "soft_angles", "soft_weights"]


@checked(bandwidth=whole())
def soft_angles(bandwidth: int) -> tuple[Tensor, Tensor]:
    r"""Longitudes and colatitudes of the SOFT grid, each (2b,), float64.

    .. math:: \alpha_i = \frac{2\pi i}{2b}, \qquad \beta_j = \frac{\pi(2j+1)}{4b}

    (Kostelec & Rockmore 2008.) No pole is sampled. SO(3) takes the longitudes for γ too.

    Example:
        >>> alpha, beta = soft_angles(1)
        >>> (alpha / torch.pi).tolist(), (beta / torch.pi).tolist()
        ([0.0, 1.0], [0.25, 0.75])
    """
    steps = torch.arange(2 * bandwidth, dtype=torch.float64)
    return steps * torch.pi / bandwidth, (2 * steps + 1) * torch.pi / (4 * bandwidth)


@checked(bandwidth=whole())
def soft_weights(bandwidth: int) -> Tensor:
    r"""Weights (2b,) of the colatitudes, which sum to 1: :math:`\frac12\int f \sin\beta\,d\beta = \sum_j w_j f(\beta_j)`.

    .. math:: w_j = \frac1b \sin\beta_j \sum_{k<b} \frac{\sin((2k+1)\beta_j)}{2k+1}

    (Driscoll & Healy 1994, on the grid of Kostelec & Rockmore 2008.)

    Holds: exact for polynomials in cos β of degree below 2b, so that products of two signals of bandwidth b are integrated
    exactly.

    Example:
        >>> w, (_, beta) = soft_weights(4), soft_angles(4)
        >>> round(float(w.sum()), 12), round(float((w * beta.cos() ** 2).sum()), 12)  # the mean of z² is 1/3
        (1.0, 0.333333333333)
    """
    _, beta = soft_angles(bandwidth)
    odd = 2 * torch.arange(bandwidth, dtype=torch.float64) + 1
    return beta.sin() * ((beta[:, None] * odd).sin() / odd).sum(1) / bandwidth


def bandwidth_of(signal: Tensor, angles: int) -> int:
    """The bandwidth of a signal sampled on 2b points along each of its last ``angles`` axes.

    Example:
        >>> bandwidth_of(torch.zeros(3, 8, 8), 2)
        4
        >>> bandwidth_of(torch.zeros(7, 7), 2)
        Traceback (most recent call last):
        ...
        ValueError: a signal on the sphere has 2b samples along each of its last 2 axes (beta, alpha); got shape (7, 7). ...
    """
    sides = set(signal.shape[-angles:])
    if signal.ndim < angles or len(sides) != 1 or any(side < 2 or side % 2 for side in sides):
        where = "the sphere" if angles == 2 else "SO(3)"
        axes = "(beta, alpha)" if angles == 2 else "(beta, alpha, gamma)"
        raise ValueError(
            f"a signal on {where} has 2b samples along each of its last {angles} axes {axes}; got shape "
            f"{tuple(signal.shape)}. An odd or unequal number of samples is no grid of a whole bandwidth: sample again "
            "on priorscope.models.spheres.soft_angles(b)."
        )
    if signal.numel() == 0:
        raise ValueError(f"wanted at least one signal; got none, shape {tuple(signal.shape)}.")
    (side,) = sides
    return side // 2
