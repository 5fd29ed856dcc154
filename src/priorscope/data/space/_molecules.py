"""Molecules as matrices, as clouds of points and as potentials on spheres around their atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, checked, each, number, optional, whole
from priorscope.data._dataset import Dataset, Split
from priorscope.data.space._on_sphere import sphere_points
from priorscope.printing import printed

__all__ = ["CHARGES", "Molecule", "atom_spheres", "coulomb_matrix", "molecule_data"]

CHARGES = {
    "H": 1, "Li": 3, "Be": 4, "B": 5, "C": 6, "N": 7, "O": 8, "F": 9, "Na": 11, "Al": 13, "Si": 14, "P": 15, "S": 16, "Cl": 17,
}  # fmt: skip
FORMS = ("spheres", "clouds", "coulomb", "counts")


@checked(energy=number())
@printed
@dataclass(frozen=True)
class Molecule:
    """A molecule: nuclear ``charges`` (N,), ``positions`` (N, 3) in Å, and its ``energy``.

    Example:
        >>> Molecule("hydrogen", torch.tensor([1, 1]), torch.tensor([[0.0, 0, 0.37], [0, 0, -0.37]]), 109.5).name
        'hydrogen'
    """

    name: str
    charges: Tensor
    positions: Tensor
    energy: float

    def __post_init__(self) -> None:
        if self.positions.shape != (len(self.charges), 3) or len(self.charges) == 0:
            raise ValueError(
                f"{self.name} needs one position (x, y, z) per charge, at least one; got {tuple(self.charges.shape)} charges "
                f"and positions {tuple(self.positions.shape)}."
            )
        if not bool(self.positions.isfinite().all()):
            raise ValueError(f"{self.name} has positions that are not finite.")


@checked(size=optional(whole()), power=NOT_NEGATIVE)
def coulomb_matrix(molecule: Molecule, size: int | None = None, *, power: float = 2.0) -> Tensor:
    r"""The Coulomb matrix (size, size), rows sorted by their norm, largest first, and padded with zeros; float64.

    .. math:: C_{ij} = \frac{z_i z_j}{|p_i - p_j|}, \qquad C_{ii} = \tfrac12 z_i^{\text{power}}

    (Cohen et al. 2018, section 5.4, with power 2; Rupp et al. 2012 have 2.4.)

    Example:
        >>> coulomb_matrix(Molecule("CO", torch.tensor([6, 8]), torch.tensor([[0.0, 0, 0], [0, 0, 2.0]]), 0.0)).tolist()
        [[32.0, 24.0], [24.0, 18.0]]
    """
    z, p = molecule.charges.double(), molecule.positions.double()
    size = len(z) if size is None else size
    if size < len(z):
        raise ValueError(f"{molecule.name} has {len(z)} atoms; a matrix of side {size} does not hold it.")
    far = torch.cdist(p, p).fill_diagonal_(1.0)
    _apart(molecule, far)
    found = z[:, None] * z / far
    found.diagonal().copy_(0.5 * z**power)
    order = found.norm(dim=1).argsort(descending=True, stable=True)
    return torch.nn.functional.pad(found[order][:, order], (0, size - len(z)) * 2)


@checked(bandwidth=whole(), radius=POSITIVE, charges=each(whole()), size=optional(whole()))
def atom_spheres(
    molecule: Molecule,
    bandwidth: int,
    radius: float,
    *,
    charges: Sequence[int] = (1, 6, 7, 8, 16),
    size: int | None = None,
    rotation: Tensor | None = None,
) -> Tensor:
    r"""Potentials on a sphere around each atom, one channel per kind of atom: (size, kinds, 2b, 2b), padded with zeros.

    .. math:: U_{iz}(x) = \sum_{j \ne i,\; z_j = z} \frac{z_i z_j}{|x - p_j|}, \qquad |x - p_i| = \text{radius}

    (Cohen et al. 2018, section 5.4.) ``rotation`` (3, 3) turns the molecule first. Shifting it changes nothing, and turning it
    turns the signals.

    Example:
        >>> carbon_monoxide = Molecule("CO", torch.tensor([6, 8]), torch.tensor([[0.0, 0, 0], [0, 0, 2.0]]), 0.0)
        >>> U = atom_spheres(carbon_monoxide, 3, 0.5)
        >>> U.shape, U[0].abs().amax((1, 2)) > 0  # carbon feels oxygen alone
        (torch.Size([2, 5, 6, 6]), tensor([False, False, False,  True, False]))
    """
    z, p = molecule.charges.double(), molecule.positions.double()
    if rotation is not None:
        p = p @ rotation.double().T
    size = len(z) if size is None else size
    strange = sorted(set(molecule.charges.tolist()) - set(charges))
    if size < len(z) or strange:
        raise ValueError(
            f"{molecule.name} has {len(z)} atoms, and charges {strange} outside {tuple(charges)}; wanted at most {size} atoms of "
            "those kinds."
        )
    far = torch.cdist(p, p).fill_diagonal_(torch.inf)
    _apart(molecule, far)
    x = p[:, None, None] + radius * sphere_points(bandwidth)  # (N, 2b, 2b, 3)
    each = z[:, None, None, None] * z / (x[..., None, :] - p).norm(dim=-1)  # (N, 2b, 2b, j)
    each = each * ~torch.eye(len(z), dtype=torch.bool)[:, None, None]
    kinds = (z[:, None] == torch.tensor([float(c) for c in charges], dtype=torch.float64)).double()  # (j, kinds)
    found = (each @ kinds).permute(0, 3, 1, 2)
    return torch.cat([found, found.new_zeros(size - len(z), *found.shape[1:])])


def _apart(molecule: Molecule, far: Tensor) -> None:
    if not float(far.min()) > 1e-3:
        raise ValueError(f"two atoms of {molecule.name} stand at one place.")


@checked(fold=whole(0), folds=whole(2), bandwidth=whole(), seed=SEED)
def molecule_data(
    molecules: Sequence[Molecule],
    form: str = "spheres",
    *,
    fold: int = 0,
    folds: int = 5,
    bandwidth: int = 5,
    rotations: Tensor | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Dataset:
    """Energies to learn from molecules in one of four forms; one of ``folds`` parts, alike in energy, to test.

    "spheres": potentials around the atoms (N, kinds, 2b, 2b), each channel divided by its root mean square over the training
    atoms, radius half the least distance of two atoms in training; "clouds": positions and kinds (N, 3 + kinds), for
    :func:`priorscope.models.point_network`; "coulomb": the sorted Coulomb matrix, its upper triangle as numbers; "counts": how
    many atoms there are of each kind. ``rotations`` (n, 3, 3) turn the molecules, in the order given. ``seed`` draws the folds:
    molecules are sorted by energy and each run of ``folds`` is dealt out at random.

    Example:
        >>> pairs = [Molecule(str(i), torch.tensor([1, 8]), torch.tensor([[0.0, 0, 0], [0, 0, 1 + i]]), i) for i in range(1, 11)]
        >>> data = molecule_data(pairs, "counts", folds=5)
        >>> data.input_shape, len(data.train), len(data.test)
        ((2,), 8, 2)
    """
    if form not in FORMS:
        raise ValueError(f"form is one of {', '.join(FORMS)}; got {form!r}.")
    n = len(molecules)
    if fold >= folds or n < 2 * folds:
        raise ValueError(
            f"wanted fold < {folds} and at least {2 * folds} molecules; got fold = {fold} and {n} molecules."
        )
    if any(len(m.charges) < 2 for m in molecules):
        raise ValueError("a single atom has no energy of atomisation; leave it out.")
    if rotations is not None and rotations.shape != (n, 3, 3):
        raise ValueError(f"wanted one rotation per molecule, ({n}, 3, 3); got {tuple(rotations.shape)}.")
    energy = torch.tensor([m.energy for m in molecules], dtype=torch.float64)
    part = _dealt(energy, folds, seed)
    train, test = (part != fold).nonzero()[:, 0], (part == fold).nonzero()[:, 0]
    inputs = _inputs(molecules, form, train.tolist(), bandwidth, rotations).to(dtype)
    targets = energy[:, None].to(dtype)
    return Dataset(
        Split(inputs[train], targets[train]),
        Split(inputs[test], targets[test]),
        f"molecules ({form})",
        task="regression",
    )


def _dealt(energy: Tensor, folds: int, seed: int) -> Tensor:
    """The part of each molecule: every run of ``folds`` in the order of energy has one member in each part."""
    generator = torch.Generator().manual_seed(seed)
    part = torch.empty(len(energy), dtype=torch.long)
    for run in energy.argsort(stable=True).split(folds):
        part[run] = torch.randperm(folds, generator=generator)[: len(run)]
    return part


def _inputs(molecules: Sequence[Molecule], form: str, train: list[int], bandwidth: int, turns: Tensor | None) -> Tensor:
    """All molecules in a form; scales and the radius come from the training molecules."""
    charges = sorted({int(z) for m in molecules for z in m.charges})
    size = max(len(m.charges) for m in molecules)
    if form == "counts":
        return torch.tensor([[float((m.charges == z).sum()) for z in charges] for m in molecules], dtype=torch.float64)
    if form == "coulomb":
        upper = torch.triu_indices(size, size)
        return torch.stack([coulomb_matrix(m, size)[upper[0], upper[1]] for m in molecules])
    placed = [
        m if turns is None else Molecule(m.name, m.charges, m.positions.double() @ turns[i].double().T, m.energy)
        for i, m in enumerate(molecules)
    ]
    if form == "clouds":
        rows = [
            torch.cat([m.positions.double(), (m.charges[:, None] == torch.tensor(charges)).double()], 1) for m in placed
        ]
        return torch.stack([torch.nn.functional.pad(r, (0, 0, 0, size - len(r))) for r in rows])
    radius = 0.5 * min(float(torch.pdist(molecules[i].positions.double()).min()) for i in train)
    found = torch.stack([atom_spheres(m, bandwidth, radius, charges=charges, size=size) for m in placed])
    there = (found[train] != 0).any(2, keepdim=True).any(3, keepdim=True).any(4, keepdim=True)
    square = (found[train].square() * there).sum((0, 1, 3, 4)) / (there.sum() * 4 * bandwidth**2)
    return found / square.sqrt().clamp(min=1e-30)[:, None, None]
