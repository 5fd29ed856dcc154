"""Exponents of MNIST and CIFAR-10 by kernel regression and support vector machines, and from kernel components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.linalg import cholesky, solve_triangular

from priorscope import models
from priorscope.data import Split
from priorscope.inference import SupportVectorMachine
from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.kernel_curves._exponent_claims import CLAIMS
from priorscope.papers.kernel_curves._images import two_classes
from priorscope.papers.kernel_curves._source import SOURCE, kernel_of, records
from priorscope.probes import gram_convergence, kernel_pca_exponent

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {
        "data": ["digits"],
        "sizes": [40, 80, 160, 320],
        "svm": 160,
        "n_test": 200,
        "seeds": 2,
        "modes": 400,
        "widths": [10.0],
    },
    "small": {
        "data": ["mnist", "cifar10"],
        "sizes": [125, 250, 500, 1000, 2000, 4000, 8000],
        "svm": 2000,
        "n_test": 2000,
        "seeds": 5,
        "modes": 2500,
        "widths": [10.0, 100.0, 10000.0],
    },
    "paper": {
        "data": ["mnist", "cifar10"],
        "sizes": [100, 200, 500, 1000, 2000, 5000, 10000, 20000],
        "svm": 20000,
        "n_test": 10000,
        "seeds": 400,
        "modes": 20000,
        "widths": [10.0, 100.0, 10000.0],
    },
}


def grid(scale: str) -> list[Point]:
    """Both kernels at σ = 1000 on every data set with pixels from 0 to 255, and components of a large sample.

    Widths of Laplace, on the first data set and up to half the largest size, with pixels of unit variance: at σ = 10 two images
    do not see each other otherwise.
    """
    size = SIZES[scale]
    points: list[Point] = []
    for seed in range(size["seeds"]):
        common = {"sizes": size["sizes"], "n_test": size["n_test"], "seed": seed}
        for name in size["data"]:
            for kernel in ("laplace", "gaussian"):
                points.append(
                    {"part": "curve", "data": name, "kernel": kernel, "bandwidth": 1000.0}
                    | {"svm": size["svm"], "unit": "bytes", **common}
                )
        points += [
            {"part": "width", "data": size["data"][0], "kernel": "laplace", "bandwidth": w, "svm": 0}
            | {"unit": "variance", **common, "sizes": size["sizes"][:-1]}
            for w in (*size["widths"], 1000.0)
        ]
    points += [
        {"part": "modes", "data": name, "n": size["modes"], "unit": "variance", "seed": seed}
        for name in size["data"]
        for seed in range(min(size["seeds"], 8))
    ]
    return points


def run(point: Point) -> Metrics:
    """A learning curve, or the spectrum of a large sample."""
    return _modes(point) if point["part"] == "modes" else _curve(point)


def _curve(point: Point) -> Metrics:
    """Regression at all sizes from one factorisation, and the machine at those up to ``svm``; the first samples of one draw.

    A ridge of 1e-12 stands in for none; ``pivot`` tells how far the kernel is from singular.
    """
    sizes = point["sizes"]
    x, y, test, wanted = two_classes(point["data"], max(sizes), point["n_test"], point["seed"], point["unit"])
    model = kernel_of(point["kernel"], point["bandwidth"])
    K, k = model.kernel(x, kinds="ntk").ntk.numpy(), model.kernel(x, test, kinds="ntk").ntk.numpy()
    L = cholesky(K + 1e-12 * np.eye(len(K)), lower=True, check_finite=False)
    v, z = (solve_triangular(L, rhs, lower=True, check_finite=False) for rhs in (k, y.numpy()))
    answers = [v[:p].T @ z[:p] for p in sizes]
    found: Metrics = {
        "n": np.array(sizes),
        "mse": np.array([float(((f - wanted.numpy()) ** 2).mean()) for f in answers]),
        "wrong": np.array([float((f * wanted.numpy() <= 0).mean()) for f in answers]),
        "pivot": float(L.diagonal().min() ** 2),
    }
    margins = []
    for p in [p for p in sizes if p <= point["svm"]]:
        fitted = SupportVectorMachine().fit(model, Split(x[:p], y[:p, None]))
        margins.append(float((fitted.predict(test)[:, 0] * wanted <= 0).double().mean()))
    return found | {"svm_wrong": np.array(margins)}


def _modes(point: Point) -> Metrics:
    """Exponents from the Laplace kernel's components, and how far its spectrum has settled."""
    x, y, _, _ = two_classes(point["data"], point["n"], 0, point["seed"], point["unit"])
    gram = models.laplace(1000.0).kernel(x, kinds="ntk").ntk
    pca = kernel_pca_exponent(gram, y)
    settled = gram_convergence(gram, ranks=[1, 11, 21], seed=point["seed"])
    return {
        **{f"beta_{name}": value for name, value in pca.estimates.items()},
        "decay": pca.decay,
        "theta": settled.theta,
        "worst_ratio": float(abs(settled.ratios[-2] - 1).max()),
        "rank": np.unique(np.geomspace(1, 0.9 * point["n"], 60).astype(int)),
        "beyond": pca.tail[np.unique(np.geomspace(1, 0.9 * point["n"], 60).astype(int)) - 1],
    }


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: squared error of regression; right: misclassified by support vector machines; colour: data, dashes: kernel."""
    import altair as alt

    rows = table[table.part == "curve"]
    panels: list[alt.Chart] = []
    for column, title in (("mse", "mean squared error"), ("svm_wrong", "misclassified (SVM)")):
        parts = []
        for r in records(rows):
            errors = np.asarray(r[column], dtype=float)
            sizes = np.asarray(r["n"])[: len(errors)]
            parts.append(pd.DataFrame({"n": sizes, "error": errors, "data": r["data"], "kernel": r["kernel"]}))
        means = pd.concat(parts).groupby(["data", "kernel", "n"], as_index=False).error.mean()
        panels.append(
            alt.Chart(means, title=title)
            .mark_line(point=True)
            .encode(
                alt.X("n:Q", title="training samples n").scale(type="log", nice=False),
                alt.Y("error:Q", title=title).scale(type="log", nice=False),
                alt.Color("data:N", title="data"),
                alt.StrokeDash("kernel:N", title="kernel"),
            )
            .properties(width=300)
        )
    return alt.hconcat(*panels)


PAPER = Paper(
    name="kernel-exponents",
    title="Exponents of kernel methods on MNIST and CIFAR-10",
    source=SOURCE,
    version=3,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
