"""What a trained network is worth on other data: frozen features, tangent kernel, fine-tuning, from weights in a file."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn

from priorscope.inference import processor_seconds
from priorscope.models import Backbone
from priorscope.probes import empirical_ntk
from priorscope.sklearn import FrozenFeatures, TangentMachine, TrainedNetwork


def small(outputs: int = 10) -> nn.Sequential:
    def block(before, wide):
        return [nn.Conv2d(before, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU()]

    body = [*block(1, 16), nn.MaxPool2d(2), *block(16, 32), nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    return nn.Sequential(*body, nn.Linear(128, outputs))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return ((X - X.mean()) / X.std())[order].reshape(-1, 1, 8, 8).astype(np.float32), y[order]


@pytest.fixture(scope="module")
def trained(digits, tmp_path_factory):
    """Real weights from a file: a network that was trained on the ten classes of 900 rows."""
    X, y = digits
    made = TrainedNetwork(small(), random_state=1, epochs=6, min_steps=60).fit(X[:900], y[:900]).run_.network.module
    path = tmp_path_factory.mktemp("weights") / "net.pt"
    torch.save(made.state_dict(), path)
    net = small()
    net.load_state_dict(torch.load(path, weights_only=True))
    return net


@pytest.mark.parametrize(
    "machine",
    [
        lambda net: FrozenFeatures(net),
        lambda net: FrozenFeatures(net, "kernel"),
        lambda net: FrozenFeatures(net, LogisticRegression(max_iter=500)),
        lambda net: TangentMachine(net, landmarks=40),
        lambda net: TrainedNetwork(net, from_weights=True),
    ],
)
def test_a_trained_network_needs_fewer_labels(digits, trained, machine):
    """Even against odd digits, from 40 labels: far better than the same from fresh weights, in the same machine."""
    X, y = digits
    few, rest = slice(900, 940), slice(940, 1240)
    fitted = clone(machine(trained)).fit(X[few], y[few] % 2)
    torch.manual_seed(0)
    fresh = machine(small()).fit(X[few], y[few] % 2)
    found, control = (1 - m.score(X[rest], y[rest] % 2) for m in (fitted, fresh))
    assert found < 0.08
    assert control > 1.2 * found
    assert fitted.predict_proba(X[rest]).shape == (300, 2)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X[rest]), fitted.predict(X[rest]))


def test_features_are_those_before_the_last_linear_layer(digits, trained):
    X = torch.from_numpy(digits[0][:70])
    backbone = Backbone.of(trained, X)
    trained.eval()
    torch.testing.assert_close(backbone.features(X), trained[:-1](X), atol=0, rtol=0)
    assert backbone.notes == ("Sequential: its features are the 128 numbers before its last linear layer",)
    bare = Backbone.of(trained[:-2], X)  # maps, as backbones without a head give them
    torch.testing.assert_close(bare.features(X), trained[:-2](X).mean((2, 3)))
    named = Named(trained[:-1], nn.Linear(128, 4))
    torch.testing.assert_close(Backbone.of(named, X).features(X), trained[:-1](X))
    copied = backbone.headed(4, named.last.weight, named.last.bias)
    torch.testing.assert_close(copied(X), named(X)["logits"])


class Named(nn.Module):
    def __init__(self, body, last):
        super().__init__()
        self.body, self.last = body, last

    def forward(self, x):
        return {"logits": self.last(self.body(x))}


def test_fine_tuning_starts_where_the_frozen_features_lead(digits, trained):
    """Without a step of training the network is a linear classifier on its frozen features."""
    X, y = digits
    still = TrainedNetwork(trained, from_weights=True, epochs=1e-9, min_steps=1, learning_rate=1e-12)
    fitted = still.fit(X[900:1100], y[900:1100])
    frozen = FrozenFeatures(trained).fit(X[900:1100], y[900:1100])
    assert np.mean(fitted.predict(X[1100:]) == frozen.predict(X[1100:])) > 0.97
    weights = trained[0].weight
    torch.testing.assert_close(fitted.run_.network.body.module[0].weight, weights)
    assert "a last layer fitted to its frozen features" in " ".join(fitted.notes_)


def test_the_tangent_kernel_is_that_of_features_and_of_the_layers_below():
    """With a body of one linear layer and no more, by hand: features' products, and the signed head through the weights."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8, bias=False), nn.Tanh(), nn.Linear(8, 2))
    x = torch.randn(6, 3)
    machine = TangentMachine(net).fit(x, np.arange(6) / 6)
    model = machine.estimator_.arch
    phi, slope = net[:2](x), 1 - net[:2](x) ** 2
    signs = model.below.head.weight  # (k, 8)
    below = sum((slope * s) @ (slope * s).T * (x @ x.T) for s in signs)
    by_hand = phi @ phi.T + below + 1
    torch.testing.assert_close(model.kernel(x.double()).ntk.float(), by_hand, atol=1e-5, rtol=1e-4)
    whole = empirical_ntk(net, x).detach()  # another head: the same part of the features, twice
    assert not torch.allclose(whole, by_hand, rtol=0.05)


def test_seconds_bound_the_rows_that_carry_the_tangent_kernel(digits, trained):
    X, y = digits
    began = processor_seconds()
    fitted = TangentMachine(trained, max_seconds=0.4).fit(X[:900], y[:900])
    assert processor_seconds() - began < 3
    assert "of 900 training rows carry the solution" in fitted.notes_[-1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FrozenFeatures(small(), "svm"), "head must be 'linear', 'kernel' or an estimator"),
        (lambda: FrozenFeatures(lambda: small()), "needs a module with its trained weights; got function"),
        (lambda: TrainedNetwork(lambda: small(), from_weights=True), "a factory has none. Give the module itself"),
        (lambda: TangentMachine(small(), landmarks=0), "landmarks"),
        (lambda: FrozenFeatures(nn.Linear(3, 2)), "does not take inputs of shape 1×8×8"),
    ],
)
def test_what_has_no_weights_to_start_from_is_refused(digits, make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make().fit(digits[0][:30], digits[1][:30])
