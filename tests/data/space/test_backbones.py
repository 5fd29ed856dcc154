"""Made-up backbones against the geometry of real ones, and their volumes against integrals."""

from math import pi

import pytest
import torch

from priorscope.data import ARCHITECTURES, backbone, backbone_voxels, protein_folds


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_neighbours_along_the_chain_are_as_far_apart_as_in_proteins(name):
    """Cα atoms of neighbouring residues are 3.8 Å apart in helices and strands alike (Levitt & Warshel 1975)."""
    atoms = backbone(name, 90, disorder=0.0)
    assert atoms.shape == (90, 3)
    assert float(atoms.mean(0).abs().max()) < 1e-9
    steps = (atoms[1:] - atoms[:-1]).norm(dim=1)
    within = steps[steps < 4.5]
    assert len(within) >= 90 - 17  # all but the gaps between at most 16 elements
    assert float((within - 3.8).abs().max()) < 0.1
    others = torch.pdist(atoms)
    assert float(others.min()) > 2.5  # no two elements run through each other


def test_sizes_overlap_between_architectures_and_draws_differ():
    found = [backbone(name, 90, seed=s) for name in ARCHITECTURES for s in range(2)]
    assert {len(atoms) for atoms in found} == {90}
    assert not torch.allclose(found[0], found[1])
    assert torch.equal(backbone("barrel", seed=4), backbone("barrel", seed=4))


def test_a_volume_holds_the_integral_of_its_gaussians():
    atoms = torch.tensor([[0.3, -1.0, 0.2], [4.0, 0.0, -3.0]])
    volume = backbone_voxels(atoms, 21, 2.0)
    one = (2 * pi * 0.25) ** 1.5  # a Gaussian with half a voxel
    assert float(volume.sum()) == pytest.approx(2 * one, rel=0.03)
    where = volume[0].flatten().argmax()
    assert int(where) in {
        10 * 441 + 9 * 21 + 10,
        10 * 441 + 10 * 21 + 10,
        12 * 441 + 10 * 21 + 8,
        12 * 441 + 10 * 21 + 9,
    }
    with pytest.raises(ValueError, match="at least one atom"):
        backbone_voxels(torch.zeros(0, 3), 5, 1.0)


def test_a_smaller_set_is_the_beginning_of_a_larger_one():
    few, more = (protein_folds(n, 6, size=6, voxel=8.0, seed=3) for n in (6, 12))
    assert torch.equal(few.train.inputs, more.train.inputs[:6])
    assert torch.equal(few.test.inputs, more.test.inputs)
    assert few.train_labels.tolist() == list(range(6))
    upright = protein_folds(6, 6, size=6, voxel=8.0, seed=3, rotate=("test",))
    assert torch.equal(upright.test.inputs, few.test.inputs)
    assert not torch.allclose(upright.train.inputs, few.train.inputs, atol=0.1)


def test_messages():
    with pytest.raises(ValueError, match="there is no architecture 'knot'"):
        backbone("knot")
    with pytest.raises(ValueError, match="rotate may name"):
        protein_folds(rotate=("both",))


def test_disorder_moves_the_atoms_of_folds():
    still, moved = (protein_folds(6, 6, size=6, voxel=8.0, disorder=d, rotate=()) for d in (0.0, 2.0))
    assert not torch.allclose(still.inputs, moved.inputs, atol=0.01)
    residues = int(torch.randint(70, 111, (1,), generator=torch.Generator().manual_seed(0)))
    torch.testing.assert_close(
        still.inputs[0], backbone_voxels(backbone(ARCHITECTURES[0], residues, disorder=0.0), 6, 8.0).float()
    )
