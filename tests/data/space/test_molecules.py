"""Molecules in four forms: by hand, by the law of rotations, by the parts that are dealt."""

import pytest
import torch

import priorscope as ps
from priorscope.data import Molecule, atom_spheres, coulomb_matrix, molecule_data
from priorscope.models import spheres


def water(seed=0):
    places = torch.tensor([[0.0, 0.0, 0.1], [0.0, 0.8, -0.5], [0.3, -0.8, -0.5]], dtype=torch.float64)
    return Molecule("water", torch.tensor([8, 1, 1]), places, 232.0)


def test_coulomb_matrix_by_hand_and_in_any_order():
    m = water()
    found = coulomb_matrix(m, 4)
    apart = float((m.positions[1] - m.positions[2]).norm())
    assert abs(float(found[1, 2]) - 1 / apart) < 1e-12
    assert float(found[0, 0]) == 32.0  # oxygen has the largest norm
    assert float(coulomb_matrix(m, power=2.4)[0, 0]) == pytest.approx(0.5 * 8**2.4)
    assert float(found[3].abs().sum()) == 0.0
    order = torch.tensor([2, 0, 1])
    other = Molecule("water", m.charges[order], m.positions[order], 0.0)
    assert torch.allclose(coulomb_matrix(other, 4), found)


def test_potentials_by_hand_turn_with_the_molecule_and_ignore_shifts():
    m, b, radius = water(), 16, 0.3
    U = atom_spheres(m, b, radius, charges=(1, 8), size=4)
    x = m.positions[1] + radius * ps.data.sphere_points(b)[3, 5]
    assert float(U[1, 1, 3, 5]) == pytest.approx(8 / float((x - m.positions[0]).norm()))
    assert float(U[1, 0, 3, 5]) == pytest.approx(1 / float((x - m.positions[2]).norm()))  # not of itself
    assert float(U[3].abs().max()) == 0.0
    R = ps.data.random_rotations(1, 3)[0]
    turned = atom_spheres(m, b, radius, charges=(1, 8), size=4, rotation=R)
    error = (turned - spheres.rotate_s2(U, R)).abs().max() / U.abs().max()
    assert float(error) < 1e-5  # a potential is smooth: what is beyond bandwidth 16 is this small
    assert float((turned - U).abs().max() / U.abs().max()) > 1e-2
    shifted = Molecule("water", m.charges, m.positions + 5.0, 0.0)
    assert torch.allclose(atom_spheres(shifted, b, radius, charges=(1, 8), size=4), U)


def many(n=20):
    return [
        Molecule(
            str(i), torch.tensor([1, 6 + 2 * (i % 2)]), torch.tensor([[0.0, 0, 0], [0, 0, 1 + i / n]]), float(i * i)
        )
        for i in range(n)
    ]


