"""The claims K.9 to K.14: exponents of MNIST and CIFAR-10, by curves and by kernel components."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, NotMeasured, at_most, claimed, near
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.kernel_curves._source import SOURCE
from priorscope.statistics import Interval, seed_interval


def _rows(table: pd.DataFrame, data: str, kernel: str, part: str = "curve", bandwidth: float = 1000.0) -> pd.DataFrame:
    rows = table[
        (table.part == part) & (table.data == data) & (table.kernel == kernel) & (table.bandwidth == bandwidth)
    ]
    if len(rows) < 2:
        raise NotMeasured(f"fewer than two draws of {kernel} on {data}")
    return rows.sort_values("seed")


def _errors(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    values = np.stack([np.asarray(v, dtype=float) for v in rows[column]])
    return np.asarray(rows.n.iloc[0], dtype=float)[: values.shape[1]], values


def _slope(n: np.ndarray, curves: np.ndarray) -> Interval:
    """−slope of the mean curve over its last decade, with the interval over draws."""
    kept = n >= n[-1] / 10
    found = seed_interval(
        curves[:, kept], lambda c: float(np.polyfit(np.log(n[kept]), np.log(np.maximum(c.mean(0), 1e-12)), 1)[0])
    )
    return Interval(-found.value, -found.high, -found.low)


def beta(table: pd.DataFrame, data: str, column: str, kernels: tuple[str, ...] = ("laplace", "gaussian")) -> Measured:
    """β on the last decade of the mean over draws and kernels, as the paper fits; each kernel's own in the note."""
    parts = [_errors(_rows(table, data, kernel), column) for kernel in kernels]
    own = ", ".join(f"{kernel} {_slope(*part).value:.3f}" for kernel, part in zip(kernels, parts))
    return Measured(_slope(parts[0][0], np.mean([curves for _, curves in parts], axis=0)), own)


def gap(table: pd.DataFrame, data: str, column: str, other: str) -> Interval:
    """Difference of β between the two kernels (``other`` = "kernel") or between regression and machine ("task")."""
    differences = []
    both = {k: _rows(table, data, k) for k in ("laplace", "gaussian")}
    for seed in sorted(set(both["laplace"].seed) & set(both["gaussian"].seed)):
        slopes = {}
        for kernel, rows in both.items():
            row = rows[rows.seed == seed]
            for name in ("mse", "svm_wrong"):
                n, curves = _errors(row, name)
                kept = n >= n[-1] / 10
                slopes[kernel, name] = -float(
                    np.polyfit(np.log(n[kept]), np.log(np.maximum(curves[0, kept], 1e-4)), 1)[0]
                )
        if other == "kernel":
            differences.append(slopes["gaussian", column] - slopes["laplace", column])
        else:
            differences.append(slopes["laplace", "svm_wrong"] - slopes["laplace", "mse"])
    return over_draws(differences)


def widths(table: pd.DataFrame, bandwidth: float) -> Interval:
    """β of Laplace of this width minus β at σ = 1000 on MNIST."""
    a, b = (_errors(_rows(table, "mnist", "laplace", "width", w), "mse") for w in (bandwidth, 1000.0))
    n = a[0]
    kept = n >= n[-1] / 10
    slopes = [np.polyfit(np.log(n[kept]), np.log(curves[:, kept]).T, 1)[0] for _, curves in (a, b)]
    return over_draws(slopes[1] - slopes[0])


def component_beta(table: pd.DataFrame, data: str) -> Measured:
    """β from kernel components by the low ranks of the tail (eq. 14 of the paper away from its end), others in the note."""
    rows = where(table, part="modes", data=data)
    told = f"modes {rows.beta_modes.mean():.3f}, tail at middle ranks {rows.beta_tail.mean():.3f}"
    return Measured(over_draws(rows.beta_head), told)


def theta(table: pd.DataFrame, data: str) -> Interval:
    """θ of the density of eigenvalues."""
    return over_draws(table[(table.part == "modes") & (table.data == data)].theta)


def unsettled(table: pd.DataFrame) -> Interval:
    """Largest relative change of the eigenvalues of ranks 1, 11, 21 in the last doubling of the sample."""
    rows = where(table, part="modes")
    return over_draws(rows.groupby("seed").worst_ratio.max())


CLAIMS = (
    Claim(
        "K.9",
        SOURCE + ", Fig. 1",
        "kernel regression learns with β ≈ 0.4 on MNIST and 0.1 on CIFAR-10",
        checks=(
            Check("MNIST", partial(beta, data="mnist", column="mse"), claimed(0.4, within=0.08)),
            Check("CIFAR-10", partial(beta, data="cifar10", column="mse"), claimed(0.1, within=0.04)),
        ),
        reach=("sizes",),
    ),
    Claim(
        "K.10",
        SOURCE + ", Fig. 1",
        "support vector machines learn with about the same exponents as regression",
        checks=(
            Check("MNIST", partial(beta, data="mnist", column="svm_wrong"), claimed(0.4, within=0.15)),
            Check("CIFAR-10", partial(beta, data="cifar10", column="svm_wrong"), claimed(0.1, within=0.06)),
        ),
        reach=("sizes",),
    ),
    Claim(
        "K.11",
        SOURCE + ", Fig. 1",
        "Laplace and Gaussian kernels learn with the same exponent",
        checks=(
            Check("MNIST", partial(gap, data="mnist", column="mse", other="kernel"), near(0, within=0.1)),
            Check("CIFAR-10", partial(gap, data="cifar10", column="mse", other="kernel"), near(0, within=0.05)),
        ),
        reach=("sizes",),
    ),
    Claim(
        "K.12",
        SOURCE + ", App. B and Fig. 5",
        "the exponent of Laplace kernels does not depend on their width, from 10 to 10000",
        checks=tuple(
            Check(f"σ = {w:g} against 1000", partial(widths, bandwidth=w), near(0, within=0.08))
            for w in (10.0, 100.0, 10000.0)
        ),
    ),
    Claim(
        "K.13",
        SOURCE + ", sec. 6 and Fig. 3",
        "kernel components predict β = 0.36 on MNIST and 0.07 on CIFAR-10",
        checks=(
            Check("MNIST", partial(component_beta, data="mnist"), claimed(0.36, within=0.1)),
            Check("CIFAR-10", partial(component_beta, data="cifar10"), claimed(0.07, within=0.04)),
        ),
        reach=("n",),
    ),
    Claim(
        "K.14",
        SOURCE + ", App. J and Fig. 9",
        "the spectrum of the Gram matrix settles, with a density of exponent θ = 1 + d/(d + 1): 1.94 on MNIST, 1.97 on CIFAR-10",
        changes="the caption prints θ = 1 + α/d, which gives neither number",
        checks=(
            Check("change of eigenvalues in the last doubling", unsettled, at_most(0.15)),
            Check("θ of MNIST", partial(theta, data="mnist"), claimed(1.9375, within=0.1)),
            Check("θ of CIFAR-10", partial(theta, data="cifar10"), claimed(1.972, within=0.1)),
        ),
        reach=("n",),
    ),
)
