"""Which layers a function of torch, or a method of a tensor, is.

Each reader has the signature of what it reads, so that an argument it does not know is refused when the call is bound to it.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from priorscope.models.architectures.reading._refusal import refused
from priorscope.models.architectures.reading._signal import Signal
from priorscope.models.layers._activation import Activation
from priorscope.models.layers._dropout import Dropout
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._general_pool import GeneralAvgPool, ZeroPad
from priorscope.models.layers._global_pool import GlobalAvgPool, GlobalSumPool
from priorscope.models.layers._scale import Scale
from priorscope.models.layers._window_pool import AvgPool
from priorscope.models.nonlinearities import LeakyReLU, Monomial, Nonlinearity, Quadrature

__all__ = [
    "CALLS",
    "average_pool",
    "bound",
    "channel_dropout",
    "dropout",
    "flattened",
    "global_average",
    "number",
    "padded",
    "quadrature",
    "thresholded",
]

Reader = Callable[..., Signal]
Sizes = int | Sequence[int]
_FAR = 1e30  # below every number of a Gaussian


def bound(what: str, reader: Reader, args: Sequence[object], kwargs: dict[str, object]) -> Signal:
    """The reader's answer; refused where the call has arguments that the reader does not know."""
    try:
        inspect.signature(reader).bind(*args, **kwargs)
    except TypeError as error:
        given = [*(repr(a) for a in args[1:]), *(f"{k}={v!r}" for k, v in kwargs.items())]
        raise refused(f"{what} with the arguments ({', '.join(given)}): {error}") from error
    try:
        return reader(*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise refused(f"{what} with these arguments: {error}") from error


def number(value: object, what: str) -> float:
    """A constant factor: a number, or a tensor that is the same everywhere."""
    if isinstance(value, nn.Parameter):
        raise refused(f"{what} a trained parameter (its own gradient is not in the kernel)")
    if isinstance(value, torch.Tensor):
        if value.numel() == 0 or value.is_complex() or not bool((value == value.flatten()[0]).all()):
            raise refused(f"{what} a tensor whose numbers differ")
        value = value.flatten()[0].item()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise refused(f"{what} {value!r}")
    return float(value)


def quadrature(module: nn.Module) -> Activation:
    """A pointwise torch module, by quadrature; the module is one of our own making, without hooks or in-place work."""
    return Activation(Quadrature(module))


def _pointwise(fn: str | Nonlinearity) -> Reader:
    def read(input: Signal) -> Signal:
        return input.then(Activation(fn))

    return read


def _pointwise_inplace(fn: str) -> Reader:
    def read(input: Signal, inplace: bool = False) -> Signal:
        return input.then(Activation(fn))

    return read


def _gelu(input: Signal, approximate: str = "none") -> Signal:
    return input.then(Activation("gelu") if approximate == "none" else quadrature(nn.GELU(approximate)))


def _leaky_relu(input: Signal, negative_slope: float = 0.01, inplace: bool = False) -> Signal:
    return input.then(Activation(LeakyReLU(number(negative_slope, "leaky_relu with the slope"))))


def _softplus(input: Signal, beta: float = 1.0, threshold: float = 20.0) -> Signal:
    return input.then(quadrature(nn.Softplus(beta, threshold)))


def _elu(input: Signal, alpha: float = 1.0, inplace: bool = False) -> Signal:
    return input.then(quadrature(nn.ELU(alpha)))


def _celu(input: Signal, alpha: float = 1.0, inplace: bool = False) -> Signal:
    return input.then(quadrature(nn.CELU(alpha)))


def _hardtanh(input: Signal, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Signal:
    return input.then(quadrature(nn.Hardtanh(min_val, max_val)))


def _plain(kind: type[nn.Module]) -> Reader:
    def read(input: Signal, inplace: bool = False) -> Signal:
        return input.then(quadrature(kind()))

    return read


def _clamp(input: Signal, min: float | None = None, max: float | None = None) -> Signal:
    """Between two numbers, or above or below one."""
    low = None if min is None else number(min, "clamp to")
    high = None if max is None else number(max, "clamp to")
    if low == 0 and high is None:
        return input.then(Activation("relu"))
    if high is None:
        return input if low is None else thresholded(input, low, low)
    return input.then(quadrature(nn.Hardtanh(-_FAR if low is None else low, high)))


def thresholded(input: Signal, threshold: float, value: float, inplace: bool = False) -> Signal:
    """Above a threshold, its own value below: what jumps there has no tangent kernel."""
    if threshold != value:
        raise refused(f"a Threshold that jumps from {value} to {threshold} (the tangent kernel of a jump is infinite)")
    return input.then(Activation("relu") if value == 0 else quadrature(nn.Threshold(threshold, value)))


def _clamp_min(input: Signal, min: float) -> Signal:
    return _clamp(input, min)


def _clamp_max(input: Signal, max: float) -> Signal:
    return _clamp(input, None, max)


def _power(input: Signal, exponent: float) -> Signal:
    degree = number(exponent, "a power with the exponent")
    if degree == 1:
        return input
    if degree < 1 or degree != int(degree):
        raise refused(f"the power {exponent} (only 1, 2, 3 …)")
    return input.then(Activation(Monomial(int(degree))))


def _square(input: Signal) -> Signal:
    return _power(input, 2)


def _negative(input: Signal) -> Signal:
    return input.then(Scale(-1.0))


def dropout(input: Signal, p: float = 0.5, training: bool = True, inplace: bool = False) -> Signal:
    """Dropout of single numbers; nothing when not training."""
    return input.then(Dropout(float(p))) if training and p else input


def channel_dropout(input: Signal, p: float = 0.5, training: bool = True, inplace: bool = False) -> Signal:
    """Dropout of whole channels; nothing when not training."""
    if training and p and len(input.shape) != len(input.seen) - 1:
        raise refused(f"dropout of whole channels of a tensor {tuple(input.seen)}")
    return input.then(Dropout(float(p), whole_channels=True)) if training and p else input


def padded(input: Signal, pad: Iterable[int], mode: str = "constant", value: float | None = None) -> Signal:
    """Zeros around the pixels; ``pad`` counts them from the last axis on."""
    pads = tuple(pad)
    if (
        mode != "constant"
        or value not in (None, 0)
        or len(pads) % 2
        or not all(isinstance(p, int) and p >= 0 for p in pads)
    ):
        raise refused(f"pad with {pads}, mode={mode!r}, value={value} (only with zeros, and not cutting)")
    n_space = len(input.shape) - 1
    pairs = [pads[i : i + 2] for i in range(0, len(pads), 2)]
    if not n_space or len(input.seen) != n_space + 2 or len(pairs) > n_space:
        raise refused(f"pad of {len(pairs)} axes of a tensor {tuple(input.seen)} (only of pixels)")
    pairs += [(0, 0)] * (n_space - len(pairs))
    return input.then(ZeroPad(tuple((low, high) for low, high in reversed(pairs))))


def flattened(input: Signal, start_dim: int = 0, end_dim: int = -1) -> Signal:
    n_axes = len(input.seen)
    if n_axes == 4 and len(input.shape) == 3 and (start_dim % n_axes, end_dim % n_axes) == (2, 3):
        return replace(input, merged=True)
    if start_dim % n_axes != 1 or end_dim % n_axes != n_axes - 1:
        raise refused(f"flatten from axis {start_dim} to {end_dim} (only from 1, or from 2 of images, to the last)")
    return input.then(Flatten())


def _reshaped(input: Signal, *shape: object) -> Signal:
    """``view`` and ``reshape``: only to one vector per sample, or to the shape that is there."""
    wanted = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
    n, numbers = input.seen[0], math.prod(input.seen[1:])
    if all(isinstance(s, int) for s in wanted):
        if len(wanted) == 2 and wanted in ([n, -1], [-1, numbers], [n, numbers]):
            return input.then(Flatten())
        if wanted == list(input.seen) or wanted == [-1, *input.seen[1:]]:
            return input
    raise refused(f"a reshape of {tuple(input.seen)} to {tuple(wanted)} (only to one vector per sample)")


def _reshaped_function(input: Signal, shape: object) -> Signal:
    return _reshaped(input, shape)


def _squeezed(input: Signal, dim: int | None = None) -> Signal:
    """Axes of length one dropped, never the batch or the channels (but a single output at the end)."""
    n_axes = len(input.seen)
    axes = range(n_axes) if dim is None else [dim % n_axes]
    dropped = {a for a in axes if input.seen[a] == 1}
    if 0 in dropped or (1 in dropped and max(input.seen[1:]) > 1):
        raise refused(f"squeeze of the batch or channel axis of {tuple(input.seen)}")
    return input.then(Flatten()) if dropped and len(input.shape) > 1 and n_axes - len(dropped) <= 2 else input


def _same(input: Signal) -> Signal:
    return input


def _pooled(mean: bool) -> Reader:
    """Means and sums over all pixels, and means over one axis of images."""

    name = "mean" if mean else "sum"

    def read(input: Signal, dim: int | Iterable[int] | None = None, keepdim: bool = False) -> Signal:
        n_axes = len(input.seen)
        axes = {a % n_axes for a in ([dim] if isinstance(dim, int) else dim or [])}
        pixels = 1 if input.merged else len(input.shape) - 1
        if mean and n_axes == 4 and pixels == 2 and len(axes) == 1 and axes < {2, 3}:
            windows = tuple(input.shape[a - 1] if a in axes else 1 for a in (2, 3))
            return replace(input.then(GeneralAvgPool(windows, windows, (0, 0), True)), merged=not keepdim)
        if n_axes < 3 or pixels != n_axes - 2 or axes != set(range(2, n_axes)):
            raise refused(
                f"{name} over axes {dim} of a tensor {tuple(input.seen)} (only over all pixels, or their mean over one axis)"
            )
        return input.then(GlobalAvgPool() if mean else GlobalSumPool())

    return read


def average_pool(
    input: Signal,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Signal:
    """Means over windows; another divisor is a constant factor."""
    n_space = len(input.shape) - 1
    windows, pads = per_axis(kernel_size, n_space), per_axis(padding, n_space)
    strides = windows if stride is None or stride == () or stride == [] else per_axis(stride, n_space)
    if ceil_mode and any((s + 2 * p - w) % t for s, w, t, p in zip(input.shape[1:], windows, strides, pads)):
        raise refused("an average pool with ceil_mode where windows stick out")
    if len({*windows}) > 1 or len({*strides}) > 1 or any(pads):
        pooled = input.then(GeneralAvgPool(windows, strides, pads, count_include_pad or divisor_override is not None))
    else:
        pooled = input.then(AvgPool(windows[0], strides[0]))
    if divisor_override is None:
        return pooled
    return pooled.then(Scale(math.prod(windows) / number(divisor_override, "an average pool divided by")))


def per_axis(value: Sizes, n_space: int) -> tuple[int, ...]:
    """A setting of each spatial axis."""
    values = (value,) * n_space if isinstance(value, int) else tuple(value)
    if len(values) == 1:
        values = values * n_space
    if len(values) != n_space or not all(isinstance(v, int) for v in values):
        raise refused(f"the setting {value!r} on {n_space} spatial axes")
    return values


def global_average(input: Signal, output_size: Sizes) -> Signal:
    """Adaptive pools that leave one pixel."""
    sizes = (output_size,) if isinstance(output_size, int) else tuple(output_size)
    if any(size != 1 for size in sizes):
        raise refused(f"an adaptive average pool to {output_size} pixels (only to 1)")
    return input.then(GlobalAvgPool())


_RELU, _TANH, _SIGMOID = _pointwise("relu"), _pointwise("tanh"), _pointwise("sigmoid")
CALLS: dict[object, Reader] = {
    **dict.fromkeys((torch.relu, torch.relu_, "relu", "relu_", F.relu_), _RELU),
    F.relu: _pointwise_inplace("relu"),
    **dict.fromkeys((torch.tanh, F.tanh, "tanh", "tanh_", torch.tanh_), _TANH),
    **dict.fromkeys((torch.sigmoid, F.sigmoid, torch.special.expit, "sigmoid", "sigmoid_"), _SIGMOID),
    **dict.fromkeys((torch.erf, torch.special.erf, "erf"), _pointwise("erf")),
    **dict.fromkeys((torch.sin, "sin"), _pointwise("sine")),
    **dict.fromkeys((torch.cos, "cos"), _pointwise("cosine")),
    **dict.fromkeys((torch.abs, torch.absolute, operator.abs, "abs", "absolute"), _pointwise("abs")),
    **dict.fromkeys((torch.sign, "sign"), _pointwise("sign")),
    **dict.fromkeys((torch.exp, "exp"), _pointwise("exponential")),
    F.silu: _pointwise_inplace("silu"),
    F.gelu: _gelu,
    F.leaky_relu: _leaky_relu,
    F.softplus: _softplus,
    F.elu: _elu,
    F.celu: _celu,
    F.selu: _plain(nn.SELU),
    F.mish: _plain(nn.Mish),
    F.hardswish: _plain(nn.Hardswish),
    F.hardsigmoid: _plain(nn.Hardsigmoid),
    F.relu6: _plain(nn.ReLU6),
    F.hardtanh: _hardtanh,
    F.softsign: _pointwise(Quadrature(nn.Softsign())),
    F.logsigmoid: _pointwise(Quadrature(nn.LogSigmoid())),
    F.tanhshrink: _pointwise(Quadrature(nn.Tanhshrink())),
    **dict.fromkeys((torch.clamp, "clamp", torch.clip, "clip"), _clamp),
    **dict.fromkeys((torch.clamp_min, "clamp_min"), _clamp_min),
    **dict.fromkeys((torch.clamp_max, "clamp_max"), _clamp_max),
    **dict.fromkeys((F.threshold, torch.threshold), thresholded),
    **dict.fromkeys((torch.square, "square"), _square),
    **dict.fromkeys((torch.pow, "pow", operator.pow), _power),
    **dict.fromkeys((torch.neg, torch.negative, operator.neg, "neg", "negative"), _negative),
    F.dropout: dropout,
    **dict.fromkeys((F.dropout1d, F.dropout2d), channel_dropout),
    F.pad: padded,
    **dict.fromkeys((torch.flatten, "flatten"), flattened),
    **dict.fromkeys(("view", "reshape"), _reshaped),
    torch.reshape: _reshaped_function,
    **dict.fromkeys((torch.squeeze, "squeeze"), _squeezed),
    "contiguous": _same,
    **dict.fromkeys((torch.mean, "mean"), _pooled(mean=True)),
    **dict.fromkeys((torch.sum, "sum"), _pooled(mean=False)),
    **dict.fromkeys((F.avg_pool1d, F.avg_pool2d), average_pool),
    **dict.fromkeys((F.adaptive_avg_pool1d, F.adaptive_avg_pool2d), global_average),
}
