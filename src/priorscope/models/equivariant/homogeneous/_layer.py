"""The layer of all equivariant linear maps between fields, with channels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import SEED, checked, whole
from priorscope.models.equivariant.homogeneous._field import Field
from priorscope.models.equivariant.homogeneous._kernels import KernelSpace

__all__ = ["EquivariantLinear"]


class EquivariantLinear(nn.Module):
    r"""Every equivariant linear map between fields on homogeneous spaces of one finite group, with learned coefficients.

    .. math:: f'_o = \sum_i \sum_k w_{oik}\, \Phi_k f_i, \qquad \pi_2(g)\Phi_k = \Phi_k \pi_1(g)

    with the basis of :class:`KernelSpace` (Cohen, Geiger & Weiler 2019, theorem 3.1: there are no others). Fields are arrays (n,
    channels, cosets, d). Weights start Gaussian with the variance that keeps the mean square of white fields.

    Example:
        >>> from priorscope.models.equivariant.homogeneous import Cosets, semidirect, regular, trivial
        >>> G, turns = semidirect(3, "C4")
        >>> space = Cosets(G, turns)
        >>> layer = EquivariantLinear(Field(space, trivial(G, turns)), Field(space, regular(G, turns)), 2, 5)
        >>> layer(torch.zeros(7, 2, 9, 1)).shape, layer.weight.shape
        (torch.Size([7, 5, 9, 4]), torch.Size([5, 2, 9]))
    """

    basis: Tensor

    @checked(n_in=whole(), n_out=whole(), seed=SEED)
    def __init__(self, first: Field, second: Field, n_in: int = 1, n_out: int = 1, seed: int = 0) -> None:
        super().__init__()
        space = KernelSpace(first, second)
        if not space.dim:
            raise ValueError("there is no equivariant map between these fields but zero; choose other representations.")
        self.first, self.second = first, second
        self.register_buffer("basis", space.maps.float())
        scale = (second.dim / space.dim / n_in) ** 0.5  # each Φ_k has norm 1
        draw = torch.randn(n_out, n_in, space.dim, generator=torch.Generator().manual_seed(seed))
        self.weight = nn.Parameter(scale * draw)

    def forward(self, fields: Tensor) -> Tensor:
        """Fields (n, n_in, cosets, d₁) to (n, n_out, cosets, d₂)."""
        wanted = (self.weight.shape[1], len(self.first.space), self.first.representation.dim)
        if tuple(fields.shape[1:]) != wanted:
            raise ValueError(
                f"EquivariantLinear needs fields (n, {', '.join(map(str, wanted))}); got {tuple(fields.shape)}."
            )
        matrix = torch.einsum("oik,kba->oiba", self.weight, self.basis.to(self.weight.dtype))
        out = torch.einsum("oiba,nia->nob", matrix, fields.flatten(2))
        return out.reshape(len(fields), -1, len(self.second.space), self.second.representation.dim)
