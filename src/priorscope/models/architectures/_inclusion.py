"""The inclusions GAP ⊆ VEC ⊆ LCN ⊆ wide VEC, made constructive: weights of one network from those of another."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TypeVar

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


Hidden = TypeVar("Hidden", ConvModule, LocallyConnectedModule)


def _exact(network: nn.Module) -> bool:
    """Whether all parts do what their classes say: no subclass may change a forward, and no hook what comes out."""
    known = (
        nn.Sequential,
        nn.Flatten,
        ConvModule,
        LocallyConnectedModule,
        ActivationModule,
        GlobalPoolModule,
        DenseModule,
    )
    return all(type(m) in known and not m._forward_hooks and not m._forward_pre_hooks for m in network.modules())


def _split(
    network: nn.Module, hidden: type[Hidden], pooled: bool, wanted: str
) -> tuple[list[Hidden], list[Activation], DenseModule]:
    """Hidden modules, the activations behind them and the readout of a network that was made by ``wanted``."""
    modules: list[nn.Module] = list(network) if isinstance(network, nn.Sequential) and _exact(network) else []
    body, end = modules[:-2], modules[-2:]
    filters = [m for m in body[::2] if isinstance(m, hidden)]
    activations = [Activation(m.phi) for m in body[1::2] if isinstance(m, ActivationModule)]
    if len(body) >= 2 and len(body) == len(filters) + len(activations):
        pool, readout = end
        right = isinstance(pool, GlobalPoolModule) and pool.mean if pooled else isinstance(pool, nn.Flatten)
        if right and isinstance(readout, DenseModule):
            return filters, activations, readout
    raise TypeError(
        f"this inclusion starts from a network made by priorscope.models.{wanted}(...).network(...); got "
        f"{type(network).__name__}. Antisymmetric networks: pass their halves, .plus and .minus."
    )


def _joined(filters: Iterable[Layer], activations: Iterable[Layer], readout: DenseModule) -> tuple[Layer, ...]:
    """The layers of a network: filters with their activations, flattening, the readout."""
    pairs = [layer for pair in zip(filters, activations) for layer in pair]
    return (*pairs, Flatten(), readout.layer)


def _set(target: Tensor | None, value: Tensor, scale: float) -> None:
    """Write a parameter whose forward scale is ``scale`` so that it acts as ``value``."""
    assert target is not None
    target.copy_(value / scale)


def _empty(
    layers: tuple[Layer, ...], name: str, shape: Shape, width: int, like: DenseModule
) -> tuple[nn.Module, list[nn.Module], DenseModule]:
    """The network to fill, with its hidden filters and its readout."""
    weight = like.weight
    network = Architecture(name, layers).network(shape, width, weight.shape[0], dtype=weight.dtype).to(weight.device)
    assert isinstance(network, nn.Sequential)
    readout = network[-1]
    assert isinstance(readout, DenseModule)
    return network, list(network)[:-2:2], readout


def gap_to_vec(network: nn.Module, input_shape: Shape) -> nn.Module:
    """A VEC network of the same width with the same outputs: the readout is copied to every pixel and divided by their number.

    Example:
        >>> import torch, priorscope as ps
        >>> gap = ps.models.gap(depth=2).network((3, 4, 4), width=5, seed=0)
        >>> x = torch.randn(6, 3, 4, 4)
        >>> bool(torch.allclose(gap_to_vec(gap, (3, 4, 4))(x), gap(x), atol=1e-5))
        True
    """
    filters, activations, readout = _split(network, ConvModule, True, "gap")
    layers = _joined((m.layer for m in filters), activations, readout)
    width = filters[-1].weight.shape[0]
    out, targets, head = _empty(layers, "vec", input_shape, width, readout)
    with torch.no_grad():
        for source, target in zip(filters, targets):
            _copy(source, target)
        n_pixels = head.weight.shape[1] // width
        weight = readout.weight * readout.scale  # (outputs, width)
        _set(head.weight, weight[:, :, None].expand(-1, -1, n_pixels).flatten(1) / n_pixels, head.scale)
        if readout.bias is not None:
            _set(head.bias, readout.bias * readout.bias_scale, head.bias_scale)
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
    filters, activations, readout = _split(network, ConvModule, False, "vec")
    layers = _joined((_local(m.layer) for m in filters), activations, readout)
    out, targets, head = _empty(layers, "lcn", input_shape, filters[-1].weight.shape[0], readout)
    with torch.no_grad():
        for source, target in zip(filters, targets):
            assert isinstance(target, LocallyConnectedModule)
            _set(target.weight, (source.weight * source.scale).flatten(1).expand(target.weight.shape), target.scale)
            if source.bias is not None:
                assert target.bias is not None
                value = source.bias * source.bias_scale
                _set(target.bias, value[:, None].expand(target.bias.shape), target.bias_scale)
        _copy(readout, head)
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
    filters, activations, readout = _split(network, LocallyConnectedModule, False, "lcn")
    layers = _joined((_shared(m.layer) for m in filters), activations, readout)
    width = filters[-1].weight.shape[1]
    spaces = [m.out_space for m in filters]
    wide = width * max(prod(space) for space in spaces)
    out, targets, head = _empty(layers, "vec", input_shape, wide, readout)
    space_before: tuple[int, ...] | None = None
    with torch.no_grad():
        for source, target in zip(filters, targets):
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
        small = (readout.weight * readout.scale).reshape(-1, width, n_pixels)
        large = torch.zeros(len(small), wide, n_pixels, dtype=small.dtype, device=small.device)
        for pixel in range(n_pixels):
            large[:, pixel * width : (pixel + 1) * width, pixel] = small[:, :, pixel]
        _set(head.weight, large.flatten(1), head.scale)
        if readout.bias is not None:
            _set(head.bias, readout.bias * readout.bias_scale, head.bias_scale)
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
