"""Which layers a single torch module is. Exact types only: a subclass may compute anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeGuard

import torch
from torch import nn

from priorscope.models.architectures.reading._calls import (
    average_pool,
    channel_dropout,
    dropout,
    flattened,
    global_average,
    padded,
    quadrature,
    thresholded,
)
from priorscope.models.architectures.reading._refusal import refused
from priorscope.models.architectures.reading._signal import Signal
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._general_conv import GeneralConv
from priorscope.models.layers._group_norm import GroupNorm
from priorscope.models.layers._layer import FiniteLayer, Layer
from priorscope.models.layers._layer_norm import LayerNorm
from priorscope.models.layers._rms_norm import RMSNorm
from priorscope.models.layers._scale import Scale
from priorscope.models.networks._redrawing import follows_torch
from priorscope.models.nonlinearities import LeakyReLU

ENOUGH = 64  # numbers from which their mean square is taken for their variance

__all__ = ["is_known", "read_module", "says_layer", "scaled"]


def says_layer(kind: type[nn.Module]) -> TypeGuard[type[FiniteLayer]]:
    """Whether modules of exactly this type say which layer they are: what is inherited was written for another class."""
    return issubclass(kind, FiniteLayer) and "as_layer" in vars(kind)


def is_known(kind: type[nn.Module]) -> bool:
    """Whether modules of exactly this type have a reader."""
    return says_layer(kind) or kind in READERS or kind in (nn.Linear, nn.Conv1d, nn.Conv2d)


def read_module(module: nn.Module, name: str, input: Signal, variances: str) -> Signal:
    """The signal after a module without parts of its own; refused by name where its type has no layer."""
    kind = type(module)
    if isinstance(module, FiniteLayer) and says_layer(kind):
        return _ours(module, name, input)
    if type(module) is nn.Linear:
        return _linear(module, name, input, variances)
    if type(module) is nn.Conv1d or type(module) is nn.Conv2d:
        return _convolution(module, name, input, variances)
    if kind not in READERS:
        raise refused(f"the module {kind.__name__} ({name})")
    try:
        return READERS[kind](module, input)
    except (TypeError, ValueError) as error:
        raise refused(f"this {kind.__name__} ({name}): {error}") from error


def _ours(module: FiniteLayer, name: str, input: Signal) -> Signal:
    """Networks made by priorscope carry their own layers."""
    width = module.channels()
    if width is None:
        return input.then(module.as_layer())
    return input.then(module.as_layer(), width=width, source=module, name=name)


def _require_vectors(name: str, input: Signal) -> None:
    """Torch's Linear and norms act on the last axis, which is that of the channels only where there are no pixels."""
    if len(input.seen) != 2 or len(input.shape) != 1:
        raise refused(
            f"{name} on inputs with pixels (it acts on the last axis of {tuple(input.seen)}, not on channels); flatten before it"
        )


def _linear(module: nn.Linear, name: str, input: Signal, variances: str) -> Signal:
    _require_vectors("Linear", input)
    layer = Dense(*_variances(module, module.in_features, variances))
    return input.then(layer, width=module.out_features, source=module, name=name)


def _variances(module: nn.Linear | nn.Conv1d | nn.Conv2d, fan_in: int, variances: str) -> tuple[float, float]:
    if variances == "torch":
        return 1 / 3, 0.0 if module.bias is None else 1 / (3 * fan_in)
    weight = fan_in * float(module.weight.detach().double().square().mean())
    if module.bias is None:
        return weight, 0.0
    few = module.bias.numel() < ENOUGH <= module.weight.numel() and bool((module.bias != 0).all())
    if few and follows_torch(module):  # a few numbers say little of their variance, their law all
        return weight, 1 / (3 * fan_in)
    return weight, float(module.bias.detach().double().square().mean())


