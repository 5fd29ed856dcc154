"""Data sets of dictionaries, streams, token lists of several lengths, and sequences said to be such."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from priorscope.data import as_dataset, from_torch

RNG = np.random.default_rng(0)
TOKENS = [RNG.integers(1, 9, RNG.integers(2, 6)).tolist() for _ in range(40)]


class Items(Dataset):
    """Dictionaries as Hugging Face's tokenized data sets give them."""

    def __len__(self):
        return len(TOKENS)

    def __getitem__(self, i):
        return {"text": "words", "input_ids": TOKENS[i], "size": float(i), "labels": i % 2}


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(10_000):
            yield torch.full((3,), float(i)), i % 2


class Columns:
    """What a table of tokens has that is no data set of torch: a length, and items by name."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i >= 6:
            raise IndexError(i)
        return {"pixel_values": np.full((1, 4, 4), float(i)), "label": "ab"[i % 2]}


def test_items_with_parts_are_laid_in_rows_and_come_back():
    data = from_torch(Items(), test_fraction=0.0)
    longest = max(map(len, TOKENS))
    assert data.fields.names == ("input_ids", "attention_mask", "size")
    assert data.input_shape == (2 * longest + 1,)
    parts = data.fields.unpacked(data.inputs)
    for i, tokens in enumerate(TOKENS):
        assert parts["input_ids"][i, : len(tokens)].tolist() == tokens
        assert parts["attention_mask"][i].tolist() == [1] * len(tokens) + [0] * (longest - len(tokens))
    assert not parts["input_ids"].is_floating_point()
    assert parts["size"].tolist() == list(range(40))
    assert data.train_labels.tolist() == [i % 2 for i in range(40)]
    assert any("inputs have parts" in note for note in data.notes)
    assert "parts without numbers are left out: text" in data.notes
    assert data.subset(10).fields is data.fields


def test_batches_of_dictionaries_pad_across_batches():
    def collate(items):
        longest = max(len(item["input_ids"]) for item in items)
        rows = [item["input_ids"] + [0] * (longest - len(item["input_ids"])) for item in items]
        return {"input_ids": torch.tensor(rows), "labels": torch.tensor([item["labels"] for item in items])}

    loader = DataLoader(Items(), batch_size=3, collate_fn=collate)
    by_batch, by_item = from_torch(loader, test_fraction=0.0), from_torch(Items(), test_fraction=0.0)
    ids = [d.fields.unpacked(d.inputs)["input_ids"] for d in (by_batch, by_item)]
    assert torch.equal(*ids)
    assert torch.equal(by_batch.train_labels, by_item.train_labels)


def test_one_part_is_the_input_itself():
    data = as_dataset(Columns(), test_fraction=0.0)
    assert data.input_shape == (1, 4, 4)
    assert data.fields is None
    assert data.classes == ("a", "b")
    assert as_dataset([Columns()[i] for i in range(6)], test_fraction=0.0).inputs.equal(data.inputs)


def test_a_stream_is_read_up_to_a_limit_and_that_is_told():
    data = from_torch(Stream(), limit=50, test_fraction=0.0)
    assert data.inputs[:, 0].tolist() == list(range(50))
    assert "the first 50 rows of a source that goes on" in data.notes
    batched = from_torch(DataLoader(Stream(), batch_size=8), limit=50, test_fraction=0.0)
    assert batched.inputs.equal(data.inputs)


def test_token_lists_of_several_lengths_get_a_mask():
    pairs = [(torch.tensor(tokens), i % 2) for i, tokens in enumerate(TOKENS)]
    data = from_torch(pairs, test_fraction=0.0)
    whole = from_torch(Items(), test_fraction=0.0)
    for name in ("input_ids", "attention_mask"):
        assert torch.equal(data.fields.unpacked(data.inputs)[name], whole.fields.unpacked(whole.inputs)[name])


def test_sequences_are_read_as_such_where_it_is_said():
    X, y = RNG.normal(size=(30, 9, 4)), np.arange(30) % 2
    data = as_dataset(X, y, layout="sequence", test_fraction=0.0)
    assert data.input_shape == (4, 9)
    np.testing.assert_allclose(data.inputs.numpy(), X.swapaxes(1, 2), rtol=1e-6)
    assert "sequences of 9 times with 4 numbers each" in " ".join(data.notes)
    assert as_dataset(X, y, test_fraction=0.0).input_shape == (1, 9, 4)  # the shape alone says an image
    with pytest.raises(ValueError, match=r"layout='sequence' needs inputs \(n, times, numbers\)"):
        as_dataset(X[..., None], y, layout="sequence")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([{"a": 1.0}] * 4, "needs the target of items with parts a; it is looked for as labels, label"),
        ([{"text": "so", "label": 1}] * 4, "no part with numbers beside the target 'label'"),
        ([{"a": 1.0, "y": 0}, {"b": 1.0, "y": 0}], "items with the same parts; item 1 has b, y"),
        ([{"a": 1.0, "y": 0}, 3], "item 1 is a int"),
    ],
)
def test_items_that_cannot_be_read_are_refused(items, words):
    with pytest.raises(ValueError, match=words):
        as_dataset(items)
