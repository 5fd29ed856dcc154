"""Networks of the user's own, trained as their owners would: inputs in their own shape, by name, tokens; clock and seed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from torch import nn

from priorscope.contracts import Fields
from priorscope.inference import processor_seconds
from priorscope.sklearn import TrainedNetwork

RNG = np.random.default_rng(0)


class Recurrent(nn.Module):
    """Reads (n, time, numbers), or (time, n, numbers)."""

    def __init__(self, first: bool = True):
        super().__init__()
        self.first = first
        self.body, self.head = nn.LSTM(2, 16, batch_first=first), nn.Linear(16, 2)

    def forward(self, x):
        states = self.body(x)[0]
        return self.head(states[:, -1] if self.first else states[-1])


class Attentive(nn.Module):
    """Tokens and their mask by name; logits in a dictionary."""

    def __init__(self, words: int = 30):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.attend = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, enable_nested_tensor=False
        )
        self.head = nn.Linear(16, 2)

    def forward(self, input_ids, attention_mask, labels=None):
        assert not input_ids.is_floating_point()
        keep = attention_mask[..., None].float()
        states = self.attend(self.embed(input_ids), src_key_padding_mask=attention_mask == 0)
        return {"hidden": states, "logits": self.head((states * keep).sum(1) / keep.sum(1))}


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        parts, before = [], 1
        for i, wide in enumerate((32, 32, 64, 64)):
            parts += [
                nn.Conv2d(before, wide, 3, padding=1),
                nn.BatchNorm2d(wide),
                nn.ReLU(),
                *([nn.MaxPool2d(2)] if i == 1 else []),
            ]
            before = wide
        self.body = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        return self.body(x)


def waves(n: int):
    """Sequences (n, 12, 2) of one of two frequencies at a random phase beside noise."""
    which = RNG.integers(1, 3, n)
    angle = which[:, None] * np.linspace(0, 2 * np.pi, 12) + 2 * np.pi * RNG.random((n, 1))
    return np.stack([np.sin(angle), RNG.normal(size=(n, 12))], -1), which


def sentences(n: int):
    """Token lists of several lengths; the class says whether one of two words occurs."""
    ids = [RNG.integers(1, 30, RNG.integers(3, 9)) for _ in range(n)]
    return ids, np.array(["yes" if {3, 7} & set(i.tolist()) else "no" for i in ids])


@pytest.mark.parametrize(
    ("net", "turn"),
    [
        (Recurrent(), lambda x: x),
        (Recurrent(False), torch.from_numpy),
        (Recurrent(), lambda x: x.swapaxes(1, 2)),
    ],
)
def test_sequences_reach_a_recurrent_network_whatever_their_order(net, turn):
    X, y = waves(400)
    fitted = TrainedNetwork(net).fit(turn(X[:300]), y[:300])
    assert fitted.score(turn(X[300:]), y[300:]) > 0.9
    mixed = np.random.default_rng(1).permutation(y[:300])
    assert TrainedNetwork(net, epochs=5).fit(turn(X[:300]), mixed).score(turn(X[300:]), y[300:]) < 0.8


def test_parts_reach_a_network_by_name_and_padding_is_masked():
    ids, y = sentences(400)
    fitted = TrainedNetwork(Attentive()).fit({"input_ids": ids[:300]}, y[:300])
    assert fitted.score({"input_ids": ids[300:]}, y[300:]) > 0.9
    assert "takes input_ids, attention_mask by name" in " ".join(fitted.notes_)
    items = [{"input_ids": one} for one in ids[300:]]
    np.testing.assert_array_equal(fitted.predict(items), fitted.predict({"input_ids": ids[300:]}))
    fields, rows = Fields.packed({"input_ids": ids})
    same = TrainedNetwork(Attentive(), fields=fields).fit(rows[:300].numpy(), y[:300])
    np.testing.assert_allclose(same.predict_proba(rows[300:]), fitted.predict_proba(items), atol=1e-6)
    one = fitted.predict_proba(
        [{"input_ids": ids[301]}]
    )  # what is beside it, and how far it is padded, changes nothing
    np.testing.assert_allclose(one, fitted.predict_proba(items)[1:2], atol=1e-5)
    with pytest.raises(ValueError, match="the longest that the network was fitted to has 8. Cut them"):
        fitted.predict([{"input_ids": np.arange(1, 12)}])
    with pytest.raises(ValueError, match="the inputs lack input_ids"):
        fitted.predict({"words": ids})


def test_one_output_for_two_classes_says_the_odds():
    X = RNG.normal(size=(300, 3))
    y = np.where(X[:, 0] + 0.3 * RNG.normal(size=300) > 0, "b", "a")
    net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    plain = TrainedNetwork(net).fit(X, y)
    by_hand = TrainedNetwork(net, loss=nn.BCEWithLogitsLoss()).fit(X, y)
    np.testing.assert_allclose(plain.predict_proba(X), by_hand.predict_proba(X), atol=1e-3)
    assert plain.score(X, y) > 0.85
    with pytest.raises(ValueError, match="the network has 1 outputs; 3 are wanted"):
        TrainedNetwork(net).fit(X, np.arange(300) % 3)


def test_a_function_of_the_user_trains_the_network():
    X = RNG.normal(size=(200, 3))
    y = 50 + 10 * X[:, 0]
    seen = {}

    def train(module, inputs, targets, seed):
        seen.update(shape=inputs.shape, seed=seed, live=module.training)
        optimiser = torch.optim.SGD(module.parameters(), 0.1)
        for _ in range(100):
            optimiser.zero_grad()
            nn.functional.mse_loss(module(inputs), targets).backward()
            optimiser.step()

    fitted = TrainedNetwork(nn.Linear(3, 1), train=train, random_state=4).fit(X, y)
    assert fitted.score(X, y) > 0.999
    assert seen == {"shape": (200, 3), "seed": 4, "live": True}
    assert fitted.stopped_by_ == "a training function of the user's own returned"
    with pytest.raises(TypeError, match="must return a module or nothing; got int"):
        TrainedNetwork(nn.Linear(3, 1), train=lambda module, inputs, targets: 3).fit(X, y)


def test_it_is_cloned_pickled_and_repeated_by_its_seed():
    X, y = waves(60)
    machine = clone(TrainedNetwork(Recurrent(), epochs=3, min_steps=20, random_state=5))
    first, again = clone(machine).fit(X, y), clone(machine).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = clone(machine).set_params(random_state=6).fit(X, y)
    assert np.abs(first.predict_proba(X) - other.predict_proba(X)).max() > 1e-4
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict_proba(X), first.predict_proba(X))
    weights = [p.detach().clone() for p in machine.model.parameters()]
    machine.fit(X, y)
    assert all(
        torch.equal(p, w) for p, w in zip(machine.model.parameters(), weights, strict=True)
    )  # the user's own stays


def test_training_keeps_to_the_processor_time():
    X, y = RNG.normal(size=(300, 64)), np.arange(300) % 2
    net = nn.Sequential(nn.Linear(64, 1500), nn.ReLU(), nn.Linear(1500, 1500), nn.ReLU(), nn.Linear(1500, 2))
    began = processor_seconds()
    fitted = TrainedNetwork(net, max_seconds=0.5).fit(X, y)
    assert processor_seconds() - began < 1.0
    assert fitted.stopped_by_ == "the seconds were spent"
    assert fitted.steps_ > 3


def test_a_plain_convolutional_network_on_the_digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].reshape(-1, 8, 8, 1), y[order]
    began = processor_seconds()
    fitted = TrainedNetwork(Digits(), max_seconds=4).fit(X[:225], y[:225])
    assert processor_seconds() - began < 5
    assert 1 - fitted.score(X[225:], y[225:]) < 0.045  # about 2.5 % wrong


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"a": torch.zeros(3, 2), "b": torch.zeros(2)}, "one row per sample; got {'a': 3, 'b': 2}"),
        ({"a": ["x", "y"]}, "holds <U1; wanted numbers. Words become numbers by a tokenizer"),
        ({"a": torch.tensor([float("nan")])}, "holds NaN"),
        ({"a": torch.tensor([2**25])}, "whole numbers beyond 16777216"),
        ({"a": 3}, "is a int; wanted an array or a list"),
        ({}, "got none"),
    ],
)
def test_parts_that_cannot_be_rows_are_refused(parts, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Fields.packed(parts)
