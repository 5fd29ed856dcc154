"""The named architectures with a kernel: FCN, LCN, VEC, GAP, LAP."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from priorscope.checks import VARIANCE, checked, whole
from priorscope.models.architectures._architecture import Architecture
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._global_pool import GlobalAvgPool
from priorscope.models.layers._layer import Layer
from priorscope.models.layers._locally_connected import LocallyConnected
from priorscope.models.layers._window_pool import AvgPool
from priorscope.models.nonlinearities import Nonlinearity

__all__ = ["fcn", "gap", "lap", "lcn", "vec"]

DEEPEST = 10_000

Phi = str | Nonlinearity | Callable[[Tensor], Tensor]


def _hidden(layer: Layer, activation: Phi, depth: int) -> tuple[Layer, ...]:
    if depth > DEEPEST:
        raise ValueError(f"an architecture has at most {DEEPEST} hidden layers here; got depth={depth}.")
    return (layer, Activation(activation)) * depth


@checked(depth=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
def fcn(
    depth: int = 3, activation: Phi = "relu", weight_variance: float = 2.0, bias_variance: float = 0.0
) -> Architecture:
    """Fully connected: ``depth`` hidden layers and a readout, all with the same variances. Images are flattened.

    Default weight variance 2, which keeps ReLU's variance from layer to layer.

    Example:
        >>> fcn(depth=2).name
        'fcn'
    """
    dense = Dense(weight_variance, bias_variance)
    return Architecture("fcn", (Flatten(), *_hidden(dense, activation, depth), dense))


@checked(depth=whole(), kernel_size=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
def lcn(
    depth: int = 3,
    kernel_size: int = 3,
    padding: str = "circular",
    activation: Phi = "relu",
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
) -> Architecture:
    """Locally connected: a filter of its own at every pixel, flattened readout.

    Example:
        >>> lcn(depth=1).network((1, 6), width=4)(__import__("torch").zeros(2, 1, 6)).shape
        torch.Size([2, 1])
    """
    local = LocallyConnected(kernel_size, 1, padding, weight_variance, bias_variance)
    dense = Dense(weight_variance, bias_variance)
    return Architecture("lcn", (*_hidden(local, activation, depth), Flatten(), dense))


@checked(depth=whole(), kernel_size=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
def vec(
    depth: int = 3,
    kernel_size: int = 3,
    padding: str = "circular",
    activation: Phi = "relu",
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
) -> Architecture:
    """Convolutional with flattened ("vectorised") readout.

    Example:
        >>> len(vec(depth=2).layers)  # two convolutions, two nonlinearities, flatten, readout
        6
    """
    conv = Conv(kernel_size, 1, padding, weight_variance, bias_variance)
    dense = Dense(weight_variance, bias_variance)
    return Architecture("vec", (*_hidden(conv, activation, depth), Flatten(), dense))


@checked(depth=whole(), kernel_size=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
def gap(
    depth: int = 3,
    kernel_size: int = 3,
    padding: str = "circular",
    activation: Phi = "relu",
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
) -> Architecture:
    """Convolutional with global average pooling before the readout.

    Example:
        >>> gap(depth=1).layers[-2]
        GlobalAvgPool()
    """
    conv = Conv(kernel_size, 1, padding, weight_variance, bias_variance)
    dense = Dense(weight_variance, bias_variance)
    return Architecture("gap", (*_hidden(conv, activation, depth), GlobalAvgPool(), dense))


@checked(depth=whole(), kernel_size=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE, window=whole())
def lap(
    depth: int = 3,
    kernel_size: int = 3,
    padding: str = "circular",
    activation: Phi = "relu",
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
    window: int = 4,
) -> Architecture:
    """Convolutional with local average pooling over ``window`` pixels per axis, then flattened readout.

    Example:
        >>> lap(depth=1, window=2).layers[-3]
        AvgPool(window=2, stride=2)
    """
    conv = Conv(kernel_size, 1, padding, weight_variance, bias_variance)
    dense = Dense(weight_variance, bias_variance)
    return Architecture("lap", (*_hidden(conv, activation, depth), AvgPool(window), Flatten(), dense))
