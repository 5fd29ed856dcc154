"""Batch normalisation of fields, and folding it into a convolution beside it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from priorscope.checks import FRACTION, POSITIVE, checked, each, whole
from priorscope.models.equivariant.steerable._convolution import SteerableConv3d
from priorscope.models.equivariant.steerable._fields import channels_of, check_fields
from priorscope.models.equivariant.steerable._nonlinearities import split_fields

__all__ = ["FieldBatchNorm", "fold"]


@checked(fields=each(whole(0)), eps=POSITIVE, momentum=FRACTION)
class FieldBatchNorm(nn.Module):
    r"""Scalars lose their mean and are divided by their deviation; other fields are divided by their root mean square norm.

    .. math:: f \mapsto f \Big(\frac{1}{|B|}\sum_{j \in B} \frac1V \int |f_j(x)|^2\,dx + \epsilon\Big)^{-1/2}

    (Weiler et al. 2018, appendix.) Running averages serve when the module is in evaluation.

    Example:
        >>> norm = FieldBatchNorm((1, 2))
        >>> norm(torch.randn(4, 7, 3, 3, 3)).shape
        torch.Size([4, 7, 3, 3, 3])
    """

    mean: Tensor
    power: Tensor

    def __init__(self, fields: Sequence[int], *, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.fields, self.eps, self.momentum = check_fields(fields), eps, momentum
        self.register_buffer("mean", torch.zeros(self.fields[0]))
        self.register_buffer("power", torch.ones(sum(self.fields)))

    def statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Means of the scalars, and the mean square (about the mean, for scalars) of every field, of this batch."""
        parts = split_fields(x, self.fields)
        axes = (0, *range(3, x.ndim + 1))
        mean = parts[0].mean(axes)[:, 0] if self.fields[0] else x.new_zeros(0)
        powers = [part.square().sum(2).mean((0, *range(2, x.ndim))) for part in parts]
        powers[0] = powers[0] - mean.square()
        return mean, torch.cat([p for p, m in zip(powers, self.fields) if m])

    def affine(self, mean: Tensor, power: Tensor) -> tuple[Tensor, Tensor]:
        """Factor and shift (channels,) that the normalisation is with these statistics."""
        per_field = (power + self.eps).rsqrt()
        sizes = torch.tensor([2 * l + 1 for l, m in enumerate(self.fields) for _ in range(m)], device=power.device)
        factor = per_field.repeat_interleave(sizes)
        shift = torch.cat([-mean * per_field[: len(mean)], factor.new_zeros(len(factor) - len(mean))])
        return factor, shift

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            mean, power = self.statistics(x)
            with torch.no_grad():
                self.mean.lerp_(mean.to(self.mean), self.momentum)
                self.power.lerp_(power.to(self.power), self.momentum)
        else:
            mean, power = self.mean, self.power
        factor, shift = self.affine(mean, power)
        ones = [1] * (x.ndim - 2)
        return x * factor.view(-1, *ones) + shift.view(-1, *ones)


def fold(first: FieldBatchNorm | SteerableConv3d, second: FieldBatchNorm | SteerableConv3d) -> nn.Conv3d:
    r"""A convolution and a normalisation in evaluation, in either order, as one plain ``nn.Conv3d``.

    .. math:: \kappa \star (Af + B) = (A\kappa) \star f + \kappa \star B

    (Weiler et al. 2018, appendix: only scalars have B ≠ 0.) A normalisation before a convolution is folded where there is no
    padding: padded zeros would have been put behind the shift.

    Example:
        >>> conv, norm = SteerableConv3d((1,), (2, 1), 3), FieldBatchNorm((2, 1)).eval()
        >>> x = torch.randn(1, 1, 5, 5, 5)
        >>> bool(torch.allclose(fold(conv, norm)(x), norm(conv(x)), atol=1e-6))
        True
    """
    if isinstance(first, SteerableConv3d) and isinstance(second, FieldBatchNorm):
        conv, norm, fields = first, second, first.fields_out
    elif isinstance(first, FieldBatchNorm) and isinstance(second, SteerableConv3d):
        conv, norm, fields = second, first, second.fields_in
        if conv.padding and bool((norm.mean != 0).any()):
            raise ValueError(
                f"a normalisation before a convolution with padding {conv.padding} cannot be folded: the padded zeros stand "
                "behind its shift. Pad the input first, or normalise after the convolution."
            )
    else:
        raise TypeError("fold takes a SteerableConv3d and a FieldBatchNorm, in the order in which they act.")
    if fields != norm.fields:
        raise ValueError(f"the convolution has fields {fields} there, the normalisation {norm.fields}.")
    factor, shift = norm.affine(norm.mean, norm.power)
    plain = conv.plain()
    weight = plain.weight.detach()
    bias = weight.new_zeros(channels_of(conv.fields_out)) if plain.bias is None else plain.bias.detach()
    if first is conv:
        weight, bias = factor.view(-1, 1, 1, 1, 1).to(weight) * weight, factor.to(weight) * bias + shift.to(weight)
    else:
        bias = bias + weight.sum((2, 3, 4)) @ shift.to(weight)
        weight = weight * factor.view(1, -1, 1, 1, 1).to(weight)
    found = nn.Conv3d(
        weight.shape[1], weight.shape[0], conv.kernel_size, conv.stride, conv.padding, bias=True, dtype=weight.dtype
    )
    assert found.bias is not None
    with torch.no_grad():
        found.weight.copy_(weight)
        found.bias.copy_(bias)
    return found
