"""A module drawn again has the law it was drawn by, and one whose law cannot be told is refused."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.models import Redrawing


def mean_square(nets, name):
    """Mean square of a parameter over networks, and its standard error."""
    squares = torch.stack([dict(net.named_parameters())[name].detach().double().square().mean() for net in nets])
    return float(squares.mean()), float(squares.std() / math.sqrt(len(squares)))


@pytest.mark.parametrize("initialisation", ["gaussian", "orthogonal"])
@pytest.mark.parametrize("parametrisation", ["ntk", "mean-field", "standard"])
def test_networks_of_the_library_are_drawn_by_the_law_they_state(parametrisation, initialisation):
    arch = ps.models.lcn(depth=1, weight_variance=2.0, bias_variance=0.5)
    options = {"width": 6, "parametrisation": parametrisation, "initialisation": initialisation}
    given = arch.network((2, 5), seed=3, **options)
    like = Redrawing.of(nn.Sequential(given))
    assert like.note == "drawn again by the law it states"
    again = [like.network(seed) for seed in range(60)]
    anew = [arch.network((2, 5), seed=1000 + seed, **options) for seed in range(60)]
    stacked = like.stacked(60, torch.Generator().manual_seed(0))
    for name, p in given.named_parameters():
        a, noise_a = mean_square(again, f"0.{name}")
        b, noise_b = mean_square(anew, name)
        c = float(stacked[f"0.{name}"].square().mean())
        assert abs(a - b) <= 6 * math.hypot(noise_a, noise_b) + 1e-6 * b  # orthogonal: equal to rounding
        assert abs(c - b) <= 6 * math.hypot(noise_a, noise_b) + 1e-6 * b
        assert not torch.equal(again[0].get_parameter(f"0.{name}"), again[1].get_parameter(f"0.{name}"))
        assert stacked[f"0.{name}"].shape == (60, *p.shape)
    if initialisation == "orthogonal":
        W = stacked["0.0.weight"][7, 2].double()  # (out, in · taps) of one network and pixel
        products = W.mT @ W if W.shape[0] >= W.shape[1] else W @ W.mT
        torch.testing.assert_close(products, products[0, 0] * torch.eye(len(products)).double(), rtol=1e-5, atol=1e-5)


def test_antisymmetric_halves_stay_equal():
    net = ps.models.fcn(1).network((3,), width=4, initialisation="antisymmetric")
    like = Redrawing.of(net)
    assert not like.in_one_call
    fresh = like.network(1)
    assert float(fresh(torch.ones(2, 3)).detach().abs().max()) == 0
    assert not torch.equal(fresh.plus[1].weight, net.plus[1].weight)


class Own(nn.Module):
    """A part with a law of its own."""

    def __init__(self, std=1.0):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.empty(30)), nn.Parameter(torch.empty(30))
        self.reset_parameters()
        with torch.no_grad():
            self.gain *= std

    def reset_parameters(self):
        nn.init.normal_(self.gain, mean=2.0)
        nn.init.zeros_(self.shift)

    def forward(self, x):
        return self.gain * x + self.shift


def test_laws_that_weights_do_not_contradict_are_taken():
    torch.manual_seed(0)
    for net in (
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(32, 5)),
        nn.Sequential(nn.Linear(4, 30), Own()),
        nn.Sequential(nn.Embedding(10, 8), nn.LSTM(8, 4)),
        nn.Linear(1, 1),
        nn.Linear(30, 40).half(),
    ):
        assert "do not contradict" in Redrawing.of(net).note
    for seed in range(300):  # none of three hundred honest modules is refused
        torch.manual_seed(seed)
        Redrawing.of(nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1), Own()))


def test_what_holds_one_value_keeps_it():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    nn.init.zeros_(net[0].bias)
    nn.init.constant_(net[1].weight, 0.5)
    like = Redrawing.of(net)
    for fresh in (like.network(0).state_dict(), {k: v[1] for k, v in like.stacked(2, torch.Generator()).items()}):
        assert fresh["0.bias"].tolist() == [0.0] * 4
        assert fresh["1.weight"].tolist() == [0.5] * 4
        assert not torch.equal(fresh["0.weight"], net[0].weight)


def drawn_by(law, module, *arguments):
    law(module.weight, *arguments)
    return module


class Bare(nn.Module):
    """Parameters that nothing says how to draw."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(6))


def trained():
    torch.manual_seed(0)
    net = nn.Linear(50, 20)
    with torch.no_grad():
        net.weight += 0.1
    return net


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (
            lambda: drawn_by(nn.init.kaiming_normal_, nn.Linear(50, 20)),
            "by the law of Linear 0.00667",
        ),
        (lambda: drawn_by(nn.init.uniform_, nn.Linear(50, 20), -0.1, 0.1), "and by the law of Linear"),
        (trained, "It was trained or drawn by another law"),
        (lambda: nn.Sequential(Own(std=3.0)), "'0.gain' has mean square .* by the law of Own 5"),
        (lambda: Bare(), "has parameters but no reset_parameters"),
        (lambda: drawn_by(nn.init.normal_, nn.LayerNorm(8)), "by the law of LayerNorm 1"),
    ],
)
def test_another_law_is_refused(net, words):
    torch.manual_seed(0)
    with pytest.raises(ValueError, match=words):
        Redrawing.of(net())
    with pytest.raises(ValueError, match="cannot draw this module again"):
        ps.probes.average_geometry(net(), (50,), n_models=4)


def test_the_random_state_is_left_alone():
    before = torch.get_rng_state()
    Redrawing.of(nn.Sequential(nn.Linear(2, 30), Own())).network(1)
    after = torch.get_rng_state()
    torch.manual_seed(0)
    nn.Sequential(nn.Linear(2, 30), Own())
    torch.set_rng_state(before)
    nn.Sequential(nn.Linear(2, 30), Own())
    assert torch.equal(torch.get_rng_state(), after)
