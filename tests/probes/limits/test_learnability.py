"""Cross-predictability, Walsh coefficients of gradients and the junk flow, against sums over all inputs and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from priorscope.probes import (
    JunkFlow,
    all_signs,
    cross_predictability,
    gradient_signal,
    junk_flow,
    monomial_cross_predictability,
    sampled_cross_predictability,
    walsh_hadamard,
)


def monomials(n: int, degree: int | None) -> np.ndarray:
    x = all_signs(n).numpy()
    degrees = range(n + 1) if degree is None else [degree]
    return np.stack([x[:, list(s)].prod(1) for k in degrees for s in itertools.combinations(range(n), k)])


@pytest.mark.parametrize("n, degree", [(6, None), (6, 1), (6, 3), (8, 2)])
def test_listed_families_have_their_closed_form(n, degree):
    found = cross_predictability(monomials(n, degree))
    assert_allclose(found, monomial_cross_predictability(n, degree), rtol=1e-12)


def test_functions_and_inputs_may_have_any_law():
    rng = np.random.default_rng(0)
    values, p, q = rng.normal(size=(9, 4)), rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(4))
    direct = sum(
        p[i] * p[j] * sum(q[x] * values[i, x] * values[j, x] for x in range(4)) ** 2 for i in range(9) for j in range(9)
    )
    assert_allclose(cross_predictability(values, functions=p, inputs=q), direct, rtol=1e-12)
    wide = cross_predictability(values.T, functions=q, inputs=p)  # the other way round, by the other formula
    assert_allclose(wide, direct, rtol=1e-12)
    assert abs(cross_predictability(values) - direct) > 1e-3


def signs(n):
    return lambda seed, count: all_signs(n)[
        torch.randint(2**n, (count,), generator=torch.Generator().manual_seed(seed))
    ]


def test_drawn_families_agree_with_listed_ones():
    table = torch.from_numpy(monomials(5, 2))
    index = 2 ** torch.arange(5)

    def function(seed):
        row = table[seed % len(table)]
        return lambda x: row[((1 - x) / 2 @ index.double()).long()]

    found = sampled_cross_predictability(function, signs(5), pairs=600, batch=8)
    assert found.contains(monomial_cross_predictability(5, 2))
    assert not found.contains(
        monomial_cross_predictability(5, 2) + 0.9 / 8
    )  # what squaring one batch's mean would give


def test_walsh_coefficients_are_those_of_the_definition():
    values = torch.randn(16, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x = all_signs(4)
    for s in range(16):
        bits = [k for k in range(4) if s >> k & 1]
        assert_allclose(walsh_hadamard(values)[s], (values * x[:, bits].prod(1)[:, None]).mean(0), atol=1e-14)


def net(n, width=8, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(n, width), nn.ReLU(), nn.Linear(width, 1)).double()


def test_gradient_signal_is_the_change_of_the_gradient_by_the_label():
    n, model = 5, net(5)
    found = gradient_signal(model, n, batch=7)
    x = all_signs(n)
    norms = []
    for s in itertools.combinations(range(n), 2):
        model.zero_grad()
        (model(x)[:, 0] * x[:, list(s)].prod(1)).mean().backward()
        norms.append(float(sum(p.grad.square().sum() for p in model.parameters())))
    assert_allclose(found.by_degree[2], np.sqrt(np.mean(norms)), rtol=1e-10)
    weights = [math.comb(n, k) for k in range(n + 1)]
    assert_allclose(np.average(found.by_degree**2, weights=weights), found.floor**2, rtol=1e-10)  # Parseval


def test_junk_flow_by_hand_and_its_certificate():
    model = nn.Linear(4, 1, bias=False).double()
    with torch.no_grad():
        model.weight[:] = 0.0
    found = junk_flow(model, signs(4), steps=1, learning_rate=0.1, noise=0.01, batch=200)
    assert_allclose(found.steps, 0.1 * 2.0, rtol=1e-12)  # f = 0: the gradient is -y x, of norm 2
    clipped = junk_flow(model, signs(4), steps=1, learning_rate=0.1, noise=0.01, batch=200, clip=0.5)
    assert_allclose(clipped.steps, 0.1 * 1.0, rtol=1e-12)
    assert_allclose(found.advantage(1e-8), 0.2 * 1e-2 / 0.02, rtol=1e-12)
    assert_allclose(found.advantage(1e-8, orthonormal=True), 0.2 * 1e-4 / 0.02, rtol=1e-12)
    assert found.advantage(1.0) == 0.5
    assert "No certificate" in found.verdict(1.0)
    assert "0.501" in found.verdict(1e-8, orthonormal=True)
    logistic = junk_flow(
        model,
        signs(4),
        steps=1,
        learning_rate=0.1,
        noise=0.01,
        batch=20,
        loss=lambda f, y: nn.functional.softplus(-f * y),
    )
    assert_allclose(logistic.steps, 0.1 * 1.0, rtol=1e-12)  # its derivative at 0 is one half


def test_noise_moves_the_weights():
    model = nn.Linear(4, 1, bias=False).double()
    with torch.no_grad():
        model.weight[:] = 0.0
    quiet, loud = (
        junk_flow(model, signs(4), steps=3, learning_rate=0.1, noise=s, batch=100).flow.value for s in (1e-9, 1.0)
    )
    assert loud > 1.2 * quiet
    assert float(model.weight.detach().abs().sum()) == 0  # the user's network is left alone


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: cross_predictability([1.0, 2.0]), "functions, inputs"),
        (lambda: cross_predictability([[1.0, np.nan]]), "finite"),
        (lambda: cross_predictability([[1.0, 1.0]], inputs=[0.5, 0.6]), "sum to 1"),
        (lambda: cross_predictability([[True, False]]), "-1 and 1 for yes and no"),
        (lambda: monomial_cross_predictability(3, 4), "degree"),
        (
            lambda: gradient_signal(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), 3),
            "network.eval",
        ),
        (
            lambda: junk_flow(
                nn.Sequential(nn.Linear(4, 1), nn.Dropout()), signs(4), steps=1, learning_rate=0.1, noise=0.1
            ),
            "network.eval",
        ),
        (
            lambda: junk_flow(nn.Linear(4, 1), lambda s, n: torch.ones(3, 4), steps=1, learning_rate=0.1, noise=0.1),
            "got 3 for 1000",
        ),
        (
            lambda: junk_flow(
                nn.Linear(4, 1), lambda s, n: torch.full((n, 4), torch.nan), steps=1, learning_rate=0.1, noise=0.1
            ),
            "or NaN",
        ),
        (lambda: walsh_hadamard(torch.ones(3)), "power of two"),
        (lambda: gradient_signal(nn.Linear(3, 2), 3), "one output"),
        (lambda: gradient_signal(nn.ReLU(), 3), "none"),
        (
            lambda: gradient_signal(nn.Linear(5, 1), 6),
            r"inputs that the network takes; on torch.float32 of shape \(1, 6\)",
        ),
        (lambda: gradient_signal(nn.Linear(30, 1), 30), "<= 16"),
        (lambda: junk_flow(nn.Linear(4, 1), signs(4), steps=1, learning_rate=-1.0, noise=0.1), "learning_rate"),
        (lambda: junk_flow(nn.Linear(4, 1), signs(4), steps=1, learning_rate=0.1, noise=0.0), "noise"),
        (
            lambda: junk_flow(net(4), signs(4), steps=30, learning_rate=1e30, noise=0.1, batch=10, runs=1),
            "diverged",
        ),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_weights_of_junk_flow_walk_with_the_noise():
    """f = w x at x = 1 with half the square of f - y: the squared slope is w² + 1 and, at no rate, w a walk of steps σ."""
    model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    runs, noise, rate = 300, 0.5, 1e-6

    def ones(seed, n):
        return torch.ones(n, 1, dtype=torch.float64)

    found = junk_flow(model, ones, steps=3, learning_rate=rate, noise=noise, batch=2, runs=runs, seed=0)
    scale = (found.steps[:, :1] / rate) ** 2  # at w = 0: the squared slope of the labels alone
    assert np.ptp(scale) < 1e-9 * scale[0, 0]
    squares = (found.steps / rate) ** 2 / scale - 1  # w² after 0, 1 and 2 steps
    for t in range(3):
        spread = noise**2 * t * math.sqrt(2 / runs)  # of the mean of squares of normal numbers
        assert abs(squares[:, t].mean() - noise**2 * t) <= 5 * spread + 1e-9


def test_the_certificate_is_capped_and_takes_the_root_for_orthonormal_families():
    flow = JunkFlow(np.full((3, 10), 2.0), noise=0.1)  # a flow of 20
    assert flow.advantage(1.0) == 0.5
    assert flow.advantage(1e-16) == pytest.approx(20 * 1e-4 / 0.2)
    assert flow.advantage(1e-16, orthonormal=True) == pytest.approx(20 * 1e-8 / 0.2)
    assert flow.advantage(0.0) == 0
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            flow.advantage(wrong)


@pytest.mark.parametrize("shape", [(3, 7), (7, 3)])
def test_cross_predictability_is_the_mean_square_of_correlations_pair_by_pair(shape):
    rng = np.random.default_rng(0)
    table, p, q = rng.normal(size=shape), rng.dirichlet(np.ones(shape[0])), rng.dirichlet(np.ones(shape[1]))
    wanted = sum(p[i] * p[j] * (q * table[i] * table[j]).sum() ** 2 for i in range(shape[0]) for j in range(shape[0]))
    assert cross_predictability(table, functions=p, inputs=q) == pytest.approx(wanted)
    even = np.mean([(table[i] * table[j]).mean() ** 2 for i in range(shape[0]) for j in range(shape[0])])
    assert cross_predictability(table) == pytest.approx(even)


def test_weights_that_are_not_trained_carry_no_signal_and_stay():
    model = net(4)
    model[0].requires_grad_(False)
    last = gradient_signal(model, 4)
    x = all_signs(4)
    features = torch.cat([model[:2](x), torch.ones(16, 1, dtype=torch.float64)], 1).detach()  # gradients of the readout
    power = walsh_hadamard(features).square().sum(1)
    assert_allclose(last.by_degree[1], float(power[[1, 2, 4, 8]].mean()) ** 0.5, rtol=1e-10)
    flow = junk_flow(model, signs(4), steps=1, learning_rate=0.1, noise=0.01, batch=4000, runs=2)
    with torch.no_grad():
        f = model(x)[:, 0]
    exact = 0.1 * float(((f.square() + 1) * features.square().sum(1)).mean()) ** 0.5
    assert_allclose(flow.steps.mean(), exact, rtol=0.05)
    model[0].requires_grad_(True)
    assert gradient_signal(model, 4).floor > 1.05 * last.floor
