"""The inclusions GAP ⊆ VEC ⊆ LCN ⊆ wide VEC, made constructive: weights of one network from those of another."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from priorscope.models.architectures._architecture import Architecture
from priorscope.models.layers._activation import Activation, ActivationModule
from priorscope.models.layers._conv import Conv, ConvModule
from priorscope.models.layers._dense import DenseModule
from priorscope.models.layers._flatten import Flatten
from priorscope.models.layers._global_pool import GlobalPoolModule
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.layers._locally_connected import LocallyConnected, LocallyConnectedModule
from priorscope.models.layers._taps import tap_positions

__all__ = ["gap_to_vec", "lcn_to_vec", "vec_to_lcn"]


def _split(network: nn.Module, hidden: type, pooled: bool, wanted: str) -> tuple[list[Any], Any]:
    """Hidden modules and readout of a network that was made by ``wanted``."""
    modules: list[Any] = list(network) if isinstance(network, nn.Sequential) else []
    fits = (
        len(modules) >= 4
        and isinstance(modules[-1], DenseModule)
        and isinstance(modules[-2], GlobalPoolModule if pooled else nn.Flatten)
        and (not pooled or modules[-2].mean)
        and all(isinstance(m, hidden) for m in modules[:-2:2])
        and all(isinstance(m, ActivationModule) for m in modules[1:-2:2])
    )
    if not fits:
        raise TypeError(
            f"this inclusion starts from a network made by priorscope.models.{wanted}(...).network(...); got "
            f"{type(network).__name__}. Antisymmetric networks: pass their halves, .plus and .minus."
        )
    return modules[:-2], modules[-1]


def _set(target: Tensor | None, value: Tensor, scale: float) -> None:
    """Write a parameter whose forward scale is ``scale`` so that it acts as ``value``."""
    assert target is not None
    target.copy_(value / scale)


def _empty(layers: tuple[Layer, ...], name: str, shape: Shape, width: int, like: Tensor, outputs: int) -> Any:
    network = Architecture(name, layers).network(shape, width, outputs, dtype=like.dtype).to(like.device)
    return network


def gap_to_vec(network: nn.Module, input_shape: Shape) -> nn.Module:
    """A VEC network of the same width with the same outputs: the readout is copied to every pixel and divided by their number.

    Example:
        >>> import torch, priorscope as ps
        >>> gap = ps.models.gap(depth=2).network((3, 4, 4), width=5, seed=0)
        >>> x = torch.randn(6, 3, 4, 4)
        >>> bool(torch.allclose(gap_to_vec(gap, (3, 4, 4))(x), gap(x), atol=1e-5))
        True
    """
    hidden, readout = _split(network, ConvModule, True, "gap")
    layers = [m.layer if isinstance(m, ConvModule) else Activation(m.phi) for m in hidden]
    width = hidden[-2].weight.shape[0]
    weight = readout.weight * readout.scale  # (outputs, width)
    out = _empty((*layers, Flatten(), readout.layer), "vec", input_shape, width, weight, weight.shape[0])
    with torch.no_grad():
        for source, target in zip(hidden, out):
            _copy(source, target)
        n_pixels = out[-1].weight.shape[1] // width
        spread = weight[:, :, None].expand(-1, -1, n_pixels).flatten(1) / n_pixels
        _set(out[-1].weight, spread, out[-1].scale)
        if readout.bias is not None:
            _set(out[-1].bias, readout.bias * readout.bias_scale, out[-1].bias_scale)
    return out


def vec_to_lcn(network: nn.Module, input_shape: Shape) -> nn.Module:
    """An LCN of the same width with the same outputs: the filter is copied to every pixel.

    Example:
        >>> import torch, priorscope as ps
        >>> vec = ps.models.vec(depth=2).network((3, 6), width=5, seed=0)
        >>> x = torch.randn(6, 3, 6)
        >>> bool(torch.allclose(vec_to_lcn(vec, (3, 6))(x), vec(x), atol=1e-5))
        True
    """
    hidden, readout = _split(network, ConvModule, False, "vec")
    layers = tuple(_local(m.layer) if isinstance(m, ConvModule) else Activation(m.phi) for m in hidden)
    width = hidden[-2].weight.shape[0]
    out = _empty(
        (*layers, Flatten(), readout.layer), "lcn", input_shape, width, readout.weight, readout.weight.shape[0]
    )
    with torch.no_grad():
        for source, target in zip(hidden, out):
            if isinstance(source, ConvModule):
                assert isinstance(target, LocallyConnectedModule)
                filters = (source.weight * source.scale).flatten(1)
                _set(target.weight, filters.expand(target.weight.shape), target.scale)
                if source.bias is not None:
                    assert target.bias is not None
                    value = source.bias * source.bias_scale
                    _set(target.bias, value[:, None].expand(target.bias.shape), target.bias_scale)
        _copy(readout, out[-1])
    return out


def lcn_to_vec(network: nn.Module, input_shape: Shape) -> nn.Module:
    """A VEC network, as many times wider as there are pixels, with the same outputs as the LCN.

    Channel (α, j) carries neuron j of pixel α. Its filter reads, at the tap that leads from α to α', only channels (α', ·);
    the readout reads channels (α, ·) at pixel α only. What the other channels hold at other pixels is never used.

    Example:
        >>> import torch, priorscope as ps
        >>> lcn = ps.models.lcn(depth=2).network((3, 6), width=2, seed=0)
        >>> x = torch.randn(4, 3, 6)
        >>> bool(torch.allclose(lcn_to_vec(lcn, (3, 6))(x), lcn(x), atol=1e-4))
        True
    """
    hidden, readout = _split(network, LocallyConnectedModule, False, "lcn")
    layers = tuple(_shared(m.layer) if isinstance(m, LocallyConnectedModule) else Activation(m.phi) for m in hidden)
    width = hidden[-2].weight.shape[1]
    spaces = [m.out_space for m in hidden[::2]]
    wide = width * max(prod(space) for space in spaces)
    n_outputs = readout.weight.shape[0]
    out = _empty((*layers, Flatten(), readout.layer), "vec", input_shape, wide, readout.weight, n_outputs)
    space_before: tuple[int, ...] | None = None
    with torch.no_grad():
        for source, target in zip(hidden[::2], out[:-2:2]):
            assert isinstance(source, LocallyConnectedModule)
            assert isinstance(target, ConvModule)
            space_in = tuple(input_shape[1:]) if space_before is None else space_before
            _set(target.weight, _wide_filters(source, target.weight, space_in, space_before is None), target.scale)
            if source.bias is not None:
                assert target.bias is not None
                bias = torch.zeros_like(target.bias)
                value = (source.bias * source.bias_scale).mT.flatten()  # (pixels * channels)
                bias[: len(value)] = value
                _set(target.bias, bias, target.bias_scale)
            space_before = tuple(source.out_space)
        n_pixels = prod(spaces[-1])
        small = (readout.weight * readout.scale).reshape(n_outputs, width, n_pixels)
        large = torch.zeros(n_outputs, wide, n_pixels, dtype=small.dtype, device=small.device)
        for pixel in range(n_pixels):
            large[:, pixel * width : (pixel + 1) * width, pixel] = small[:, :, pixel]
        _set(out[-1].weight, large.flatten(1), out[-1].scale)
        if readout.bias is not None:
            _set(out[-1].bias, readout.bias * readout.bias_scale, out[-1].bias_scale)
    return out


def _local(layer: Conv) -> LocallyConnected:
    return LocallyConnected(layer.kernel_size, layer.stride, layer.padding, layer.weight_variance, layer.bias_variance)


def _shared(layer: LocallyConnected) -> Conv:
    return Conv(layer.kernel_size, layer.stride, layer.padding, layer.weight_variance, layer.bias_variance)


def _copy(source: nn.Module, target: nn.Module) -> None:
    """Same shapes: let ``target`` act as ``source`` does."""
    if not isinstance(source, (ConvModule, DenseModule)):
        return
    assert isinstance(target, type(source))
    _set(target.weight, source.weight * source.scale, target.scale)
    if source.bias is not None:
        _set(target.bias, source.bias * source.bias_scale, target.bias_scale)


def _wide_filters(source: LocallyConnectedModule, like: Tensor, space: tuple[int, ...], first: bool) -> Tensor:
    """Filters ``(wide, channels in, *taps)`` whose channel (α, j) does at pixel α what ``source`` does there."""
    n_pixels, width, _ = source.weight.shape
    n_space = len(space)
    taps = source.kernel_size**n_space
    own = (source.weight * source.scale).reshape(n_pixels, width, -1, taps)  # (α, j, i, β)
    n_in = own.shape[2]
    filters = torch.zeros(like.shape, dtype=like.dtype, device=like.device).flatten(2)  # (wide, wide or input, taps)
    where = [tap_positions(size, source.kernel_size, source.stride, source.padding) for size in space]
    for alpha in range(n_pixels):
        rows = slice(alpha * width, (alpha + 1) * width)
        if first:
            filters[rows] = own[alpha]
            continue
        at = _unravel(alpha, source.out_space)
        for beta in range(taps):
            tap = _unravel(beta, (source.kernel_size,) * n_space)
            if not all(bool(inside[a, t]) for (_, inside), a, t in zip(where, at, tap)):
                continue  # the tap falls on zero padding
            origin = 0
            for (position, _), size, a, t in zip(where, space, at, tap):
                origin = origin * size + int(position[a, t])
            filters[rows, origin * n_in : (origin + 1) * n_in, beta] = own[alpha, :, :, beta]
    return filters.reshape(like.shape)


def _unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    out = []
    for size in reversed(shape):
        out.append(index % size)
        index //= size
    return tuple(reversed(out))
