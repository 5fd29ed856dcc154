"""Steepest and mirror descent end where theory says: least divergence on many fits, largest margin on separable data."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.data import Split
from priorscope.inference import Entropy, GradientDescent, HyperbolicEntropy, Mirror, Power, Quadratic, Steepest
from priorscope.probes import maximum_margin, minimum_norm, minimum_potential


def line(start):
    net = nn.Linear(len(start), 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        net.weight.copy_(torch.as_tensor(start, dtype=torch.float64)[None])
    return net


def wide(positive=False):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 12))
    w = np.abs(rng.normal(size=12)) if positive else rng.normal(size=12)
    return x, x @ w


@pytest.mark.parametrize(
    ("potential", "start", "rate"),
    [
        (Quadratic(), 0.0, 0.2),
        (HyperbolicEntropy(0.05), 0.0, 0.2),
        (Power(1.5), 0.0, 0.1),
        (Entropy(), 0.5, 0.05),
    ],
)
def test_mirror_descent_ends_at_the_least_divergence(potential, start, rate):
    x, y = wide(positive=start > 0)
    data = Split(torch.from_numpy(x), torch.from_numpy(y)[:, None])
    first = np.full(12, start)
    fitted = GradientDescent(rate, 20_000, optimiser=Mirror(potential), stop=1e-24, record=1).fit(line(first), data)
    assert bool(fitted.finished.all())
    w = fitted.params[0].numpy()
    np.testing.assert_allclose(w, minimum_potential(x, y, potential, start=first), atol=1e-9)
    if not isinstance(potential, Quadratic):
        assert np.abs(w - minimum_norm(x, y)).max() > 0.05  # gradient descent ends elsewhere


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_steepest_descent_ends_at_the_largest_margin_of_its_norm(norm):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(6, 10)), np.sign(rng.normal(size=6))
    data = Split(torch.from_numpy(x), torch.from_numpy(y)[:, None])
    orders = {"l1": 1, "l2": 2, "linf": np.inf}
    descent = GradientDescent(
        0.3,
        3000,
        optimiser=Steepest(norm, normalised=True),
        schedule=lambda s: (1 + s / 50) ** -0.5,
        loss="logistic",
        record=1,
    )
    w = descent.fit(line(np.zeros(10)), data).params[0].numpy()

    def share(order, direction):
        return (y * (x @ direction)).min() / np.linalg.norm(direction, order)

    best = {name: share(order, maximum_margin(x, y, name)) for name, order in orders.items()}
    assert share(orders[norm], w) > 0.97 * best[norm]
    others = [maximum_margin(x, y, name) for name in orders if name != norm]
    assert max(share(orders[norm], other) for other in others) < 0.97 * best[norm]  # the norms are told apart


def test_one_step_by_hand():
    g = torch.tensor([[3.0, -4.0], [0.0, 0.0]])
    assert Steepest("l2").change(g, 0.1)[0].tolist() == pytest.approx([-0.3, 0.4])
    assert Steepest("l2", normalised=True).change(g, 0.1)[0].tolist() == pytest.approx([-0.06, 0.08])
    assert Steepest("l1").change(g, 0.1)[0].tolist() == pytest.approx([0, 0.4])
    assert Steepest("linf").change(g, 0.1)[0].tolist() == pytest.approx([-0.7, 0.7])
    assert all(float(Steepest(n, True).change(g, 0.1)[1].abs().sum()) == 0 for n in ("l1", "l2", "linf"))


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="norm must be"):
        Steepest("l3")
    with pytest.raises(ValueError, match="momentum belongs to"):
        GradientDescent(optimiser=Steepest(), momentum=0.9)
    with pytest.raises(ValueError, match="noise on the weights"):
        GradientDescent(optimiser=Mirror(), noise=0.1)
    with pytest.raises(ValueError, match="or a geometry; got 'newton'"):
        GradientDescent(optimiser="newton")
    x, y = wide()
    data = Split(torch.from_numpy(x), torch.from_numpy(y)[:, None])
    with pytest.raises(ValueError, match="cannot start here"):
        GradientDescent(optimiser=Mirror(Entropy())).fit(line(np.zeros(12)), data)
