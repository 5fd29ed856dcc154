"""Closed forms of the average geometry, where they are known."""

from __future__ import annotations

import torch
from torch import Tensor

from priorscope.checks import VARIANCE, whole
from priorscope.contracts import guarded

__all__ = ["linear_conv_geometry", "relu_geometry"]


@guarded(dim=whole(), weight_variance=VARIANCE, readout_variance=VARIANCE)
def relu_geometry(dim: int, weight_variance: float = 1.0, readout_variance: float = 1.0) -> Tensor:
    r"""G of a one-hidden-layer ReLU network :math:`f = a\cdot\mathrm{relu}(Wx)` with Gaussian weights.

    :math:`G = \frac{1}{2} n\,v_a v_w I`: a hidden unit is on with probability ½, and the n units add up. Here
    ``weight_variance`` is :math:`v_w`, that of one entry of W, and ``readout_variance`` is :math:`n v_a`.

    Example:
        >>> relu_geometry(2, weight_variance=0.5).tolist()
        [[0.25, 0.0], [0.0, 0.25]]
    """
    return 0.5 * weight_variance * readout_variance * torch.eye(dim)


@guarded(dim=whole(), filter_size=whole(), pool=whole(), variance=VARIANCE)
def linear_conv_geometry(dim: int, filter_size: int, pool: int, variance: float = 1.0) -> Tensor:
    r"""G of a linear 1-D convolution (no padding) followed by average pooling over ``pool`` places.

    With :math:`M_j` the shift by j, :math:`G = \frac{\sigma^2}{k^2}\sum_{j_1,j_2=0}^{k-1} M_{j_1}M_{j_2}^T`, where k is
    the pooling window and :math:`M_j` is (dim, filter_size) with ones at (j + i, i). For dim 3, filter 2, pool 2 this is
    :math:`(\sigma^2/4)` times [[1,1,0],[1,2,1],[0,1,1]], with eigenvalues in the ratio 3 : 1 : 0.

    Example:
        >>> (4 * linear_conv_geometry(3, 2, 2)).tolist()
        [[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 1.0]]
    """
    if filter_size + pool - 1 > dim:
        raise ValueError(
            f"a filter of {filter_size} pooled over {pool} places needs at least {filter_size + pool - 1} inputs; got {dim}."
        )
    pooled = torch.zeros(dim, filter_size)
    for j in range(pool):
        pooled[torch.arange(filter_size) + j, torch.arange(filter_size)] += 1.0 / pool
    return variance * pooled @ pooled.mT
