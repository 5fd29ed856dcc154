"""Margins of homogeneous networks: linear ones against support vector machines, others against the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import nnls
from sklearn.svm import LinearSVC
from torch import nn

from priorscope.data import Split
from priorscope.inference import GradientDescent, Steepest
from priorscope.models import DiagonalNetwork
from priorscope.probes import homogeneity, margin, maximum_margin
from priorscope.probes.limits.margins._margin import _classes


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(0)


def line(weights):
    net = nn.Linear(len(weights), 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        net.weight.copy_(torch.as_tensor(weights)[None])
    return net


def separable(rng, n=40, d=5):
    x = torch.randn(n, d, generator=rng, dtype=torch.float64)
    y = (x @ torch.arange(1.0, d + 1, dtype=torch.float64)).sign()
    return x, y


def test_the_largest_margin_of_a_linear_model_has_ratio_one_and_others_their_share(rng):
    x, y = separable(rng)
    svm = LinearSVC(C=1e6, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=2_000_000, random_state=0).fit(x, y)
    best = torch.as_tensor(svm.coef_[0])
    top = float((y * (x @ best)).min() / best.norm())
    found = margin(line(best), x, y)
    assert found.degree == 1
    assert found.ratio == pytest.approx(1, abs=1e-4)
    assert found.margin == pytest.approx(top, rel=1e-9)
    other = torch.arange(1.0, 6, dtype=torch.float64)  # it separates, with less margin
    away = margin(line(other), x, y)
    share = float((y * (x @ other)).min() / other.norm()) / top
    assert share < 0.9
    assert away.ratio == pytest.approx(share, rel=1e-4)
    w = maximum_margin(x.numpy(), y.numpy())
    np.testing.assert_allclose(w / np.linalg.norm(w), best / best.norm(), atol=1e-4)
    support = {int(i) for i in np.flatnonzero(found.multipliers > 1e-6 * found.multipliers.max())}
    assert support == {int(i) for i in np.flatnonzero((y * (x @ best)).numpy() < 1 + 1e-3)}


def test_the_gap_is_stationarity_and_complementarity_together(rng):
    x, _ = separable(rng)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 7, bias=False), nn.ReLU(), nn.Linear(7, 1, bias=False)).double()
    y = net(x).detach().sign()
    found = margin(net, x, y)
    assert found.gap == pytest.approx(found.stationarity**2 + 2 * found.complementarity, rel=1e-9)
    assert 0.05 < found.gap < 1  # its weights were drawn, not trained


def test_multipliers_are_those_of_a_second_program_on_dense_gradients(rng):
    x, _ = separable(rng, n=15)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 12, bias=False), nn.ReLU(), nn.Linear(12, 1, bias=False)).double()
    y = net(x).detach().sign()[:, 0]
    found = margin(net, x, y, working=3)  # the set has to grow

    def q(i):
        return y[i] * net(x[i : i + 1])[0, 0]

    G = torch.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(q(i), list(net.parameters()))]) for i in range(15)]
    )
    w = torch.cat([p.detach().flatten() for p in net.parameters()])
    least = min(q(i).item() for i in range(15))
    c = least**-0.5
    G, w = (c * G).numpy(), (c * w).numpy()
    # minimise |w - G'λ|² + 2 D λ·(q - 1) over λ >= 0: coordinates one at a time
    K, lam = G @ G.T, np.zeros(15)
    for _ in range(20_000):
        for i in range(15):
            lam[i] = max(0.0, lam[i] + (2 - K[i] @ lam) / K[i, i])
    np.testing.assert_allclose(found.multipliers, lam, atol=1e-6 * lam.max())
    assert found.ratio == pytest.approx(np.linalg.norm(G.T @ lam) / np.linalg.norm(w), rel=1e-6)
    assert (
        nnls(G.T, w)[1] / np.linalg.norm(w) <= found.stationarity + 1e-9
    )  # no multipliers at all do better on this part


def test_training_on_the_logistic_loss_approaches_a_solution_and_the_squared_loss_does_not(rng):
    x = torch.randn(25, 2, generator=rng, dtype=torch.float64)
    x = x[(x[:, 0] * x[:, 1]).abs() > 0.1]
    data = Split(x, (x[:, 0] * x[:, 1]).sign()[:, None])
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 20, bias=False), nn.ReLU(), nn.Linear(20, 1, bias=False)).double()
    rule = {"optimiser": Steepest("l2", normalised=True), "schedule": lambda s: (1 + s / 300) ** -0.5, "record": 1}
    ratios = [
        margin(GradientDescent(0.05, steps, loss="logistic", **rule).fit(net, data).network(), x, data.targets).ratio
        for steps in (300, 1500)
    ]
    assert ratios[0] < ratios[1]
    assert ratios[1] > 0.97
    fitted = GradientDescent(0.1, 2000, loss="squared", record=1).fit(net, data).network()
    assert margin(fitted, x, data.targets).ratio < 0.9


def test_several_classes_count_every_rival(rng):
    x = torch.eye(3, dtype=torch.float64)
    net = nn.Linear(3, 3, bias=False, dtype=torch.float64)
    with torch.no_grad():
        net.weight.copy_(torch.eye(3) - 1 / 3)  # by symmetry the largest margin: every class against every other
    found = margin(net, x, torch.arange(3))
    assert found.ratio == pytest.approx(1, abs=1e-9)
    assert found.margin == pytest.approx(1 / 2**0.5)
    with torch.no_grad():
        net.weight[0, 0] += 1
    assert margin(net, x, torch.arange(3)).ratio < 0.95
    centred = torch.eye(3) - 1 / 3
    assert margin(net, x, centred).ratio == margin(net, x, torch.arange(3)).ratio


def test_degrees_are_measured():
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    deep = nn.Sequential(
        nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=False)
    )
    assert homogeneity(deep, x).degree == 3
    assert homogeneity(deep, x).holds  # a bias in the first layer goes with its weights
    later = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
    assert not homogeneity(later, x).holds
    net = DiagonalNetwork(3, 1.0, depth=3)
    with torch.no_grad():
        net.positive.add_(torch.arange(3.0))
    assert homogeneity(net, x).degree == 3
    assert homogeneity(nn.Sequential(nn.Linear(3, 4, bias=False), nn.Tanh(), nn.Linear(4, 1, bias=False)), x).off > 1e-3


def test_what_has_no_margin_is_refused(rng):
    x, y = separable(rng)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1)).double()
    with pytest.raises(ValueError, match=r"homogeneous in its last layer: pass parameters=\['2.weight', '2.bias'\]"):
        margin(net, x, y)
    with pytest.raises(ValueError, match="classifies every sample rightly; 40 of 40"):
        margin(line(-torch.arange(1.0, 6)), x, y)
    with pytest.raises(ValueError, match="targets of -1 and 1"):
        margin(line(torch.ones(5)), x, (y + 1) / 2)
    with pytest.raises(ValueError, match="no trainable weights nothing"):
        margin(line(torch.ones(5)), x, y, parameters=["nothing"])
    last = margin(net, x, net(x).detach().sign(), parameters=["2"])
    assert last.degree == 1
    assert last.parameters == ("2.weight", "2.bias")
    assert "are held" in str(last)


def test_the_table_has_a_row_per_sample_and_the_chart_draws(rng):
    x, y = separable(rng)
    found = margin(line(torch.arange(1.0, 6, dtype=torch.float64)), x, y)
    assert len(found.table()) == 40
    assert found.table()["margin"].min() == pytest.approx(1)
    assert found.chart().to_dict()["mark"]["type"] == "circle"


def test_classes_are_read_from_signs_numbers_and_one_hot_rows():
    hot = torch.eye(3)[[2, 0, 1, 2]]
    assert _classes(hot, 4, 3).tolist() == [2, 0, 1, 2]
    assert _classes(hot - 1 / 3, 4, 3).tolist() == [2, 0, 1, 2]
    assert _classes(torch.tensor([2, 0, 1, 2]), 4, 3).tolist() == [2, 0, 1, 2]
    assert _classes(torch.tensor([[2.0], [0.0], [1.0], [2.0]]), 4, 3).tolist() == [2, 0, 1, 2]
    assert _classes(torch.tensor([1.0, -1.0]), 2, 1).tolist() == [1, -1]
    for bad, words in (
        (torch.tensor([[1.0, 1.0, 0.0]] * 4), "one class per input"),
        (torch.tensor([[1.0, 0.0, 0.0]] * 3 + [[1.0, 1.0, 0.0]]), "one class per input"),
        (torch.tensor([0, 1, 2, 3]), "classes 0 to 2"),
        (torch.tensor([0, 1, 2, -1]), "classes 0 to 2"),
        (torch.tensor([0.5, 1, 2, 0]), "classes 0 to 2"),
        (torch.zeros(4, 2), "classes 0 to 2"),
        (torch.zeros(3), "one target per input"),
    ):
        with pytest.raises(ValueError, match=words):
            _classes(bad, 4, 3)
    for bad in (torch.tensor([1.0, 0.0]), torch.ones(2, 2)):
        with pytest.raises(ValueError, match="targets of -1 and 1"):
            _classes(bad, 2, 1)


def test_weights_are_chosen_by_name_and_unknown_names_told():
    network = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    found = homogeneity(network, x, parameters=["2.weight", "2.bias"])
    assert found.holds
    assert (found.degree, found.parameters) == (1.0, ("2.weight", "2.bias"))
    assert not homogeneity(network, x, parameters=["2.weight"]).holds  # the bias stays
    with pytest.raises(ValueError, match="last.weight"):
        homogeneity(network, x, parameters=["2.weight", "last.weight"])
    assert homogeneity(network, x, parameters="2").parameters == ("2.weight", "2.bias")  # the beginning of several
    frozen = nn.Linear(2, 1).requires_grad_(False)
    with pytest.raises(ValueError, match="no trainable weights"):
        homogeneity(frozen, x)


def test_support_vectors_are_counted_whatever_the_unit_of_their_multipliers(rng):
    x = torch.randn(30, 4, generator=rng, dtype=torch.float64)
    net = nn.Linear(4, 1, bias=False).double()
    with torch.no_grad():
        net.weight.copy_(torch.ones(1, 4))
    found = margin(net, x, torch.sign(x.sum(1, keepdim=True)))
    assert 0 < found.n_support < 30
    for unit in (1e-9, 1e9):
        assert replace(found, multipliers=unit * found.multipliers).n_support == found.n_support
    assert replace(found, multipliers=0 * found.multipliers).n_support == 0