def _convolution(module: nn.Conv1d | nn.Conv2d, name: str, input: Signal, variances: str) -> Signal:
    """The convolution of torch as a layer, plain where all axes are alike, general where not."""
    kind = type(module).__name__
    if len(input.shape) != len(module.kernel_size) + 1 or len(input.seen) != len(module.kernel_size) + 2:
        raise refused(f"{kind} of a tensor {tuple(input.seen)} without the pixels it wants")
    if module.groups != 1:
        raise refused(f"{kind} with groups={module.groups} (only groups=1)")
    if module.padding_mode not in ("zeros", "circular"):
        raise refused(f"{kind} with padding_mode={module.padding_mode!r} (only 'zeros' or 'circular')")
    sizes, strides, dilations = module.kernel_size, module.stride, module.dilation
    pads = _pads(module)
    fan_in = module.in_channels * math.prod(sizes)
    known = _variances(module, fan_in, variances)
    padding: str = module.padding_mode
    if sizes[0] > 1 and not any(p for pair in pads for p in pair):
        padding = "valid"
    low = (sizes[0] - 1) // 2
    centred = padding == "valid" or all(pair == (low, sizes[0] - 1 - low) for pair in pads)
    if len({*sizes}) == 1 and len({*strides}) == 1 and {*dilations} == {1} and centred:
        layer: Layer = Conv(sizes[0], strides[0], padding, *known)
    else:
        layer = GeneralConv(sizes, strides, pads, dilations, module.padding_mode == "circular", *known)
    return input.then(layer, width=module.out_channels, source=module, name=name)


