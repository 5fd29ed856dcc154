"""Torch data sets and loaders, row by row."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset, WeightedRandomSampler

from priorscope.data import from_torch

PAIRS = TensorDataset(torch.arange(24.0).reshape(12, 2), (torch.arange(12) % 4 > 0).long())


def rows(data):
    return sorted(data.inputs.tolist())


def test_subsets_and_loaders_give_their_rows_once():
    whole = PAIRS.tensors[0].tolist()
    for shuffle in (False, True):
        a, b = (from_torch(DataLoader(PAIRS, 5, shuffle=shuffle), test_fraction=0.25, seed=3) for _ in range(2))
        assert torch.equal(a.inputs, b.inputs)  # whatever the loader shuffles
        assert sorted([*rows(a), *a.test.inputs.tolist()]) == whole
        assert a.name == "TensorDataset"
    part = Subset(PAIRS, [1, 4, 6, 8])
    assert rows(from_torch(part, test_fraction=0)) == [whole[i] for i in (1, 4, 6, 8)]
    assert rows(from_torch(DataLoader(part, 3), test_fraction=0)) == [whole[i] for i in (1, 4, 6, 8)]
    drawn = from_torch(DataLoader(PAIRS, 2, sampler=SubsetRandomSampler([9, 1, 4])), test_fraction=0)
    assert rows(drawn) == [whole[i] for i in (1, 4, 9)]
    assert drawn.notes == ("3 of 12 rows: those the sampler draws",)
    weighted = DataLoader(PAIRS, 4, sampler=WeightedRandomSampler([1.0] * 12, 11, replacement=False))
    assert from_torch(weighted, test_fraction=0).notes[0] == "11 rows in the order in which the loader gave them"


def test_pictures_arrays_and_words():
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (6, 3, 3, 3), dtype=np.uint8)  # as square as it is deep: only a picture tells
    names = ["cat", "dog"] * 3
    data = from_torch([(Image.fromarray(p), n) for p, n in zip(pixels, names)], test_fraction=0)
    assert data.classes == ("cat", "dog")
    assert data.notes == ("pictures with their channels last were turned to channels first",)
    expected = torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy()).float() / 255
    assert sorted(data.inputs.flatten(1).tolist()) == sorted(expected.flatten(1).tolist())
    with pytest.raises(ValueError, match="Say which: layout="):
        from_torch(list(zip(pixels, names)))
    first = generator.integers(0, 256, (6, 3, 8, 8), dtype=np.uint8)
    assert from_torch(list(zip(first, [0, 1] * 3))).input_shape == (3, 8, 8)  # channels first already
    assert from_torch(list(zip(first.transpose(0, 2, 3, 1), [0, 1] * 3))).input_shape == (3, 8, 8)
    grey = from_torch([(Image.fromarray(p[0]), torch.tensor(i % 2)) for i, p in enumerate(first)])
    assert grey.input_shape == (1, 8, 8)


def test_what_is_no_data_set_of_pairs_is_refused():
    with pytest.raises(ValueError, match="items \\(input, target\\)"):
        from_torch(TensorDataset(torch.zeros(3, 2)))
    with pytest.raises(ValueError, match="gave no batch"):
        from_torch(DataLoader(PAIRS, 20, drop_last=True, sampler=WeightedRandomSampler([1.0] * 12, 8)))

    class Endless(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    with pytest.raises(ValueError, match="at least"):
        from_torch(Endless())
    with pytest.raises(ValueError, match="one shape"):
        from_torch(DataLoader([(torch.zeros(2), 0), (torch.zeros(3), 1)], None))
