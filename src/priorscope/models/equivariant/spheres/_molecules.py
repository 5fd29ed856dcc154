"""The energy of a molecule from the potentials on spheres around its atoms."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from priorscope.checks import checked, each, whole
from priorscope.models.architectures.zoo import FiniteModel
from priorscope.models.equivariant.spheres._grid import bandwidth_of
from priorscope.models.equivariant.spheres._pooling import SO3Integral
from priorscope.models.equivariant.spheres._residual import SphericalResidual

__all__ = ["MoleculeNetwork", "molecule_network"]


@checked(
    kinds=whole(),
    bandwidth=whole(),
    bandwidths=each(whole()),
    channels=each(whole()),
    hidden=each(whole()),
    outputs=whole(),
)
class MoleculeNetwork(nn.Module):
    r"""Signals (n, atoms, kinds, 2b, 2b) to one row per molecule: one spherical network for all atoms, then a sum over them.

    .. math:: E = \psi\Big(\sum_{i} \varphi\big(\textstyle\int f_i(R)\,dR\big)\Big)

    (Cohen et al. 2018, section 5.4, after Zaheer et al. 2017.) An atom whose signals are all zero is padding and is left out.

    Holds: the order of atoms and rotations of the molecule (about, for ReLU is not band-limited) leave the output alone.

    Example:
        >>> net = MoleculeNetwork(5, 4, (4, 2), (4, 8), hidden=(10, 6, 5), outputs=1)
        >>> net(torch.rand(2, 3, 5, 8, 8)).shape
        torch.Size([2, 1])
    """

    def __init__(
        self,
        kinds: int,
        bandwidth: int,
        bandwidths: Sequence[int],
        channels: Sequence[int],
        *,
        hidden: Sequence[int],
        outputs: int,
    ) -> None:
        """Residual blocks and the integral for each atom, and the two dense networks φ and ψ."""
        super().__init__()
        ins, bands = [kinds, *channels[:-1]], [bandwidth, *bandwidths[:-1]]
        blocks = [
            SphericalResidual(c_in, c_out, b_in, b_out, sphere=i == 0)
            for i, (c_in, c_out, b_in, b_out) in enumerate(zip(ins, channels, bands, bandwidths, strict=True))
        ]
        first, middle, last = hidden
        self.atom = nn.Sequential(
            *blocks, SO3Integral(), nn.Linear(channels[-1], first), nn.ReLU(), nn.Linear(first, middle)
        )
        self.molecule = nn.Sequential(nn.Linear(middle, last), nn.ReLU(), nn.Linear(last, outputs))

    def forward(self, signals: Tensor) -> Tensor:
        n = len(signals)
        there = (signals.flatten(2) != 0).any(2)  # (n, atoms)
        if not bool(there.any(1).all()):
            raise ValueError("a molecule has no atom: all its signals are zero. Leave empty molecules out.")
        molecule, atom = there.nonzero(as_tuple=True)
        found = self.atom(signals[molecule, atom])  # (atoms that are there, middle)
        summed = found.new_zeros(n, found.shape[1]).index_add(0, molecule, found)
        energy: Tensor = self.molecule(summed)
        return energy


@checked(bandwidths=each(whole()), channels=each(whole()), hidden=each(whole()))
def molecule_network(
    bandwidths: Sequence[int] = (10, 8, 6, 4, 2),
    channels: Sequence[int] = (20, 40, 60, 80, 160),
    *,
    hidden: Sequence[int] = (150, 100, 50),
) -> FiniteModel:
    """Networks on molecules in the form "spheres" of :func:`priorscope.data.molecule_data`; turns leave outputs alone.

    ``bandwidths`` and ``channels`` are those after each residual block, scaled where ``width`` is not the first of ``channels``;
    ``hidden`` has the sizes inside φ, of its output, and inside ψ. The defaults are those of Cohen et al. (2018), section 5.4.

    Example:
        >>> net = molecule_network((3, 2), (4, 6), hidden=(8, 8, 4)).network((3, 5, 6, 6), width=4, outputs=1)
        >>> net(torch.rand(2, 3, 5, 6, 6)).shape
        torch.Size([2, 1])
    """
    if len(bandwidths) != len(channels) or len(hidden) != 3:
        raise ValueError(
            f"wanted one bandwidth and one number of channels per block, and three sizes of hidden layers; got {bandwidths}, "
            f"{channels} and {hidden}."
        )

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        if len(shape) != 4:
            raise ValueError(
                f"molecule_network needs signals (atoms, kinds, 2b, 2b) per molecule; got {shape}. See "
                "priorscope.data.molecule_data."
            )
        b = bandwidth_of(torch.empty(shape, device="meta"), 2)
        sizes = [max(1, round(c * width / channels[0])) for c in channels]
        return MoleculeNetwork(shape[1], b, bandwidths, sizes, hidden=hidden, outputs=outputs)

    return FiniteModel("molecule_network", build, width=channels[0])