def test_parts_are_alike_in_energy_and_cover_all():
    seen = []
    for fold in range(5):
        data = molecule_data(many(), "counts", fold=fold, seed=1)
        energies = data.test.targets.flatten().sort().values
        assert (len(data.train), len(data.test)) == (16, 4)
        assert [int(e**0.5) // 5 for e in energies.tolist()] == [0, 1, 2, 3]  # one of every five in order
        seen += energies.tolist()
    assert sorted(seen) == [float(i * i) for i in range(20)]
    again = molecule_data(many(), "counts", fold=0, seed=2)
    assert (
        again.test.targets.flatten().tolist()
        != molecule_data(many(), "counts", fold=0, seed=1).test.targets.flatten().tolist()
    )


def test_forms_have_their_shapes_and_scales():
    counts = molecule_data(many(), "counts")
    assert counts.input_shape == (3,)  # H, C, O
    assert counts.train.inputs.sum(1).unique().tolist() == [2.0]
    clouds = molecule_data(many(), "clouds")
    assert clouds.input_shape == (2, 6)
    assert molecule_data(many(), "coulomb").input_shape == (3,)
    signals = molecule_data(many(), "spheres", bandwidth=3)
    assert signals.input_shape == (2, 3, 6, 6)
    assert torch.allclose(signals.train.inputs.square().mean((0, 1, 3, 4)), torch.ones(3), atol=1e-5)
    R = ps.data.random_rotations(20, 1)
    net = ps.models.point_network(types=3, cutoff=4.0).network(clouds.input_shape, width=2, seed=0)
    moved = molecule_data(many(), "clouds", rotations=R)
    assert not torch.allclose(moved.test.inputs, clouds.test.inputs, atol=0.1)
    assert torch.allclose(net(moved.test.inputs), net(clouds.test.inputs), atol=1e-4)


def test_a_network_on_spheres_knows_neither_order_nor_padding():
    data = molecule_data([water(), *many(9)], "spheres", folds=2, bandwidth=3)
    x = data.train.inputs
    net = ps.models.molecule_network((3, 2), (4, 6), hidden=(8, 8, 4)).network(x.shape[1:], width=4, seed=0).eval()
    assert torch.allclose(net(x.flip(1)), net(x), atol=1e-5)
    assert torch.allclose(net(torch.cat([x, torch.zeros_like(x)], 1)), net(x), atol=1e-5)
    changed = x.clone()
    changed[:, 0] *= 1.5
    assert not torch.allclose(net(changed), net(x), atol=1e-3)
    with pytest.raises(ValueError, match="a molecule has no atom"):
        net(torch.zeros_like(x))
    with pytest.raises(ValueError, match=r"needs signals \(atoms, kinds, 2b, 2b\)"):
        ps.models.molecule_network().network((5, 6, 6))
    with pytest.raises(ValueError, match="three sizes of hidden layers"):
        ps.models.molecule_network(hidden=(4, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Molecule("odd", torch.tensor([1]), torch.zeros(2, 3), 0.0), "one position"),
        (lambda: Molecule("none", torch.zeros(0), torch.zeros(0, 3), 0.0), "at least one"),
        (lambda: Molecule("far", torch.tensor([1]), torch.full((1, 3), torch.nan), 0.0), "not finite"),
        (lambda: coulomb_matrix(water(), 2), "a matrix of side 2 does not hold it"),
        (lambda: coulomb_matrix(Molecule("twice", torch.tensor([1, 1]), torch.zeros(2, 3), 0.0)), "at one place"),
        (lambda: atom_spheres(water(), 3, 0.3, charges=(1, 6)), r"charges \[8\] outside"),
        (lambda: molecule_data(many(), "voxels"), "form is one of spheres"),
        (lambda: molecule_data(many(4)), "at least 10 molecules"),
        (lambda: molecule_data(many(), fold=5), "wanted fold < 5"),
        (lambda: molecule_data(many(), rotations=torch.eye(3)), "one rotation per molecule"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_signals_have_the_radius_and_scale_of_the_training_molecules():
    """Half the smallest distance of any training pair; mean square one over spheres of atoms that exist."""
    some = [water(), *many(11)]  # three atoms and two: padding counts for nothing
    data = molecule_data(some, "spheres", folds=3, fold=1, bandwidth=2, seed=2, dtype=torch.float64)
    energies = {m.energy: m for m in some}
    train, test = ([energies[float(e)] for e in split.targets[:, 0]] for split in (data.train, data.test))
    radius = 0.5 * min(float(torch.pdist(m.positions.double()).min()) for m in train)
    raw = [atom_spheres(m, 2, radius, charges=(1, 6, 8), size=3) for m in train]
    square = sum(x[: len(m.charges)].square().sum((0, 2, 3)) for m, x in zip(train, raw))
    scale = (square / (sum(len(m.charges) for m in train) * 16)).sqrt()
    torch.testing.assert_close(data.inputs, torch.stack(raw) / scale[:, None, None])
    other = torch.stack([atom_spheres(m, 2, radius, charges=(1, 6, 8), size=3) for m in test])
    torch.testing.assert_close(data.test.inputs, other / scale[:, None, None])
    lone = Molecule("H", torch.tensor([1]), torch.zeros(1, 3), 0.0)
    with pytest.raises(ValueError, match="a single atom"):
        molecule_data([*many(), lone])
    with pytest.raises(ValueError, match="has 3 atoms"):
        atom_spheres(water(), 2, 0.1, size=2)


def test_rows_of_a_coulomb_matrix_are_sorted_by_their_own_norm():
    """The matrix is symmetric, but the norm of a row is not the norm over molecules: far atoms have small rows."""
    places = torch.tensor([[0.0, 0, 0], [0, 0, 9.0], [0, 1.0, 0]])
    found = coulomb_matrix(Molecule("three", torch.tensor([1, 3, 2]), places, 0.0))
    norms = found.norm(dim=1)
    assert (norms[:-1] >= norms[1:]).all()
    assert found.diagonal().tolist() == [4.5, 2.0, 0.5]
