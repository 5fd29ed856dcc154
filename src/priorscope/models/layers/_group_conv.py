"""Convolution over the turns and mirrors of the square as well as over pixels, and the mean over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import VARIANCE, checked, whole
from priorscope.models.kernels._covariance import Covariance
from priorscope.models.kernels._need import Need
from priorscope.models.layers._checks import check_padding
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["GroupConv", "GroupPool"]

POINT_GROUPS = {"p4": 4, "p4m": 8}  # quarter turns; with mirror images


def _turned(x: Tensor, element: int) -> Tensor:
    """Element k < 4 of the group turns by k quarters; k + 4 mirrors left-right first."""
    return torch.rot90(x.flip(-1) if element >= 4 else x, element % 4, (-2, -1))


@lru_cache
def _divided(order: int) -> Tensor:
    """Table (order, order): the number of the element g^-1 h, found by what elements do to a square of different numbers."""
    probe = torch.arange(9).reshape(3, 3)
    images = [_turned(probe, g) for g in range(order)]
    table = torch.empty(order, order, dtype=torch.long)
    for g in range(order):
        for v in range(order):  # h = g v
            product = _turned(images[v], g)
            h = next(k for k in range(order) if torch.equal(images[k], product))
            table[g, h] = v
    return table


@checked(kernel_size=whole(), weight_variance=VARIANCE, bias_variance=VARIANCE)
@dataclass(frozen=True)
class GroupConv(Layer):
    r"""One filter, seen under every quarter turn ("p4") and mirror image ("p4m"), at every pixel.

    .. math:: F'(g, x) = \sum_{h \in H}\sum_{\beta} \psi(g^{-1}h, \beta)\, F(h, x + g\beta)

    Cohen & Welling (2016), "Group equivariant convolutional networks", eqs. 10 and 11. Images (c, h, w) are lifted (no sum over
    h), lifted signals (c, \|H\|, h, w) stay lifted. At infinite width, with q taps and the average over weights of :class:`Conv`,

    .. math:: K'_{(g,x),(g',x')} = \frac{\sigma_w^2}{q|H|}\sum_{v,\beta} K_{(gv,\,x+g\beta),(g'v,\,x'+g'\beta)} + \sigma_b^2

    and :math:`\Theta' = K' + \sigma_w^2 A(\Theta)`. Filters have an odd side, so that turns keep their centre.

    Holds: turning the input turns the output and moves its group axis, :math:`F'(g, x) \to F'(u^{-1}g, u^{-1}x)`.

    Example:
        >>> GroupConv(group="p4").output_shape((3, 8, 8), width=16), GroupConv(group="p4m").output_shape((16, 8, 8, 8), width=5)
        ((16, 4, 8, 8), (5, 8, 8, 8))
    """

    kernel_size: int = 3
    group: str = "p4"
    padding: str = "circular"
    weight_variance: float = 1.0
    bias_variance: float = 0.0

    def __post_init__(self) -> None:
        check_padding("GroupConv", self.padding)
        if self.group not in POINT_GROUPS:
            raise ValueError(f"GroupConv needs a group of {', '.join(POINT_GROUPS)}; got {self.group!r}.")
        if self.kernel_size % 2 == 0:
            raise ValueError(
                f"GroupConv needs an odd kernel_size, which turns about its middle; got {self.kernel_size}. Use 3 or 5."
            )
        if self.padding == "valid":
            raise ValueError("GroupConv needs padding='circular' or 'zeros'; got 'valid'.")

    @property
    def order(self) -> int:
        """Number of elements of the point group."""
        return POINT_GROUPS[self.group]

    @property
    def centres(self) -> bool | None:
        return True

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        """The lifted shape (width, order, side, side)."""
        lifted = len(shape) == 4
        if len(shape) not in (3, 4) or shape[-1] != shape[-2] or (lifted and shape[1] != self.order):
            raise ValueError(
                f"GroupConv over {self.group} needs square images (channels, side, side), or signals (channels, {self.order}, "
                f"side, side) of a layer over the same group; got shape {tuple(shape)}."
            )
        return (width, self.order, *shape[-2:])

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape, width)
        return GroupConvModule(shape, width, self, build)

    def need(self, after: Need) -> Need:
        return max(after, Need.DIAGONAL)

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        spatial = self.output_shape((1, *cov.spatial))[1:]
        where, inside = self._positions(cov.spatial)
        full = cov.kind is Need.FULL
        mix = lambda k: _mean_over_taps(k, cov.n_space, spatial, where, inside, full)  # noqa: E731
        return cov.affine(self.weight_variance, self.bias_variance, mix=mix, spatial=spatial)

    def _positions(self, spatial: Shape) -> tuple[Tensor, Tensor]:
        """Which input each output (g, x) reads at each (v, tap), as flat positions, and whether it lies inside: both (T, out)."""
        side, half = spatial[-1], self.kernel_size // 2
        taps = torch.arange(self.kernel_size**2).reshape(self.kernel_size, self.kernel_size)
        rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        lifted = self.order if len(spatial) == 3 else 1
        divided = _divided(self.order)
        where, inside = [], []
        for g in range(self.order):
            at = _turned(taps, g).flatten().argsort()  # place of tap t in the turned filter
            y = rows.flatten()[None] + (at // self.kernel_size - half)[:, None]  # (taps, pixels)
            x = columns.flatten()[None] + (at % self.kernel_size - half)[:, None]
            seen = (y >= 0) & (y < side) & (x >= 0) & (x < side)
            pixel = (y % side) * side + x % side
            h = divided[g].argsort()[:lifted] if lifted > 1 else torch.zeros(1, dtype=torch.long)  # g v for every v
            where.append((h[:, None, None] * side * side + pixel[None]).flatten(0, 1))
            inside.append(seen[None].expand(lifted, -1, -1).flatten(0, 1))
        masks = torch.cat(inside, 1)
        return torch.cat(where, 1), masks if self.padding == "zeros" else torch.ones_like(masks)


def _mean_over_taps(k: Tensor, n_space: int, spatial: Shape, where: Tensor, inside: Tensor, full: bool) -> Tensor:
    """The mean over taps and elements of K at the positions that two outputs read; ``k`` ends in ``*S`` or ``*S, *S``."""
    where, inside = where.to(k.device), inside.to(k)
    batch = k.shape[: k.ndim - (2 if full else 1) * n_space]
    n = prod(k.shape[k.ndim - n_space :])
    flat = k.reshape(*batch, n, n) if full else k.reshape(*batch, n)
    total: Tensor | None = None
    for position, mask in zip(where, inside):
        part = flat.index_select(-1, position) * mask
        if full:
            part = part.index_select(-2, position) * mask[:, None]
        total = part if total is None else total + part
    assert total is not None
    return (total / len(where)).reshape(*batch, *spatial, *(spatial if full else ()))


class GroupConvModule(nn.Module):
    """The finite layer: ``weight`` is (out, in, taps, taps), or (out, in, order, taps, taps) on lifted signals."""

    bias: Tensor | None

    def __init__(self, shape: Shape, n_out: int, layer: GroupConv, build: Build) -> None:
        super().__init__()
        self.layer, self.lifted = layer, len(shape) == 4
        taps = (layer.kernel_size, layer.kernel_size)
        axes = (layer.order, *taps) if self.lifted else taps
        fan_in = shape[0] * prod(axes)
        self.weight, self.scale = build.weight((n_out, shape[0], *axes), fan_in, layer.weight_variance)
        bias, self.bias_scale = build.bias((n_out,), layer.bias_variance)
        self.register_parameter("bias", bias)
        self.laws = {
            "weight": build.weight_law(fan_in, layer.weight_variance),
            "bias": build.bias_law(layer.bias_variance),
        }

    def filters(self) -> Tensor:
        """The filter under every element of the group: (order · out, in [· order], taps, taps)."""
        order = self.layer.order
        if not self.lifted:
            return torch.cat([_turned(self.weight, g) for g in range(order)])
        divided = _divided(order).to(self.weight.device)
        turned = [_turned(self.weight.index_select(2, divided[g]), g) for g in range(order)]
        return torch.cat(turned).flatten(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        half = self.layer.kernel_size // 2
        flat = x.flatten(1, 2) if self.lifted else x
        if self.layer.padding == "zeros":
            flat = F.pad(flat, (half,) * 4)
        else:
            for at in (2, 3):
                side = flat.shape[at]
                flat = flat.index_select(at, torch.arange(-half, side + half, device=x.device) % side)
        out = F.conv2d(flat, self.filters() * self.scale)
        out = out.reshape(len(x), self.layer.order, -1, *x.shape[-2:]).transpose(1, 2)  # (n, out, order, h, w)
        return out if self.bias is None else out + (self.bias * self.bias_scale)[:, None, None, None]


@dataclass(frozen=True)
class GroupPool(Layer):
    r"""Mean over the group axis of a lifted signal: :math:`K'_{xx'} = |H|^{-2}\sum_{gg'} K_{(g,x),(g',x')}`.

    Cohen & Welling (2016), Sec. 6.3, coset pooling, with the mean for the maximum. What comes out turns with the input.

    Example:
        >>> GroupPool().output_shape((16, 4, 8, 8))
        (16, 8, 8)
    """

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        if len(shape) != 4:
            raise ValueError(
                f"GroupPool needs a signal (channels, elements, height, width), as GroupConv gives it; got shape {tuple(shape)}."
            )
        return (shape[0], *shape[2:])

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        self.output_shape(shape)
        return GroupPoolModule()

    def need(self, after: Need) -> Need:
        return Need.FULL

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        spatial = self.output_shape((1, *cov.spatial))[1:]
        return cov.linear(lambda k: k.mean((-6, -3)), spatial=spatial).reduced(need)


class GroupPoolModule(nn.Module):
    """The finite layer."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(2)
