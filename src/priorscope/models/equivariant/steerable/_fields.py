"""Fields: how many features of each order l a voxel carries, and how rotations act on them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from priorscope.checks import checked, each, whole
from priorscope.models.equivariant._irreps import real_wigner

__all__ = ["check_fields", "channels_of", "field_matrix", "rotate_fields"]

_RULE = each(whole(0))


def check_fields(fields: Sequence[int], name: str = "fields") -> tuple[int, ...]:
    """Multiplicities of l = 0, 1, 2, … as a tuple without zeros at its end; at least one field."""
    found = tuple(int(f) for f in fields)
    while found and found[-1] == 0:
        found = found[:-1]
    if not found or min(found) < 0:
        raise ValueError(f"{name} counts the fields of order 0, 1, 2, …, such as (8, 4, 2); got {tuple(fields)}.")
    return found


@checked(fields=_RULE)
def channels_of(fields: Sequence[int]) -> int:
    r"""Channels of a stack of fields: :math:`\sum_l (2l+1)\,m_l`.

    Example:
        >>> channels_of((4, 4, 4, 1))  # 4 scalars, 4 vectors, 4 fields of order 2 and one of order 3
        43
    """
    return sum((2 * l + 1) * m for l, m in enumerate(check_fields(fields)))


@checked(fields=_RULE)
def field_matrix(fields: Sequence[int], rotation: Tensor) -> Tensor:
    r"""The matrix ρ(R) = ⊕ D^l(R) (channels, channels) by which a rotation mixes the channels; float64.

    Fields of one order stand together, their 2l+1 components beside each other; a vector field has components x, y, z along the
    three axes of the grid.

    Example:
        >>> field_matrix((1, 1), torch.eye(3)).shape
        torch.Size([4, 4])
    """
    blocks = [real_wigner(l, rotation) for l, m in enumerate(check_fields(fields)) for _ in range(m)]
    found: Tensor = torch.block_diag(*blocks)
    return found


@checked(fields=_RULE)
def rotate_fields(values: Tensor, fields: Sequence[int], rotation: Tensor) -> Tensor:
    r"""Fields (…, channels, d, d, d) on a cube, turned about its centre by one of the 24 rotations that map it to itself.

    .. math:: [\pi(R) f](x) = \rho(R)\, f(R^{-1}x)

    (Weiler et al. 2018, eq. 1.) No value is interpolated; another rotation raises.

    Example:
        >>> quarter = torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        >>> x = torch.zeros(1, 3, 3, 3)
        >>> x[0, 2, 1, 1] = 1.0  # on the first axis
        >>> rotate_fields(x, (1,), quarter).nonzero()[0].tolist()  # now on the second
        [0, 1, 2, 1]
    """
    whole_ = rotation.round()
    if rotation.shape != (3, 3) or float((rotation - whole_).abs().max()) > 1e-6 or float(whole_.abs().sum()) != 3:
        raise ValueError(
            "wanted one of the 24 rotations of the cube: a matrix of 0, 1 and -1; others need interpolation."
        )
    if len(set(values.shape[-3:])) != 1:
        raise ValueError(f"wanted a cube (…, channels, d, d, d); got {tuple(values.shape)}.")
    source = [int(whole_[i].abs().argmax()) for i in range(3)]  # axis i of the result comes from this axis
    moved = values.permute(*range(values.ndim - 3), *(values.ndim - 3 + s for s in source))
    flipped = [values.ndim - 3 + i for i in range(3) if whole_[i].sum() < 0]
    return torch.einsum("ij,...jxyz->...ixyz", field_matrix(fields, whole_).to(values), moved.flip(flipped))
