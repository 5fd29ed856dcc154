"""Matrices on disk: what a killed run leaves behind is gone on with, started again or refused, and mirrors are as asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from priorscope.models import laplace
from priorscope.models.kernels._matrix_file import MatrixFile, record_of, recorded_block

KEY = {"block": 2, "content": "abc"}


def opened(path, kinds=("ntk",), key=KEY):
    return MatrixFile(path, kinds, (4, 4), torch.float64, key, 2)


def test_blocks_and_their_mirrors(tmp_path):
    file = opened(tmp_path / "k.npy")
    block = torch.arange(4.0, dtype=torch.float64).reshape(2, 2)
    file.put((0, 2, 2, 4), {"ntk": block}, mirror=True)
    file.put((0, 2, 0, 2), {"ntk": block}, mirror=True)  # on the diagonal: nothing to mirror
    file.put((2, 4, 2, 4), {"ntk": block + 7}, mirror=False)
    want = np.zeros((4, 4))
    want[:2, 2:], want[2:, :2], want[:2, :2], want[2:, 2:] = block, block.T, block, block + 7
    np.testing.assert_array_equal(file.kernel().ntk, want)
    lone = opened(tmp_path / "l.npy")
    lone.put((0, 2, 2, 4), {"ntk": block}, mirror=False)
    assert not np.asarray(lone.kernel().ntk)[2:, :2].any()
    again = opened(tmp_path / "k.npy")
    assert again.has((0, 2, 2, 4))
    assert not again.has((2, 4, 0, 2))
    np.testing.assert_array_equal(again.kernel().ntk, want)


def test_what_a_killed_run_leaves(tmp_path):
    path = tmp_path / "k.npy"
    assert recorded_block(path) is None
    opened(path).put((0, 2, 0, 2), {"ntk": torch.ones(2, 2)}, mirror=False)
    assert recorded_block(path) == 2
    record = record_of(path)
    with record.open("a") as lines:
        lines.write("[0, 2, 2")  # cut off
    again = opened(path)
    assert again.done == {(0, 2, 0, 2)}
    assert record.read_text().endswith("[0, 2, 0, 2]\n")
    record.write_text('{"block": 2')  # killed before the first line was whole
    assert recorded_block(path) is None
    fresh = opened(path)
    assert fresh.done == set()
    assert not np.asarray(fresh.kernel().ntk).any()
    with pytest.raises(ValueError, match="was started with other inputs or architecture"):
        opened(path, key={**KEY, "content": "xyz"})
    with pytest.raises(ValueError, match="was started with other block"):
        opened(path, key={**KEY, "block": 3})


def test_files_of_others_are_left_alone(tmp_path):
    np.save(tmp_path / "k.npy", np.eye(2))
    with pytest.raises(FileExistsError, match="no record of blocks"):
        opened(tmp_path / "k.npy")
    np.save(tmp_path / "both.ntk.npy", np.eye(2))
    with pytest.raises(FileExistsError, match="no record of blocks"):
        opened(tmp_path / "both.npy", ("nngp", "ntk"))
    two = opened(tmp_path / "two.npy", ("nngp", "ntk"))
    assert (tmp_path / "two.nngp.npy").exists()
    assert two.kernel().nngp.shape == (4, 4)
    for bad, error in (("k.txt", ValueError), ("missing/k.npy", FileNotFoundError)):
        with pytest.raises(error, match="ends in .npy or .zarr|does not exist"):
            opened(tmp_path / bad)


def test_kernels_of_the_distance_know_two_kinds_alone():
    x = torch.eye(3)
    for call in (laplace(1.0).feature_moment, laplace(1.0).expansion_gradients):
        with pytest.raises(ValueError, match="kinds"):
            call(x, x, x, kind="rbf")
