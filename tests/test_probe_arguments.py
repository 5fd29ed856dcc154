"""Arguments that have a default are listened to: another value gives another answer, the same one the same answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import aslinearoperator
from torch import nn

import priorscope as ps
from priorscope import probes
from priorscope.probes.curves.pilot._gram import draw_pilot, gram_of
from priorscope.probes.limits.implicit._frequencies import frequency_margin

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(80, 3))
GRAM = np.exp(-np.linalg.norm(ROWS[:, None] - ROWS, axis=-1))
LABELS = np.sign(ROWS[:, :1]) * np.where(RNG.random((80, 1)) < 0.2, -1, 1)
X = torch.from_numpy(ROWS)
IMAGES = torch.randn(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))


def net(*sizes: int) -> nn.Sequential:
    torch.manual_seed(0)
    layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).double()


def linear_images() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2))


def agreements() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.uniform(0, 1, 200), rng.random(200) < 0.8


def of_gram(kind: str) -> np.ndarray:
    data = ps.data.from_arrays(ROWS, LABELS[:, 0], classes="real", test_fraction=0.0, dtype=torch.float64)
    pilot = draw_pilot(data, 12, 0)
    return gram_of(ps.models.fcn(2), data, pilot, kind=kind)


CALLS: dict[str, tuple[Callable[..., object], dict[str, object]]] = {
    "effective_dimension seed": (
        lambda seed=0: probes.effective_dimension(ROWS, (10, 20, 40, 60), subsets=2, seed=seed).distances,
        {"seed": 1},
    ),
    "gram_convergence seed": (lambda seed=0: probes.gram_convergence(GRAM, seed=seed).eigenvalues, {"seed": 1}),
    "gram_of kind": (lambda kind="ntk": of_gram(kind), {"kind": "nngp"}),
    "hypercube_modes kind": (
        lambda kind="ntk": probes.hypercube_modes(ps.models.fcn(1), 4, 2, kind=kind).eigenvalues,
        {"kind": "nngp"},
    ),
    "sphere_modes kind": (
        lambda kind="ntk": probes.sphere_modes(ps.models.fcn(1), 3, 2, kind=kind).eigenvalues,
        {"kind": "nngp"},
    ),
    "circle_modes kind": (
        lambda kind="ntk": probes.circle_modes(ps.models.fcn(1), 3, kind=kind).eigenvalues,
        {"kind": "nngp"},
    ),
    "nystrom kind": (
        lambda kind="ntk": probes.nystrom(ps.models.fcn(1), X, 3, kind=kind).eigenvalues,
        {"kind": "nngp"},
    ),
    "nystrom seed": (lambda seed=0: probes.nystrom(ps.models.fcn(1), X, 3, seed=seed).eigenvalue_errors, {"seed": 1}),
    "nystrom splits": (
        lambda splits=3: probes.nystrom(ps.models.fcn(1), X, 3, splits=splits).eigenvalue_errors,
        {"splits": 1},
    ),
    "sphere_spectrum kind": (
        lambda kind="ntk": probes.sphere_spectrum(ps.models.fcn(1), 3, 1, order=2, kind=kind, terms=64).eigenvalues,
        {"kind": "nngp"},
    ),
    "gram_spectrum kind": (
        lambda kind="ntk": probes.gram_spectrum(ps.models.fcn(1), 3, 1, 40, kind=kind),
        {"kind": "nngp"},
    ),
    "gram_spectrum seed": (lambda seed=0: probes.gram_spectrum(ps.models.fcn(1), 3, 1, 40, seed=seed), {"seed": 1}),
    "sphere_inputs seed": (lambda seed=0: probes.sphere_inputs(4, 3, 2, seed=seed), {"seed": 1}),
    "spectrum fit_range": (
        lambda fit_range=None: probes.spectrum(GRAM, fit_range=fit_range).tail.exponent,
        {"fit_range": (2, 30)},
    ),
    "early_stopping folds": (lambda folds=5: probes.early_stopping(GRAM, LABELS, folds=folds).loss, {"folds": 4}),
    "early_stopping seed": (lambda seed=0: probes.early_stopping(GRAM, LABELS, seed=seed).loss, {"seed": 1}),
    "early_stopping level": (
        lambda level=0.9: probes.early_stopping(GRAM, LABELS, level=level).harm.high,
        {"level": 0.5},
    ),
    "noise_rate level": (lambda level=0.9: probes.noise_rate(*agreements(), 2, level=level).rate.high, {"level": 0.3}),
    "lanczos_density seed": (
        lambda seed=0: probes.lanczos_density(aslinearoperator(GRAM), steps=4, probes=1, seed=seed)[0],
        {"seed": 1},
    ),
    "lanczos_density probes": (
        lambda k=4: len(probes.lanczos_density(aslinearoperator(GRAM), steps=4, probes=k)[0]),
        {"k": 2},
    ),
    "learning_curve_exponent level": (
        lambda level=0.95: (
            probes.learning_curve_exponent(
                [10, 20, 40, 80], np.array([[1.0, 0.5, 0.3, 0.1], [1.1, 0.6, 0.2, 0.1]]), level=level
            ).beta.high
        ),
        {"level": 0.5},
    ),
    "diagonal_penalty depth": (lambda depth=2: probes.diagonal_penalty([1.0, 0.3], 0.5, depth), {"depth": 3}),
    "diagonal_solution depth": (
        lambda depth=2: probes.diagonal_solution(ROWS[:1], [1.0], 0.5, depth),
        {"depth": 3},
    ),
    "linear_conv_geometry variance": (
        lambda variance=1.0: probes.linear_conv_geometry(5, 2, 2, variance),
        {"variance": 2.0},
    ),
    "random_features linear": (
        lambda linear=1.0: probes.random_features_risk(2.0, 3.0, linear=linear, noise=0.1).single,
        {"linear": 0.5},
    ),
    "random_features nonlinear": (
        lambda nonlinear=0.0: probes.random_features_risk(2.0, 3.0, nonlinear=nonlinear, noise=0.1).single,
        {"nonlinear": 0.5},
    ),
    "simulate_random_features seed": (
        lambda seed=0: probes.simulate_random_features(5, 10, 8, n_test=20, seed=seed),
        {"seed": 1},
    ),
    "energy_test seed": (
        lambda seed=0: probes.energy_test(X[:20], X[20:40] + 0.3, permutations=50, seed=seed).p_value,
        {"seed": 1},
    ),
    "gaussian_field seed": (
        lambda seed=0: probes.gaussian_field(ps.models.laplace(), X[:5], seed=seed),
        {"seed": 1},
    ),
    "teacher_points seed": (lambda seed=0: probes.teacher_points("sphere", 3, 5, seed=seed), {"seed": 1}),
    "teacher_student seed": (
        lambda seed=0: (
            probes.teacher_student(
                ps.models.laplace(2.0), ps.models.laplace(2.0), 2, (5, 10), draws=1, n_test=10, seed=seed
            ).errors
        ),
        {"seed": 1},
    ),
    "teacher_student ridge": (
        lambda ridge=0.0: (
            probes.teacher_student(
                ps.models.laplace(2.0), ps.models.laplace(2.0), 2, (5, 10), draws=1, n_test=10, ridge=ridge
            ).errors
        ),
        {"ridge": 0.5},
    ),
    "teacher_student domain": (
        lambda domain="sphere": (
            probes.teacher_student(
                ps.models.laplace(2.0), ps.models.laplace(2.0), 2, (5, 10), draws=1, n_test=10, domain=domain
            ).errors
        ),
        {"domain": "torus"},
    ),
    "sampled_cross_predictability seed": (
        lambda seed=0: (
            probes.sampled_cross_predictability(
                lambda s: lambda x: x[:, s % 3].sign(),
                lambda s, n: torch.randn(n, 3, generator=torch.Generator().manual_seed(s)),
                pairs=5,
                batch=20,
                seed=seed,
            ).value
        ),
        {"seed": 1},
    ),
    "junk_flow seed": (
        lambda seed=0: (
            probes.junk_flow(
                net(3, 4, 1),
                lambda s, n: X[torch.arange(n) % 80],
                steps=2,
                learning_rate=0.1,
                noise=0.1,
                batch=10,
                runs=1,
                seed=seed,
            ).steps
        ),
        {"seed": 1},
    ),
    "feature_ansatz seed": (
        lambda seed=0: probes.feature_ansatz(net(3, 4, 1), X, n_samples=20, seed=seed).layers[0].deltas,
        {"seed": 1},
    ),
    "feature_ansatz n_samples": (
        lambda n_samples=500: probes.feature_ansatz(net(3, 4, 1), X, n_samples=n_samples).layers[0].deltas,
        {"n_samples": 20},
    ),
    "gradient_outer_product n_samples": (
        lambda n_samples=1000: len(probes.gradient_outer_product(net(3, 4, 1), X, n_samples=n_samples)),
        {"n_samples": 7},
    ),
    "gradient_outer_product seed": (
        lambda seed=0: probes.gradient_outer_product(net(3, 4, 1), X, n_samples=7, seed=seed).matrix,
        {"seed": 1},
    ),
    "average_geometry probe_std": (
        lambda probe_std=1.0: (
            probes.average_geometry(
                ps.models.fcn(1, activation="erf"), (3,), n_models=4, n_probes=2, probe_std=probe_std, width=4
            ).matrix
        ),
        {"probe_std": 0.01},
    ),
    "noise_sweep average": (
        lambda average="median": probes.noise_sweep(
            linear_images(), IMAGES, (0.5,), average=average, n_seeds=1
        ).table(),
        {"average": "mean"},
    ),
    "noise_sweep seed": (
        lambda seed=0: probes.noise_sweep(linear_images(), IMAGES, (0.5,), n_seeds=1, seed=seed).table(),
        {"seed": 1},
    ),
    "stability seed": (
        lambda seed=0: probes.stability(linear_images(), IMAGES, "shift", n_seeds=1, seed=seed).values,
        {"seed": 1},
    ),
    "kernel_fluctuations jitter": (
        lambda jitter=1e-10: (
            probes.kernel_fluctuations(
                torch.from_numpy(GRAM[None, :9, :9]),
                torch.from_numpy(GRAM[None, 9:12, :9]),
                torch.ones(9, 1),
                jitter=jitter,
            ).learnt
        ),
        {"jitter": 0.1},
    ),
    "k_fold seed": (lambda seed=0: probes.k_fold(GRAM, LABELS, 5, ridge=1.0, seed=seed)[0], {"seed": 1}),
}


def plain(value: object) -> np.ndarray:
    table = getattr(value, "select_dtypes", None)
    found = table("number").to_numpy() if table is not None else value
    return np.asarray(found.detach() if isinstance(found, torch.Tensor) else found, dtype=float)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_an_argument_is_listened_to(name: str) -> None:
    call, other = CALLS[name]
    first, again, changed = plain(call()), plain(call()), plain(call(**other))
    np.testing.assert_array_equal(first, again)
    assert first.shape != changed.shape or not np.allclose(first, changed, rtol=1e-9, atol=0)


def test_tolerances_are_those_given():
    network = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1)).double()
    with torch.no_grad():
        network[2].bias.fill_(1e-5)  # nearly homogeneous
    assert not probes.homogeneity(network, X).holds
    assert probes.homogeneity(network, X, tolerance=0.1).holds
    cusps = partial(probes.count_cusps, nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU()))
    near = torch.tensor([[0.0], [1e-3], [5.0]])
    assert (cusps(near), cusps(near, tolerance=0.01)) == (1, 2)
    signed = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.9]])
    with pytest.raises(ValueError, match="in 1 rounds"):
        frequency_margin(np.abs(ROWS[:6, :3]) + 0.1, most=1, tolerance=1e-15)
    assert frequency_margin(signed, tolerance=1e-3) is not None
