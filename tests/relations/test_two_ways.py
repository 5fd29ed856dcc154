"""Every fast path beside a slow one that shares no line with it, over generated inputs: one table of pairs.

A pair gives what the library says and what the slow way says, for a random generator; it is tried on several draws, so that
sizes, weights, blocks, ridges and signs are other ones each time.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.stats
import torch
from scipy.optimize import linprog
from torch import nn

import priorscope as ps
from priorscope import memory, probes, statistics
from priorscope.inference import KernelRegression, RidgePath, Spectral, solve_blocks
from priorscope.testing import dense_flow, dense_kernel_regression, dense_ntk

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
Pair = Callable[[Rng], tuple[Any, Any, float]]
pytestmark = pytest.mark.filterwarnings("ignore")


def kernel(rng: Rng, n: int) -> tuple[Array, Array]:
    x = rng.normal(size=(n, 3))
    return x, np.exp(-np.linalg.norm(x[:, None] - x, axis=-1))


def network(rng: Rng, *sizes: int, act: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    torch.manual_seed(int(rng.integers(1000)))
    layers = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1]).double()


def tensor(x: Array) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x))


# -- ridge regression with what is left out ------------------------------------------------------------------------------


def refitted(K: Array, y: Array, w: Array, ridge: float, rest: Array, left: Array) -> Array:
    """Predictions of the rows ``left`` by weighted ridge regression with an intercept on the ``rest``: a bordered solve."""
    n = len(rest)
    M = np.block(
        [[K[np.ix_(rest, rest)] + ridge * np.diag(1 / w[rest]), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    found = np.linalg.solve(M, np.vstack([y[rest], np.zeros((1, y.shape[1]))]))
    return K[np.ix_(left, rest)] @ found[:n] + found[n]


def leave_one_out(rng: Rng) -> tuple[Any, Any, float]:
    n = int(rng.integers(9, 20))
    _, K = kernel(rng, n)
    y, w, ridges = rng.normal(size=(n, 2)), rng.uniform(0.2, 3.0, size=n), 10.0 ** rng.uniform(-3, 1, size=2)
    path = RidgePath.of_kernel(K, w)
    rows = np.arange(n)
    want = [np.vstack([refitted(K, y, w, r, np.delete(rows, i), rows[i : i + 1]) for i in rows]) for r in ridges]
    return path.leave_one_out(y, ridges), np.stack(want), 1e-7


def leave_blocks_out(rng: Rng) -> tuple[Any, Any, float]:
    n = int(rng.integers(12, 20))
    _, K = kernel(rng, n)
    y, w, ridge = rng.normal(size=(n, 2)), rng.uniform(0.2, 3.0, size=n), 10.0 ** rng.uniform(-3, 1)
    blocks = rng.integers(0, 5, size=n)
    want = np.zeros((n, 2))
    for b in np.unique(blocks):
        want[blocks == b] = refitted(K, y, w, ridge, np.flatnonzero(blocks != b), np.flatnonzero(blocks == b))
    return RidgePath.of_kernel(K, w).leave_out(y, [ridge], blocks)[0], want, 1e-7


def of_features_is_of_their_kernel(rng: Rng) -> tuple[Any, Any, float]:
    F, y = rng.normal(size=(15, int(rng.integers(3, 25)))), rng.normal(size=(15, 1))
    w, ridge = rng.uniform(0.5, 2.0, size=15), 0.3
    return (
        RidgePath.of_features(F, w).leave_one_out(y, [ridge]),
        RidgePath.of_kernel(F @ F.T, w).leave_one_out(y, [ridge]),
        1e-7,
    )


def blocks_are_solved(rng: Rng) -> tuple[Any, Any, float]:
    A, b = rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3, 2))
    A = A @ A.transpose(0, 2, 1) + 0.1 * np.eye(3)
    return solve_blocks(A, b), np.stack([sla.solve(a, v) for a, v in zip(A, b)]), 1e-9


def pilot_errors(K: Array, y: Array, ridge: float) -> Array:
    """Squared errors of ridge regression without an intercept, each row left out in turn."""
    errors = []
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        f = K[i, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(len(K) - 1), y[rest])
        errors.append(((f - y[i]) ** 2).item())
    return np.array(errors)


def pilot_leave_one_out(rng: Rng) -> tuple[Any, Any, float]:
    n, ridge = int(rng.integers(8, 15)), 10.0 ** rng.uniform(-2, 0)
    _, K = kernel(rng, n)
    y = rng.normal(size=(n, 1))
    return probes.leave_one_out(K, y, ridge=ridge).loss[-1], pilot_errors(K, y, ridge), 1e-7


def pilot_folds(rng: Rng) -> tuple[Any, Any, float]:
    n, ridge = 12, 10.0 ** rng.uniform(-2, 0)
    _, K = kernel(rng, n)
    y = rng.normal(size=(n, 1))
    return np.mean(probes.k_fold(K, y, n, ridge=ridge)[0]), np.mean(pilot_errors(K, y, ridge)), 1e-7


# -- kernel regression and flows -----------------------------------------------------------------------------------------


def samples(x: Array, y: Array) -> Any:
    return ps.data.Split(tensor(x), tensor(y))


def regression(rng: Rng) -> tuple[Any, Any, float]:
    model, x, z = ps.models.fcn(2, activation="erf"), rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    y, ridge, kind = rng.normal(size=(9, 2)), 10.0 ** rng.uniform(-3, 0), str(rng.choice(["ntk", "nngp"]))
    found = KernelRegression(kind, ridge=ridge).fit(model, samples(x, y)).predict(tensor(z))
    train, cross = (getattr(model.kernel(tensor(a), tensor(x)), kind) for a in (x, z))
    return found, dense_kernel_regression(train, cross, tensor(y), ridge), 1e-6


def flow_of_a_kernel(rng: Rng) -> tuple[Any, Any, float]:
    _, K = kernel(rng, 7)
    y, time = rng.normal(size=(7, 1)), float(rng.uniform(0.1, 20))
    fitted = Spectral(tensor(K)).solve(tensor(y), ps.inference.Schedule(time=time))
    slow = dense_flow(lambda f: -K @ (f - y[:, 0]) / 7, np.zeros(7), time)
    return K @ fitted.numpy()[:, 0], slow, 1e-5


def steps_of_a_kernel(rng: Rng) -> tuple[Any, Any, float]:
    _, K = kernel(rng, 7)
    y, rate, steps = rng.normal(size=(7, 1)), float(rng.uniform(0.1, 1.5)), int(rng.integers(2, 30))
    fitted = Spectral(tensor(K)).solve(tensor(y), ps.inference.Schedule(learning_rate=rate, steps=steps))
    f = np.zeros((7, 1))
    for _ in range(steps):
        f -= rate / 7 * K @ (f - y)
    return K @ fitted.numpy(), f, 1e-7


def descent_by_hand(rng: Rng) -> tuple[Any, Any, float]:
    net, x, y = network(rng, 3, 4, 2), rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    rate, steps, momentum = 0.05, 4, float(rng.choice([0.0, 0.7]))
    found = (
        ps.inference.GradientDescent(rate, steps=steps, momentum=momentum).fit(net, samples(x, y)).predict(tensor(x))
    )
    by_hand = copy.deepcopy(net)
    how = torch.optim.SGD(by_hand.parameters(), lr=rate, momentum=momentum)
    for _ in range(steps):
        how.zero_grad()
        (0.5 * (by_hand(tensor(x)) - tensor(y)) ** 2).sum(1).mean().backward()
        how.step()
    return found.squeeze(0) if found.ndim == 3 else found, by_hand(tensor(x)).detach(), 1e-9


# -- networks ------------------------------------------------------------------------------------------------------------


def tangent_kernel(rng: Rng) -> tuple[Any, Any, float]:
    act = (nn.Tanh, nn.ReLU, nn.GELU)[int(rng.integers(3))]
    net, x, z = network(rng, 3, 5, 4, 1, act=act), rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    ways = [
        probes.empirical_ntk(net, tensor(x), tensor(z), method=method, block=block)
        for method in ("auto", "layerwise", "jacobian", "ntk-vector")
        for block in (None, 2)
    ]
    return (
        torch.stack([w.squeeze() for w in ways]),
        torch.stack([dense_ntk(net, tensor(x), tensor(z))] * len(ways)),
        1e-8,
    )


def tangent_operator(rng: Rng) -> tuple[Any, Any, float]:
    net, x, v = network(rng, 3, 5, 1), rng.normal(size=(6, 3)), rng.normal(size=6)
    return probes.ntk_operator(net, tensor(x), block=2) @ v, dense_ntk(net, tensor(x)).numpy() @ v, 1e-8


def hessian(rng: Rng) -> tuple[Any, Any, float]:
    net, x, y = network(rng, 2, 3, 1), tensor(rng.normal(size=(6, 2))), tensor(rng.normal(size=(6, 1)))
    found = probes.hessian_split(net, x, y, ps.inference.Squared())
    shapes = [(k, p.shape, p.numel()) for k, p in net.named_parameters()]

    def loss(w: torch.Tensor) -> torch.Tensor:
        parts = dict(
            zip(
                [k for k, *_ in shapes],
                [v.reshape(s) for v, (_, s, _) in zip(w.split([n for *_, n in shapes]), shapes)],
            )
        )
        return ((torch.func.functional_call(net, parts, (x,)) - y) ** 2).mean() / 2

    start = torch.cat([p.detach().flatten() for p in net.parameters()])
    return np.asarray(found.first) + np.asarray(found.second), torch.func.hessian(loss)(start), 1e-7


# -- theory --------------------------------------------------------------------------------------------------------------


def walsh(rng: Rng) -> tuple[Any, Any, float]:
    n = int(rng.integers(1, 6))
    values = rng.normal(size=2**n)
    H = sla.hadamard(2**n)
    found = probes.walsh_hadamard(tensor(values)).numpy()
    return found, H @ values * (np.linalg.norm(found) / np.linalg.norm(H @ values)), 1e-9


def least_norm(rng: Rng) -> tuple[Any, Any, float]:
    X, y = rng.normal(size=(3, 6)), rng.normal(size=3)
    return probes.minimum_norm(X, y), np.linalg.lstsq(X, y, rcond=None)[0], 1e-8


def least_sum(rng: Rng) -> tuple[Any, Any, float]:
    X, y = rng.normal(size=(3, 6)), rng.normal(size=3)
    best = linprog(np.ones(12), A_eq=np.hstack([X, -X]), b_eq=y, bounds=(0, None)).x
    return probes.minimum_norm(X, y, "l1"), best[:6] - best[6:], 1e-6


def regularisation(rng: Rng) -> tuple[Any, Any, float]:
    lam, n, ridge = 10.0 ** rng.uniform(-3, 0, size=8), float(rng.uniform(1, 6)), float(rng.uniform(0.0, 0.1))
    kappa = float(np.asarray(probes.effective_regularisation(lam, n, ridge=ridge)).squeeze())
    return (lam / (lam + kappa)).sum() + ridge / kappa, n, 1e-7


def predictability(rng: Rng) -> tuple[Any, Any, float]:
    values = rng.choice([-1.0, 1.0], size=(5, 12))
    want = np.mean([np.mean(a * b) ** 2 for a in values for b in values])
    return probes.cross_predictability(values), want, 1e-10


# -- memory --------------------------------------------------------------------------------------------------------------


def steady(rng: Rng) -> tuple[Any, Any, float]:
    T = rng.uniform(size=(5, 5))
    T /= T.sum(1, keepdims=True)
    start, reset = rng.dirichlet(np.ones(5)), float(rng.uniform(0.01, 0.3))
    p = start.copy()
    for _ in range(3000):
        p = reset * start + (1 - reset) * (p @ T)
    return np.asarray(memory.steady_state(T, start, reset)).flatten(), p, 1e-7


def played(rng: Rng) -> tuple[Any, Any, float]:
    store, bandit = memory.ram(2), memory.two_hypotheses(0.6)
    policy = memory.random_start(store, range(int(rng.integers(50)), 51), scale=0.7)[0]
    policy = np.exp(policy) / np.exp(policy).sum(-1, keepdims=True)
    exact = memory.performance(policy, store, bandit, reset=0.05)
    seen = memory.simulate(policy, store, bandit, reset=0.05, players=400, steps=300, seed=int(rng.integers(99)))
    return float(abs(exact.wrong - seen.wrong.value) < 4 * (seen.wrong.high - seen.wrong.value)), 1.0, 0.0


# -- statistics ----------------------------------------------------------------------------------------------------------


def power_law(rng: Rng) -> tuple[Any, Any, float]:
    x, y = np.geomspace(1, 100, 6), rng.uniform(0.5, 2.0, size=(5, 6)) * np.geomspace(1, 100, 6) ** -0.7
    return statistics.fit_power_law(x, y).exponent, np.polyfit(np.log(x), np.log(y.mean(0)), 1)[0], 1e-9


def share(rng: Rng) -> tuple[Any, Any, float]:
    hits = rng.random(int(rng.integers(5, 40))) < 0.3
    exact = scipy.stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95)
    found = statistics.share_interval(hits)
    return [found.value, found.low, found.high], [hits.mean(), exact.low, exact.high], 1e-6


def mean_of_seeds(rng: Rng) -> tuple[Any, Any, float]:
    values = rng.normal(size=int(rng.integers(4, 12)))
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, values.mean(), scipy.stats.sem(values))
    found = statistics.seed_interval(values)
    return [found.value, found.low, found.high], [values.mean(), low, high], 1e-9


PAIRS: tuple[Pair, ...] = (
    leave_one_out,
    leave_blocks_out,
    of_features_is_of_their_kernel,
    blocks_are_solved,
    pilot_leave_one_out,
    pilot_folds,
    regression,
    flow_of_a_kernel,
    steps_of_a_kernel,
    descent_by_hand,
    tangent_kernel,
    tangent_operator,
    hessian,
    walsh,
    least_norm,
    least_sum,
    regularisation,
    predictability,
    steady,
    played,
    power_law,
    share,
    mean_of_seeds,
)


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.__name__)
def test_two_ways_agree(pair, draw):
    found, want, within = pair(np.random.default_rng([7, draw]))
    found, want = (np.asarray(v.detach() if isinstance(v, torch.Tensor) else v, dtype=float) for v in (found, want))
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=within, atol=within * np.abs(want).max())