def _pads(module: nn.Conv1d | nn.Conv2d) -> tuple[tuple[int, int], ...]:
    """Pixels of padding before and after each axis; 'same' puts the odd one after."""
    if module.padding == "valid":
        return ((0, 0),) * len(module.kernel_size)
    if isinstance(module.padding, str):
        totals = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size)]
        return tuple((total // 2, total - total // 2) for total in totals)
    return tuple((p, p) for p in module.padding)


def _flatten(module: nn.Flatten, input: Signal) -> Signal:
    return flattened(input, module.start_dim, module.end_dim)


def _layer_norm(module: nn.LayerNorm, input: Signal) -> Signal:
    if len(module.normalized_shape) == 1:
        _require_vectors("LayerNorm", input)
        return scaled("LayerNorm", input.then(LayerNorm(module.eps)), module.weight, module.bias)
    if tuple(module.normalized_shape) != input.shape or len(input.seen) != len(input.shape) + 1:
        raise refused(f"LayerNorm over {tuple(module.normalized_shape)} of a tensor {tuple(input.seen)}")
    return scaled("LayerNorm", input.then(GroupNorm(1, module.eps)), module.weight, module.bias)


FEWEST = 8  # channels of a group from which its mean and variance are taken for those of infinitely many


def _group_norm(module: nn.GroupNorm, input: Signal) -> Signal:
    each = module.num_channels // module.num_groups
    if each < FEWEST:
        raise refused(f"GroupNorm with {each} channels per group (the limit needs many; {FEWEST} at least)")
    return scaled("GroupNorm", input.then(GroupNorm(module.num_groups, module.eps)), module.weight, module.bias)


def _rms_norm(module: nn.RMSNorm, input: Signal) -> Signal:
    if len(module.normalized_shape) != 1:
        raise refused(f"RMSNorm over {len(module.normalized_shape)} axes (only over the channels of flat inputs)")
    _require_vectors("RMSNorm", input)
    epsilon = (
        torch.finfo(torch.float64).eps if module.eps is None else module.eps
    )  # torch's default, in float64 as read
    return scaled("RMSNorm", input.then(RMSNorm(epsilon)), module.weight, None)


def _batch_norm(module: nn.BatchNorm1d | nn.BatchNorm2d, input: Signal) -> Signal:
    """Read batch normalisation in evaluation mode where all channels have the same factor and no shift."""
    name = type(module).__name__
    mean, variance = module.running_mean, module.running_var
    if module.training or mean is None or variance is None:
        raise refused(
            f"{name} in training, by the statistics of the batch (in evaluation mode, .eval(), it may convert)"
        )
    if len(input.seen) != len(input.shape) + 1:
        raise refused(f"{name} of a tensor {tuple(input.seen)}")
    factor = (variance + module.eps).rsqrt()
    if module.weight is not None:
        factor = factor * module.weight.detach()
    shift = -mean * factor if module.bias is None else module.bias.detach() - mean * factor
    return scaled(f"{name} in evaluation mode", input, factor, shift)


def scaled(who: str, input: Signal, weight: torch.Tensor | None, bias: torch.Tensor | None) -> Signal:
    """After a norm's own factors and shifts: one factor for all channels, and no shift."""
    if bias is not None and bool((bias != 0).any()):
        raise refused(f"{who} with a bias other than 0")
    if weight is None or bool((weight == 1).all()):
        return input
    if bool((weight != weight.flatten()[0]).any()):
        raise refused(f"{who} with weights that differ between channels (the channels are then not alike)")
    return input.then(Scale(float(weight.flatten()[0])))


def _dropout(module: nn.Dropout, input: Signal) -> Signal:
    return dropout(input, module.p, module.training)


def _rectified(module: nn.PReLU, input: Signal) -> Signal:
    """PReLU with one slope for all channels; its own training is left out, as that of the factors of norms is."""
    slopes = module.weight.detach()
    if bool((slopes != slopes[0]).any()):
        raise refused("PReLU with slopes that differ between channels (the channels are then not alike)")
    return input.then(Activation(LeakyReLU(float(slopes[0]))))


def _average_1d(module: nn.AvgPool1d, input: Signal) -> Signal:
    return average_pool(
        input, module.kernel_size, module.stride, module.padding, module.ceil_mode, module.count_include_pad
    )


def _average_2d(module: nn.AvgPool2d, input: Signal) -> Signal:
    settings = (module.kernel_size, module.stride, module.padding, module.ceil_mode, module.count_include_pad)
    return average_pool(input, *settings, module.divisor_override)


def _fixed(layer: Layer) -> Callable[..., Signal]:
    return lambda module, input: input.then(layer)


def _anew(kind: type[nn.Module], *settings: str) -> Callable[..., Signal]:
    """By quadrature of a module of this type with the same settings."""
    return lambda module, input: input.then(quadrature(kind(**{s: getattr(module, s) for s in settings})))


READERS: dict[type[nn.Module], Callable[..., Signal]] = {
    nn.Identity: lambda module, input: input,
    nn.ReLU: _fixed(Activation("relu")),
    nn.Tanh: _fixed(Activation("tanh")),
    nn.Sigmoid: _fixed(Activation("sigmoid")),
    nn.SiLU: _fixed(Activation("silu")),
    nn.GELU: lambda module, input: input.then(
        Activation("gelu") if module.approximate == "none" else quadrature(nn.GELU(module.approximate))
    ),
    nn.PReLU: _rectified,
    nn.Threshold: lambda module, input: thresholded(input, module.threshold, module.value),
    nn.LeakyReLU: lambda module, input: input.then(Activation(LeakyReLU(module.negative_slope))),
    nn.Softplus: _anew(nn.Softplus, "beta", "threshold"),
    nn.ELU: _anew(nn.ELU, "alpha"),
    nn.CELU: _anew(nn.CELU, "alpha"),
    nn.SELU: _anew(nn.SELU),
    nn.Mish: _anew(nn.Mish),
    nn.Hardswish: _anew(nn.Hardswish),
    nn.Hardsigmoid: _anew(nn.Hardsigmoid),
    nn.Hardtanh: _anew(nn.Hardtanh, "min_val", "max_val"),
    nn.ReLU6: _anew(nn.ReLU6),
    nn.LogSigmoid: _anew(nn.LogSigmoid),
    nn.Softsign: _anew(nn.Softsign),
    nn.Tanhshrink: _anew(nn.Tanhshrink),
    nn.Flatten: _flatten,
    nn.Dropout: _dropout,
    nn.Dropout1d: lambda module, input: channel_dropout(input, module.p, module.training),
    nn.Dropout2d: lambda module, input: channel_dropout(input, module.p, module.training),
    nn.AvgPool1d: _average_1d,
    nn.AvgPool2d: _average_2d,
    nn.AdaptiveAvgPool1d: lambda module, input: global_average(input, module.output_size),
    nn.AdaptiveAvgPool2d: lambda module, input: global_average(input, module.output_size),
    nn.LayerNorm: _layer_norm,
    nn.GroupNorm: _group_norm,
    nn.RMSNorm: _rms_norm,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.ZeroPad1d: lambda module, input: padded(input, module.padding),
    nn.ZeroPad2d: lambda module, input: padded(input, module.padding),
}
