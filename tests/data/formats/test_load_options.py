"""Options of load that a file's format hands on."""

import numpy as np
import pytest
import torch

import priorscope as ps


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    array = rng.normal(size=(40, 4))
    np.save(tmp_path / "a.npy", array)
    return array, tmp_path


def test_the_seed_chooses_the_test_rows(table):
    array, folder = table
    one, again, other = (ps.data.load(folder / "a.npy", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.test.inputs, again.test.inputs)
    assert not torch.equal(one.test.inputs, other.test.inputs)
    wanted = ps.data.from_arrays(array[:, :-1], array[:, -1], seed=1)
    assert torch.equal(other.test.inputs, wanted.test.inputs)


def test_a_position_may_be_given_in_words(table):
    array, folder = table
    for target in (1, "1", -3, "-3"):
        data = ps.data.load(folder / "a.npy", target=target, test_fraction=0)
        np.testing.assert_allclose(np.sort(data.train.targets[:, 0].numpy()), np.sort(array[:, 1]), rtol=1e-6)
        assert "target: column 1" in data.notes
