"""Units, order and rotations of the data, over the probes: what must stay, and what must grow with them.

Each row of the table is a probe as a function of inputs (n, d) and targets (n, 1), which gives named numbers; beside it stands
what becomes of them under each relation: the power of the factor for targets and inputs (0: they stay), an order of rows, or
nothing where the probe promises nothing. A relation needs no oracle, and a power that is wrong by one fails it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope import probes

Array = np.ndarray[Any, Any]
Told = Mapping[str, Any]
N, D = 24, 3
pytestmark = pytest.mark.filterwarnings("ignore")


@functools.cache
def rows() -> tuple[Array, Array]:
    rng = np.random.default_rng(11)
    x = rng.normal(size=(N, D))
    y = np.sin(2 * x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:] + 0.2 * rng.normal(size=(N, 1))
    return x, y - y.mean()


def turn() -> Array:
    return np.linalg.qr(np.random.default_rng(3).normal(size=(D, D)))[0]


ORDER = np.random.default_rng(4).permutation(N)
FACTOR = 8.0  # a power of two: no digit is lost


@dataclass(frozen=True)
class Row:
    """A probe of inputs and targets, and its promises."""

    probe: Callable[[Array, Array], Told]
    targets: Mapping[str, float] | float | None = 0.0  # power of a factor of the targets, for all numbers or each
    inputs: Mapping[str, float] | float | None = None  # the same of the inputs
    rows: bool | tuple[str, ...] = True  # rows in another order: the same; these numbers are one per row
    turned: bool = False  # inputs turned: the same
    sign: bool = True  # targets turned round: the same, but for the signs
    within: float = 1e-8
    note: str = field(default="")


def tensor(x: Array) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x))


def gram_of(x: Array) -> Array:
    return np.exp(-np.linalg.norm(x[:, None] - x, axis=-1))


def linear_gram(x: Array) -> Array:
    return x @ x.T + 1e-3 * np.linalg.norm(x) ** 2 * np.eye(len(x))


@functools.cache
def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 5), nn.Tanh(), nn.Linear(5, 1)).double()


@functools.cache
def homogeneous() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(D, 5, bias=False), nn.ReLU(), nn.Linear(5, 1, bias=False)).double()


def data_of(x: Array, y: Array) -> Any:
    return ps.data.from_arrays(x, y, classes="real", test_fraction=0.0, dtype=torch.float64)


def whole(x: Array, y: Array) -> Any:
    """A data set whose targets are taken as they are."""
    return ps.data.Dataset(
        ps.data.Split(tensor(x), tensor(y)), ps.data.Split(tensor(x[:6]), tensor(y[:6])), task="regression"
    )


def fitted_networks(x: Array, y: Array) -> Any:
    return ps.inference.GradientDescent(steps=5, learning_rate=0.05).fit(network(), whole(x, y), 0)


def of_spectrum(x: Array, y: Array) -> Told:
    found = probes.spectrum(gram_of(x), y)
    table = found.table()
    return {
        "eigenvalues": table["eigenvalue"],
        **{c: table[c] for c in table.select_dtypes("number") if c != "eigenvalue"},
    }


def of_linear_spectrum(x: Array, y: Array) -> Told:
    return {"eigenvalues": probes.spectrum(linear_gram(x), y).table()["eigenvalue"]}


def of_early_stopping(x: Array, y: Array) -> Told:
    found = probes.early_stopping(gram_of(np.r_[x, 2 * x + 1]), np.r_[y, y], folds=24)
    return {"times": found.times, "fitted": found.fitted, "train": found.train_loss}


def of_leave_one_out(x: Array, y: Array) -> Told:
    found = probes.leave_one_out(gram_of(x), y, ridge=0.1)
    return {"loss": found.loss[-1], "kappa": found.kappa[-1], "quadratic": found.quadratic[-1]}  # of all rows


def of_forecast(x: Array, y: Array) -> Told:
    found = probes.forecast(x, y[:, 0], [50, 100], model=ps.models.laplace(), pilot=None, orderings=4)
    return {"errors": found.table().select_dtypes("number").to_numpy()}


def of_hessian(x: Array, y: Array) -> Told:
    found = probes.hessian_split(network(), tensor(x), tensor(y), ps.inference.Squared())
    return {k: np.linalg.eigvalsh(np.asarray(v)) for k, v in vars(found).items() if getattr(v, "ndim", 0) == 2}


def of_landscape(x: Array, y: Array) -> Told:
    found = probes.landscape(network(), whole(x, y), "squared")
    return {k: v for k, v in vars(found).items() if isinstance(v, float)}


def of_frozen(x: Array, y: Array) -> Told:
    found = probes.frozen_flow(tensor(gram_of(x)), tensor(y))
    return {k: v for k, v in vars(found).items() if isinstance(v, torch.Tensor | float)}


def of_teacher(x: Array, y: Array) -> Told:
    return {"field": probes.gaussian_field(ps.models.laplace(1.0), tensor(x), seed=0)}


PROBES: dict[str, Row] = {
    "spectrum": Row(of_spectrum, turned=True),
    "spectrum of products": Row(of_linear_spectrum, inputs=2.0, turned=True),
    "early_stopping": Row(of_early_stopping, targets={"times": 0.0, "fitted": 2.0, "train": 2.0}, rows=False),
    "leave_one_out": Row(
        of_leave_one_out,
        targets={"loss": 2.0, "kappa": 0.0, "quadratic": 2.0},
        rows=("loss",),
        turned=True,
    ),
    "ridge_grid": Row(lambda x, y: {"ridges": probes.ridge_grid(linear_gram(x))}, inputs=2.0, turned=True),
    "minimum_norm": Row(lambda x, y: {"w": probes.minimum_norm(x[:2], y[:2, 0])}, targets=1.0, inputs=-1.0, rows=False),
    "minimum_norm l1": Row(
        lambda x, y: {"w": probes.minimum_norm(x[:2], y[:2, 0], "l1")}, targets=1.0, inputs=-1.0, rows=False
    ),
    "maximum_margin": Row(lambda x, y: {"w": probes.maximum_margin(x, np.sign(x[:, 0]))}, inputs=-1.0, within=1e-5),
    "second_moment": Row(lambda x, y: {"moment": probes.second_moment(tensor(x))}, inputs=2.0),
    "matrix_correlation": Row(
        lambda x, y: {"r": probes.matrix_correlation(tensor(gram_of(x)), tensor(y @ y.T))}, turned=True
    ),
    "energy_test": Row(
        lambda x, y: {"distance": probes.energy_test(tensor(x[:12]), tensor(x[12:]), permutations=9).distance},
        inputs=1.0,
        rows=False,
        turned=True,
        within=1e-6,
    ),
    "gradient_outer_product": Row(
        lambda x, y: {"matrix": probes.gradient_outer_product(network(), tensor(x)).matrix}, targets=None
    ),
    "feature_ansatz": Row(
        lambda x, y: {"r": [layer.correlation(0.5) for layer in probes.feature_ansatz(network(), tensor(x)).layers]},
        targets=None,
        within=1e-6,
    ),
    "empirical_ntk": Row(lambda x, y: {"trace": np.trace(probes.empirical_ntk(homogeneous(), tensor(x)))}, inputs=2.0),
    "hessian_split": Row(of_hessian, targets=None, within=1e-6),
    "landscape": Row(of_landscape, targets=None, sign=False, within=1e-6),
    "margin": Row(
        lambda x, y: {
            "margin": probes.margin(
                homogeneous(), tensor(x), tensor(np.sign(homogeneous()(tensor(x)).detach().numpy()))
            ).margin
        },
        inputs=1.0,
        within=1e-5,
    ),
    "homogeneity": Row(lambda x, y: {"order": probes.homogeneity(homogeneous(), tensor(x)).degree}, inputs=0.0),
    "count_cusps": Row(
        lambda x, y: {"cusps": probes.count_cusps(homogeneous(), tensor(x[:4]))}, inputs=0.0, rows=False
    ),
    "effective_parameters": Row(lambda x, y: {"n": probes.effective_parameters(network(), tensor(x))}, targets=None),
    "frozen_flow": Row(of_frozen, targets=None, rows=False),
    "fluctuations": Row(
        lambda x, y: {"variance": probes.fluctuations(y[None] + 0.1 * x.T[:, :, None], y, (1, 2)).variance.value},
        inputs=2.0,
        rows=False,
    ),
    "kernel_fluctuations": Row(
        lambda x, y: {
            "learnt": probes.kernel_fluctuations(
                tensor(gram_of(x)[None, :9, :9]), tensor(gram_of(x)[None, 9:, :9]), tensor(y[:9])
            ).learnt
        },
        targets=1.0,
        rows=False,
        turned=True,
    ),
    "boundary_distance": Row(
        lambda x, y: {
            k: getattr(probes.boundary_distance(homogeneous(), lambda z: z[:, :1], tensor(x)), k)
            for k in ("shift", "linear", "estimate")
        },
        inputs=1.0,
        rows=False,
    ),
    "compression": Row(
        lambda x, y: vars(probes.compression(tensor(x), tensor(turn()[:, :1]))),
        inputs=1.0,
        within=1e-8,
    ),
    "information_split": Row(
        lambda x, y: {
            "angles": probes.information_split(network(), tensor(x), tensor(y))
            .table()
            .select_dtypes("number")
            .to_numpy()
        },
        targets=None,
        within=1e-6,
    ),
    "cross_predictability": Row(lambda x, y: {"cp": probes.cross_predictability(x.T)}, inputs=4.0),
    "gram_convergence": Row(
        lambda x, y: {"eigenvalues": probes.gram_convergence(linear_gram(x)).eigenvalues},
        inputs=2.0,
        rows=False,
        turned=True,
    ),
    "effective_dimension": Row(
        lambda x, y: {"distances": probes.effective_dimension(x, (6, 12, 20), subsets=2).distances},
        targets=None,
        inputs=1.0,
        rows=False,
    ),
    "gap_dimension": Row(lambda x, y: {"at": probes.gap_dimension(np.linalg.svd(x)[1])}, inputs=0.0, turned=True),
    "forecast": Row(of_forecast, targets=None, inputs=0.0, rows=False, within=1e-6),
    "gaussian_field": Row(of_teacher, rows=False, turned=False),
}


def numbers(told: Told) -> dict[str, Array]:
    found = {k: np.asarray(v.detach() if isinstance(v, torch.Tensor) else v, dtype=float) for k, v in told.items()}
    return found


@functools.cache
def usual(name: str) -> dict[str, Array]:
    return numbers(PROBES[name].probe(*rows()))


def power(promise: Mapping[str, float] | float | None, key: str) -> float:
    return float(promise[key] if isinstance(promise, Mapping) else promise or 0.0)


def close(was: Array, now: Array, within: float) -> None:
    scale = np.abs(was[np.isfinite(was)]).max(initial=0.0)
    np.testing.assert_allclose(now, was, rtol=within, atol=within * scale)


RELATIONS = (
    "targets in other units",
    "inputs in other units",
    "rows in another order",
    "inputs turned",
    "targets turned round",
)


def cases() -> list[Any]:
    found = []
    for name, row in PROBES.items():
        told = (
            row.targets is not None,
            row.inputs is not None,
            bool(row.rows),
            row.turned,
            row.targets is not None and row.sign,
        )
        found += [(name, what) for what, promised in zip(RELATIONS, told) if promised]
    return found


@pytest.mark.parametrize(("name", "what"), cases(), ids=lambda part: part)
def test_units_order_and_rotations(name, what):
    x, y = rows()
    row, was = PROBES[name], usual(name)
    assert was
    assert all(v.size for v in was.values())
    if what == "targets in other units":
        now = numbers(row.probe(x, FACTOR * y))
        was = {k: v * FACTOR ** power(row.targets, k) for k, v in was.items()}
    elif what == "inputs in other units":
        now = numbers(row.probe(FACTOR * x, y))
        was = {k: v * FACTOR ** power(row.inputs, k) for k, v in was.items()}
    elif what == "rows in another order":
        now = numbers(row.probe(x[ORDER], y[ORDER]))
        each = row.rows if isinstance(row.rows, tuple) else ()
        was = {k: v[ORDER] if k in each else v for k, v in was.items()}
    elif what == "inputs turned":
        now = numbers(row.probe(x @ turn(), y))
    else:
        now = {k: np.abs(v) for k, v in numbers(row.probe(x, -y)).items()}
        was = {k: np.abs(v) for k, v in was.items()}
    assert list(now) == list(was)
    for key, values in was.items():
        close(values, now[key], row.within)
