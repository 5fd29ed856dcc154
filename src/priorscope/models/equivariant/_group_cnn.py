"""The convolutional network whose filters are turned and mirrored, with both halves."""

from __future__ import annotations

from priorscope.checks import VARIANCE, checked, whole
from priorscope.models.architectures._architecture import Architecture
from priorscope.models.architectures._named import Phi
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._global_pool import GlobalAvgPool
from priorscope.models.layers._group_conv import GroupConv, GroupPool
from priorscope.models.layers._layer import Layer

__all__ = ["group_cnn"]


@checked(depth=whole(), kernel_size=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
def group_cnn(
    depth: int = 3,
    group: str = "p4",
    kernel_size: int = 3,
    padding: str = "circular",
    activation: Phi = "relu",
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
) -> Architecture:
    """Group convolutions over quarter turns ("p4") or with mirror images ("p4m"), mean over the group and all pixels, readout.

    Cohen & Welling (2016). A feature may be seen under one turn and combined with others under another, which no average of a
    plain network does. At infinite width the two have the same kernel all the same (derived here): covariances of (g, x) and
    (g', x') depend on :math:`g' g^{-1}` alone, so that the sum over v in :class:`GroupConv` adds nothing. The kernel is
    therefore quickest as that of ``invariant(gap(depth), group)``, which is fused; networks of finite width differ.

    Example:
        >>> import torch
        >>> net = group_cnn(2, "p4").network((1, 8, 8), width=4)
        >>> x = torch.rand(3, 1, 8, 8)
        >>> torch.allclose(net(x), net(x.rot90(1, (-2, -1))), atol=1e-5)
        True
    """
    conv = GroupConv(kernel_size, group, padding, weight_variance, bias_variance)
    hidden: tuple[Layer, ...] = (conv, Activation(activation)) * depth
    return Architecture(f"{group}-cnn", (*hidden, GroupPool(), GlobalAvgPool(), Dense(weight_variance, bias_variance)))
