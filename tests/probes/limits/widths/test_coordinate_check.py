"""Parametrisations by their table, and the coordinate check on networks whose limit is known."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.models import ABCNetwork, ABCParametrisation, abc_parametrisation
from priorscope.probes import coordinate_check


@pytest.fixture(scope="module")
def data():
    x = ps.data.sphere(24, 4, radius=2.0, seed=0)
    return x, x[:, :1]


def test_the_table_of_regimes():
    """Yang & Hu (2021), Table 1 and Fig. 2: r, and what the limit does."""
    assert [abc_parametrisation(name, 3).update for name in ("ntk", "standard", "mup")] == [0.5, 0.5, 0.0]
    assert [abc_parametrisation(name, 3).regime for name in ("ntk", "standard", "mup")] == [
        "kernel",
        "kernel",
        "feature",
    ]
    too_fast = ABCParametrisation("standard at rate one", (0.0,) * 3, (0.0, 0.5, 0.5), 0.0)
    assert too_fast.regime == "unstable"
    too_slow = ABCParametrisation("slow", (0.0, 0.5, 0.5), (0.0,) * 3, 1.0)
    assert too_slow.regime == "trivial"
    with pytest.raises(ValueError, match="one of 'standard', 'ntk', 'mup'"):
        abc_parametrisation("xavier", 2)


def test_the_symmetry_of_the_rate(data):
    """(a, b, c) and (a + t, b − t, c − 2t) train alike."""
    one = ABCParametrisation("one", (-0.5, 0.0, 0.5), (0.5,) * 3, 0.0)
    other = ABCParametrisation("other", (-0.2, 0.3, 0.8), (0.2,) * 3, -0.6)
    fits = []
    for law in (one, other):
        net = ABCNetwork(law, 4, 32, seed=1).double()
        fits.append(ps.inference.GradientDescent(learning_rate=0.1, steps=20).fit(net, _samples(data)))
    x = data[0].double()
    torch.testing.assert_close(fits[0].predict(x), fits[1].predict(x), rtol=1e-5, atol=1e-6)


def _samples(data):
    return ps.data.from_arrays(data[0].double(), data[1].double(), test_fraction=0.0, dtype=torch.float64)


@pytest.mark.parametrize(("name", "input", "hidden"), [("mup", 0, 0), ("ntk", -0.5, -0.5), ("standard", -1.5, -0.5)])
def test_hidden_layers_move_as_theory_says(data, name, input, hidden):
    law = abc_parametrisation(name, 2)
    found = coordinate_check(
        lambda width, seed: ABCNetwork(law, 4, width, seed=seed), *data, widths=(64, 256, 1024), seeds=range(2)
    )
    first, second, last = found.exponents().values()
    assert first.value == pytest.approx(input, abs=0.15)
    assert second.value == pytest.approx(hidden, abs=0.2)
    assert last.value == pytest.approx(0, abs=0.25)
    assert ("Maximal update" in found.sentence()) == (name != "mup")
    assert len(found.table()) == 18
    found.chart().to_dict()


def test_a_network_of_the_users_own(data):
    def mine(width, seed):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    found = coordinate_check(mine, *data, widths=(32, 128, 512), seeds=range(2), learning_rate=0.02)
    assert found.layers == ("0", "2", "4")
    assert found.verdicts()["4"] == "blows up"  # torch's own start at one rate for all widths
    with pytest.raises(ValueError, match="two or more widths"):
        coordinate_check(mine, *data, widths=(8,))
    with pytest.raises(TypeError, match="must give an nn.Module"):
        coordinate_check(lambda w, s: 3, *data)

    def half_frozen(width, seed):
        net = mine(width, seed)
        net[0].requires_grad_(False)
        return net

    with pytest.raises(ValueError, match="outputs of 0 did not change"):
        coordinate_check(half_frozen, *data, widths=(8, 16), seeds=range(1))


def test_a_function_of_the_width_alone_is_called_with_torch_seeded(data):
    def make(width):
        return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))

    def seeded(width, seed):
        torch.manual_seed(seed)
        return make(width)

    settings = {"widths": (16, 64), "seeds": (0, 1), "learning_rate": 0.01}
    state = torch.get_rng_state()
    alone = coordinate_check(make, *data, **settings)
    assert torch.equal(state, torch.get_rng_state())
    assert alone.table().equals(coordinate_check(seeded, *data, **settings).table())
