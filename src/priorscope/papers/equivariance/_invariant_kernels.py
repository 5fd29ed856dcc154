"""What invariance saves: samples to one error with and without the group built into the kernel, by the group's order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import gmean
from torch import Tensor

from priorscope.contracts import KernelModel, kernel_matrix
from priorscope.data.groups import GridGroup, translations
from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_most, claimed
from priorscope.models import fcn, gap, group_cnn, invariant, laplace
from priorscope.papers._over_draws import over_draws
from priorscope.statistics import Interval, log_interpolate

if TYPE_CHECKING:
    import altair as alt

GAIN = "Tahmasebi & Jegelka, The exact sample complexity gain from invariances for kernel regression (2023)"
RATE = "Mei, Misiakiewicz & Montanari, Learning with invariances in random features and kernel models (2021)"
LENGTH = 8
RIDGE = 1e-8  # of the mean of the kernel's diagonal: rounding only
SIZES: dict[str, Point] = {
    "tiny": {"orders": [2, 4], "largest": 96, "least": 16, "tests": 40, "seeds": 2, "depths": [1]},
    "small": {"orders": [2, 4, 8], "largest": 2048, "least": 64, "tests": 200, "seeds": 12, "depths": [1, 2, 3]},
    "paper": {"orders": [2, 4, 8], "largest": 8192, "least": 64, "tests": 400, "seeds": 24, "depths": [1, 2, 3]},
}
KERNELS = ("fcn", "laplace")


def grid(scale: str) -> list[Point]:
    """Both kernels, all orders, targets with and without the symmetry; and kernels of group-convolutional networks."""
    size = SIZES[scale]
    shared = {"largest": size["largest"], "least": size["least"], "tests": size["tests"]}
    points: list[Point] = [
        {"kind": "gain", "kernel": kernel, "order": order, "target": target, "seed": seed, **shared}
        for kernel in KERNELS
        for order in size["orders"]
        for target in ("invariant", "plain")
        for seed in range(size["seeds"])
    ]
    points += [
        {"kind": "convolution", "group": group, "depth": depth, "seed": seed}
        for group in ("p4", "p4m")
        for depth in size["depths"]
        for seed in range(2)
    ]
    return points


def shifts(order: int) -> GridGroup:
    """The cyclic shifts of a sequence by multiples of LENGTH / order."""
    whole = translations((1, LENGTH))
    return GridGroup(f"C{order}", whole.layout, whole.table[:: LENGTH // order])


def curve(student: Tensor, teacher: Tensor, sizes: NDArray[np.int64], n_test: int) -> NDArray[np.float64]:
    r"""Test error of the student's interpolator on Gaussian fields with the teacher's covariance, exactly in expectation.

    .. math:: E = \langle T_{xx} - 2\,t_x^\top a_x + a_x^\top T a_x\rangle_x / \langle T_{xx}\rangle, \quad
        a_x = (K + \delta)^{-1}k_x

    Spigler, Geiger & Wyart (2020), the mean over teachers taken by hand; averaged over test points x.
    """
    n = len(student) - n_test
    scale = float(teacher[n:, n:].diagonal().mean())
    found = []
    for m in sizes:
        ridge = RIDGE * float(student.diagonal().mean()) * torch.eye(int(m), dtype=torch.float64)
        weights = torch.linalg.solve(student[:m, :m] + ridge, student[:m, n:])
        error = teacher[n:, n:].diagonal() - 2 * (teacher[:m, n:] * weights).sum(0)
        error = error + ((teacher[:m, :m] @ weights) * weights).sum(0)
        found.append(float(error.mean()) / scale)
    return np.array(found)


def run(point: Point) -> Metrics:
    """Errors of both kernels by size and the ratio of samples to one error; or the distance of two kernels of networks."""
    if point["kind"] == "convolution":
        return _convolution(point)
    plain: KernelModel = fcn(1, bias_variance=0.1) if point["kernel"] == "fcn" else laplace(1.0)
    averaged = invariant(plain, shifts(point["order"]))
    source = torch.Generator().manual_seed(point["seed"])
    n_test = point["tests"]
    x = torch.randn(point["largest"] + n_test, 1, LENGTH, generator=source, dtype=torch.float64)
    radius = LENGTH**0.5 if point["kernel"] == "fcn" else 1.0
    x = radius * x / x.flatten(1).norm(dim=1)[:, None, None]
    K, KG = kernel_matrix(plain, x), kernel_matrix(averaged, x)
    teacher = KG if point["target"] == "invariant" else K
    sizes = np.unique(np.geomspace(point["least"], point["largest"], 11).round().astype(np.int64))
    without, built_in = (curve(k, teacher, sizes, n_test) for k in (K, KG))
    found: Metrics = {"log_ratio": float(np.log(built_in[-1] / without[-1]))}
    if point["target"] == "invariant":
        found["gain"] = _gain(sizes, without, built_in)
    return found


def _gain(sizes: NDArray[np.int64], without: NDArray[np.float64], built_in: NDArray[np.float64]) -> float:
    """How many times the samples the plain kernel needs for one error, the geometric mean over sizes where both are seen."""
    seen = (without[-1] < built_in) & (built_in < without[0])
    if not seen.any():
        raise ValueError("the two curves share no error within the sizes; widen the range from least to largest.")
    needed = log_interpolate(built_in[seen], without[::-1], sizes[::-1])  # errors fall with size
    return float(gmean(needed / sizes[seen]))


def _convolution(point: Point) -> Metrics:
    """The kernel of a group-convolutional network beside that of the averaged plain one, on random images."""
    source = torch.Generator().manual_seed(point["seed"])
    x = torch.randn(2, 1, 5, 5, generator=source, dtype=torch.float64)
    group, depth = point["group"], point["depth"]
    deep = group_cnn(depth, group, bias_variance=0.1).kernel(x).ntk
    averaged = invariant(gap(depth, bias_variance=0.1), group).kernel(x, path="reference").ntk
    alone = gap(depth, bias_variance=0.1).kernel(x, path="reference").ntk
    size = float(deep.abs().max())
    return {
        "apart": float((deep - averaged).abs().max()) / size,
        "plain_apart": float((deep - alone).abs().max()) / size,
    }


def _of(table: pd.DataFrame, kernel: str, target: str) -> pd.DataFrame:
    rows = table[(table.kind == "gain") & (table.kernel == kernel) & (table.target == target)]
    if not len(rows):
        raise NotMeasured(f"no runs of {kernel} on {target} targets")
    return rows


def exponent(table: pd.DataFrame, kernel: str) -> Interval:
    """The exponent of the gain in the group's order: a line through one at order one, fitted per seed."""
    rows = _of(table, kernel, "invariant")
    wide = rows.pivot_table(index="seed", columns="order", values="gain")
    x = np.log(wide.columns.to_numpy(float))
    return over_draws(np.log(wide.to_numpy()) @ x / (x @ x))


