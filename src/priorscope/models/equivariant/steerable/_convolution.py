"""Convolution between fields whose filters commute with rotations, and its export to a plain convolution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from priorscope.checks import checked, each, whole
from priorscope.models.equivariant.steerable._basis import kernel_basis
from priorscope.models.equivariant.steerable._fields import channels_of, check_fields

__all__ = ["SteerableConv3d"]


@checked(fields_in=each(whole(0)), fields_out=each(whole(0)), kernel_size=whole(), stride=whole(), padding=whole(0))
class SteerableConv3d(nn.Module):
    """Fields (n, channels, d, h, w) to fields: a convolution whose filters are combinations of :func:`kernel_basis`.

    ``fields_in`` and ``fields_out`` count the fields of order 0, 1, 2, …. Weights are drawn from N(0, 1) outside the factor
    √((2j+1) / (B · fields in)), which keeps the variance; scalars get a bias. Stride 1 with :class:`LowPass` behind it keeps the
    symmetry better than a stride.

    Holds: commutes with the 24 rotations of the cube to rounding, with others about as well as the voxels allow.

    Example:
        >>> layer = SteerableConv3d((1,), (4, 2), kernel_size=5, padding=2)
        >>> layer(torch.zeros(2, 1, 9, 9, 9)).shape
        torch.Size([2, 10, 9, 9, 9])
    """

    def __init__(
        self,
        fields_in: Sequence[int],
        fields_out: Sequence[int],
        kernel_size: int = 5,
        *,
        stride: int = 1,
        padding: int = 0,
        cutoff: str | None = "compromise",
        bias: bool = True,
    ) -> None:
        """Sample the basis of each pair of orders and draw its weights."""
        super().__init__()
        self.fields_in, self.fields_out = check_fields(fields_in, "fields_in"), check_fields(fields_out, "fields_out")
        self.kernel_size, self.stride, self.padding, self.cutoff = kernel_size, stride, padding, cutoff
        self.weights = nn.ParameterDict()
        self.pairs: list[tuple[int, int]] = []
        for j, outs in enumerate(self.fields_out):
            for l, ins in enumerate(self.fields_in):
                B = len(kernel_basis(j, l, kernel_size, cutoff=cutoff))
                if outs and ins and B:
                    self.pairs.append((j, l))
                    self.weights[f"from_{l}_to_{j}"] = nn.Parameter(torch.randn(outs, ins, B))
        lost = [j for j, m in enumerate(self.fields_out) if m and all(pair[0] != j for pair in self.pairs)]
        if lost:
            raise ValueError(
                f"no kernel of size {kernel_size} leads from orders {self._orders()} to order {lost[0]}: give the input "
                "fields of higher order, or take a larger kernel."
            )
        scalars = self.fields_out[0]
        self.bias = nn.Parameter(torch.zeros(scalars)) if bias and scalars else None

    def _orders(self) -> str:
        return ", ".join(str(l) for l, m in enumerate(self.fields_in) if m)

    def filters(self) -> Tensor:
        """The dense bank of filters (channels out, channels in, s, s, s) at the present weights."""
        some = next(iter(self.weights.values()))
        s = self.kernel_size
        rows = []
        for j, outs in enumerate(self.fields_out):
            blocks = []
            for l, ins in enumerate(self.fields_in):
                shape = (outs * (2 * j + 1), ins * (2 * l + 1), s, s, s)
                if (j, l) not in self.pairs:
                    blocks.append(some.new_zeros(shape))
                    continue
                weight = self.weights[f"from_{l}_to_{j}"]
                basis = _scaled_basis(j, l, s, self.cutoff, sum(self.fields_in), weight.dtype, weight.device)
                block = (weight.flatten(0, 1) @ basis.flatten(1)).view(outs, ins, 2 * j + 1, 2 * l + 1, s, s, s)
                blocks.append(block.transpose(1, 2).reshape(shape))
            rows.append(torch.cat(blocks, 1))
        return torch.cat(rows)

    def full_bias(self) -> Tensor | None:
        """The bias of all channels: zero but for scalars."""
        if self.bias is None:
            return None
        return functional.pad(self.bias, (0, channels_of(self.fields_out) - len(self.bias)))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != 5 or x.shape[1] != channels_of(self.fields_in):
            raise ValueError(
                f"wanted fields {self.fields_in} as (n, {channels_of(self.fields_in)}, d, h, w); got {tuple(x.shape)}."
            )
        if min(x.shape[2:]) + 2 * self.padding < self.kernel_size:
            raise ValueError(
                f"a kernel of {self.kernel_size} voxels does not fit {tuple(x.shape[2:])} with padding {self.padding}: pad more, "
                "or take larger volumes."
            )
        bank = self.filters()
        fast = torch.is_grad_enabled() and (x.requires_grad or bank.requires_grad)
        if fast:  # the gradient of a convolution takes much less time so
            x, bank = _channels_last(x), _channels_last(bank)
        return functional.conv3d(x, bank, self.full_bias(), self.stride, self.padding)

    def plain(self) -> nn.Conv3d:
        """The same map as a plain ``nn.Conv3d``, for use without this library.

        Example:
            >>> layer = SteerableConv3d((1,), (2, 1), 3)
            >>> x = torch.randn(1, 1, 5, 5, 5)
            >>> bool(torch.allclose(layer.plain()(x), layer(x), atol=1e-6))
            True
        """
        bank, bias = self.filters().detach(), self.full_bias()
        conv = nn.Conv3d(
            bank.shape[1],
            bank.shape[0],
            self.kernel_size,
            self.stride,
            self.padding,
            bias=bias is not None,
            dtype=bank.dtype,
        )
        with torch.no_grad():
            conv.weight.copy_(bank)
            if bias is not None:
                assert conv.bias is not None
                conv.bias.copy_(bias)
        return conv

    def extra_repr(self) -> str:
        return f"{self.fields_in} -> {self.fields_out}, size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _channels_last(x: Tensor) -> Tensor:
    """The same numbers (n, c, d, h, w) with the channels next to each other in memory (in a form that vmap takes too)."""
    return x.permute(0, 2, 3, 4, 1).contiguous().permute(0, 4, 1, 2, 3)


@lru_cache(maxsize=256)
def _scaled_basis(
    j: int, l: int, size: int, cutoff: str | None, total: int, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """The basis with the factor that keeps the variance, in the precision of the weights."""
    with torch.inference_mode(False):  # what is kept must serve gradients later
        basis = kernel_basis(j, l, size, cutoff=cutoff)
        found: Tensor = (basis * ((2 * j + 1) / (len(basis) * total)) ** 0.5).to(device, dtype)
    return found
