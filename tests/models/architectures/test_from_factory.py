"""What factories are given, what networks give back, and how user networks are calibrated."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from priorscope.models import UserNetwork, from_factory, load
from priorscope.models.architectures._hand_over import HandOver, ways
from priorscope.models.architectures._outputs import predictions
from priorscope.models.architectures._user_network import _rows_first

SHAPE = (3, 5, 7)


def test_factories_are_given_what_they_name():
    def names(input_shape, outputs, seed, in_channels, in_features):
        return input_shape, outputs, seed, in_channels, in_features

    assert from_factory(names, SHAPE, 4, 9) == (SHAPE, 4, 9, 3, 105)

    def by_place(outputs, /, num_classes=0):
        return outputs, num_classes

    with pytest.raises(ValueError, match="wants outputs, which is not known here"):
        from_factory(by_place, SHAPE, 4)

    def optional(depth=2, *, n_classes=None):
        return depth, n_classes

    assert from_factory(optional, SHAPE, 4) == (2, 4)


@pytest.mark.parametrize("known", [("num_classes", "in_chans"), ("num_classes",), ()])
def test_arguments_behind_stars_are_tried_from_the_most_to_the_least(known):
    """As timm does: unknown keywords raise TypeError, and fewer of them are given then."""

    def hidden(outputs, **more):
        if set(more) - set(known):
            raise TypeError("unexpected keyword")
        return outputs, more

    full = {"num_classes": 4, "in_chans": 3}
    assert from_factory(hidden, SHAPE, 4) == (4, {name: full[name] for name in known})


def test_models_of_timm(monkeypatch):
    """A stand-in that notes how it is called."""
    timm = ModuleType("timm")
    timm.list_models = lambda: ["tiny_net", "resnet10t"]
    timm.create_model = lambda name, in_chans, num_classes: SimpleNamespace(made=(name, in_chans, num_classes))
    monkeypatch.setitem(sys.modules, "timm", timm)
    build = load("timm:tiny_net")
    assert build.__name__ == "tiny_net"
    assert build(SHAPE, 4).made == ("tiny_net", 3, 4)
    assert from_factory(build, SHAPE, 4).made == ("tiny_net", 3, 4)
    for shape in ((3, 5), (1, 3, 5, 7)):
        with pytest.raises(ValueError, match="timm models take images"):
            build(shape, 4)
    with pytest.raises(ValueError, match="timm has no model 'tiny_nut'. Did you mean 'tiny_net'?"):
        load("timm:tiny_nut")


@dataclass
class Answer:
    hidden: torch.Tensor
    logits: torch.Tensor


def test_predictions_are_found_in_what_a_network_gives():
    wide, flat, deep = torch.rand(4, 9), torch.rand(4, 2), torch.rand(4, 3, 2)
    assert predictions(Answer(wide, flat), 4)[0] is not wide
    torch.testing.assert_close(predictions(Answer(wide, flat), 4)[0], flat)
    torch.testing.assert_close(predictions((deep, flat), 4)[0], flat)  # what is flat comes before sequences
    torch.testing.assert_close(predictions((flat, wide), 4)[0], flat)  # the first of several
    torch.testing.assert_close(predictions((deep, torch.rand(3, 2)), 4)[0], deep.mean(1))
    torch.testing.assert_close(predictions(([flat],), 4)[0], flat)
    torch.testing.assert_close(predictions(torch.rand(4, 1), 4)[0].shape, torch.Size([4, 1]))
    torch.testing.assert_close(predictions((torch.arange(4.0),), 4)[0], torch.arange(4.0)[:, None])
    torch.testing.assert_close(predictions(flat[:, :, None, None], 4)[0], flat)  # axes of length one go
    torch.testing.assert_close(predictions(deep, 4, nn.LSTM(2, 2))[0], deep[:, -1])
    with pytest.raises(RuntimeError, match="outputs of shape"):
        predictions(torch.rand(4, 2, 3, 3), 4)
    for bad in (Answer, {"a": 3}, [[[[flat]]]], "text"):
        with pytest.raises(TypeError, match="a network must give a tensor"):
            predictions(bad, 4)


def test_samples_first():
    sequence = torch.rand(5, 4, 2)
    torch.testing.assert_close(_rows_first(sequence), sequence.transpose(0, 1))
    torch.testing.assert_close(_rows_first((sequence, None)), sequence.transpose(0, 1))
    flat = torch.rand(4, 2)
    assert _rows_first(flat) is flat
    assert _rows_first((flat,)) == (flat,)
    assert _rows_first(()) == ()
    assert _rows_first((None, sequence)) == (None, sequence)


def test_ways_of_handing_over():
    x = torch.rand(2, 1, 4, 4)
    large = HandOver(side=8)(x)
    torch.testing.assert_close(large, nn.functional.interpolate(x, size=(8, 8), mode="bilinear"))
    signal = torch.rand(2, 1, 4)
    torch.testing.assert_close(HandOver(side=8)(signal), nn.functional.interpolate(signal, size=8, mode="linear"))
    assert torch.equal(HandOver(colour=True)(x), x.repeat(1, 3, 1, 1))
    assert HandOver(first=True)(signal).shape == (1, 2, 4)
    assert HandOver(axis=1)(torch.rand(2, 5)).shape == (2, 1, 5)
    assert HandOver(axis=2)(torch.rand(2, 5)).shape == (2, 5, 1)
    assert HandOver(side=8).words((1, 4, 4)) == ["does not take inputs of shape 1×4×4; they are enlarged to side 8"]
    assert HandOver(colour=True).words((1, 4, 4)) == ["grey images are given to all three colour channels"]
    assert HandOver(flat=True).words((1, 4, 4)) == ["inputs of shape 1×4×4 are flattened"]
    grey = list(ways((1, 4, 4), nn.Linear(3, 1), None, x))
    assert [w.colour for w in grey].count(True) == 1 + sum(bool(w.side) for w in grey) // 2
    assert not any(w.colour for w in ways((2, 4, 4), nn.Linear(3, 1), None, x))


def normed(track=True):
    torch.manual_seed(0)
    parts = [nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=0.3, track_running_stats=track), nn.ReLU()]
    parts += [nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=track), nn.Dropout(0.0), nn.Linear(4, 2)]
    return nn.Sequential(*parts)


def test_every_normalisation_is_frozen_at_the_pilot():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
    network = UserNetwork.fit(normed(), x, 2)
    inner = network.module
    first, second = inner[1], inner[4]
    a = inner[0](x)
    torch.testing.assert_close(first.running_mean, a.mean(0).detach())
    torch.testing.assert_close(first.running_var, a.var(0).detach())
    b = inner[3](torch.relu((a - a.mean(0)) / (a.var(0, correction=0) + 1e-5).sqrt()))
    torch.testing.assert_close(second.running_mean, b.mean(0).detach(), rtol=1e-4, atol=1e-5)
    assert (first.momentum, second.momentum) == (0.3, 0.1)
    assert not any(m.training for m in network.modules())
    assert any("batch normalisation is frozen" in note for note in network.notes)
    assert not any("dropout" in note for note in network.notes)
    still = torch.ones(40, 3)
    still[:, 0] = torch.linspace(-1, 1, 40)
    dead = normed()
    with torch.no_grad():
        dead[0].weight[:, 0] = 0.0  # no neuron sees what changes
    kept = UserNetwork.fit(dead, still, 2)
    assert (kept.module[1].running_var >= 1e-5).all()
    assert torch.isfinite(kept(still)).all()


def test_what_a_user_network_says_of_itself():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    few = UserNetwork.fit(nn.Linear(3, 1), x, 2)
    assert few.given == 1
    assert any("has 1 outputs where the targets have 2" in note for note in few.notes)
    many = UserNetwork.fit(nn.Linear(3, 5), x, 2)
    assert any("has 5 outputs; the first 2 are used" in note for note in many.notes)
    torch.testing.assert_close(many(x), many.module(x)[:, :2])
    exact = UserNetwork.fit(nn.Linear(3, 2), x, 2)
    assert not any("outputs" in note for note in exact.notes)
    dropping = UserNetwork.fit(nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)), x, 2)
    assert any("dropout is switched off" in note for note in dropping.notes)
    frozen = nn.Linear(3, 2)
    for p in frozen.parameters():
        p.requires_grad_(False)
    with pytest.raises(ValueError, match="nothing to train"):
        UserNetwork.fit(frozen, x, 2)
    broken = nn.Linear(3, 2)
    nn.init.constant_(broken.weight, float("inf"))
    with pytest.raises(ValueError, match="gives NaN or infinite outputs"):
        UserNetwork.fit(broken, x[:2], 2)
    assert UserNetwork(nn.Linear(3, 2), 2)(x).shape == (5, 2)  # handed over as they are


class Mixing(nn.Module):
    """Each sample is seen beside the mean of its batch."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, x):
        return self.inner(x - x.mean(0))


def test_mixing_of_samples_is_seen_with_three_of_them():
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(1))
    with pytest.raises(ValueError, match="depends on the other samples"):
        UserNetwork.fit(Mixing(), x, 2)
    assert UserNetwork.fit(Mixing(), x[:2], 2).given == 2  # two are too few to tell