def share(table: pd.DataFrame, kernel: str) -> Measured:
    """The gain over the order, at the largest order."""
    rows = _of(table, kernel, "invariant")
    top = int(rows.order.max())
    told = rows.groupby("order").gain.mean()
    return Measured(
        over_draws(rows[rows.order == top].gain / top), ", ".join(f"|G| = {o}: {g:.2f} times" for o, g in told.items())
    )


def harm(table: pd.DataFrame, kernel: str) -> Measured:
    """Least over orders of the mean log error with the group built in over without, where targets do not share it."""
    rows = _of(table, kernel, "plain")
    cells = {int(order): over_draws(rows[rows.order == order].log_ratio) for order in sorted(set(rows.order))}
    least = min(cells, key=lambda order: cells[order].value)
    return Measured(cells[least], f"at |G| = {least}, the least")


def distance(table: pd.DataFrame, column: str, largest: bool = True) -> Measured:
    """Largest or least distance of the kernels over depths, groups and images."""
    rows = table[table.kind == "convolution"]
    if not len(rows):
        raise NotMeasured("no kernels of convolutions")
    value = float(rows[column].max() if largest else rows[column].min())
    return Measured(Interval(value, value, value), f"of {len(rows)} kernels")


CLAIMS = (
    Claim(
        "Q.50",
        GAIN,
        "building a finite group of |G| elements into the kernel saves |G| times the samples on invariant targets",
        checks=tuple(
            check
            for kernel in KERNELS
            for check in (
                Check(
                    f"exponent of the gain in |G|, {kernel}", partial(exponent, kernel=kernel), claimed(1, within=0.1)
                ),
                Check(
                    f"gain over |G| at the largest |G|, {kernel}", partial(share, kernel=kernel), claimed(1, within=0.2)
                ),
            )
        ),
    ),
    Claim(
        "Q.51",
        f"control of ours to {RATE}",
        "on targets without the symmetry the invariant kernel is worse at every order",
        checks=tuple(
            Check(f"log of errors, invariant over plain, {kernel}", partial(harm, kernel=kernel), above(0))
            for kernel in KERNELS
        ),
    ),
    Claim(
        "Q.52",
        "derived here",
        "at infinite width a group-convolutional network has the tangent kernel of the plain network averaged over the group",
        checks=(
            Check("largest relative distance", partial(distance, column="apart"), at_most(1e-9)),
            Check(
                "least distance from the plain kernel",
                partial(distance, column="plain_apart", largest=False),
                above(1e-4),
            ),
        ),
    ),
)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Gain in samples against the order of the group: points over seeds; dashed the prediction, gain = order."""
    import altair as alt

    rows = table[(table.kind == "gain") & (table.target == "invariant")]
    x = alt.X("order:Q", title="elements of the group |G|").scale(type="log", base=2)
    y = alt.Y("gain:Q", title="times fewer samples").scale(type="log", base=2)
    points = alt.Chart(rows).mark_point(filled=True, opacity=0.6).encode(x, y, alt.Color("kernel:N"))
    ends = pd.DataFrame({"order": [1, int(rows.order.max())]}).assign(gain=lambda t: t.order)
    return alt.layer(alt.Chart(ends).mark_line(strokeDash=[4, 4], color="grey").encode(x, y), points)


PAPER = Paper(
    name="invariant-kernels",
    title="Samples that invariance saves, by the order of the group",
    source=GAIN,
    version=1,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
