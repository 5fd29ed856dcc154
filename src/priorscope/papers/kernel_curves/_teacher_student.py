"""Teachers and students on spheres, the circle and lattices: the exponent of the theorem, and where it does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope import models
from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.kernel_curves._source import SOURCE, kernel_of, records
from priorscope.papers.kernel_curves._teacher_claims import CLAIMS
from priorscope.probes import (
    error_in_many_digits,
    lattice_error,
    power_law_spectrum,
    spectral_curve,
    teacher_exponent,
    teacher_points,
    teacher_student,
    torus_spectrum,
)

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {
        "sizes": [32, 64, 128],
        "dims": [1, 2],
        "seeds": 2,
        "gaussian_seeds": 2,
        "digits": [10, 20],
        "n_test": 30,
        "grid": 2**12,
        "top": 128,
    },
    "small": {
        "sizes": [128, 256, 512, 1024, 2048],
        "dims": [1, 2, 3, 4, 6],
        "seeds": 8,
        "gaussian_seeds": 32,  # 8 in version 1, which left K.6 undecided
        "digits": [25, 50, 100, 200],
        "n_test": 300,
        "grid": 2**15,
        "top": 1024,
    },
    "paper": {
        "sizes": [128, 256, 512, 1024, 2048, 4096, 8192],
        "dims": [1, 2, 3, 4, 6, 8, 10],
        "seeds": 20,
        "gaussian_seeds": 32,
        "digits": [25, 50, 100, 200, 400],
        "n_test": 1000,
        "grid": 2**18,
        "top": 8192,
    },
}
PAIRS = ((2, 2), (3, 2), (4, 2), (6, 2), (8, 2), (2, 4), (4, 4))
SMOOTHNESS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 4.0)


def grid(scale: str) -> list[Point]:
    """Random points on spheres (two widths of the kernels); lattices; the circle; Gaussian students in many digits."""
    size = SIZES[scale]
    points: list[Point] = []
    for seed in range(size["seeds"]):
        common = {"sizes": size["sizes"], "n_test": size["n_test"], "seed": seed}
        for teacher in ("laplace", "gaussian"):
            points += [{"part": "sphere", "teacher": teacher, "dim": d, "bandwidth": d, **common} for d in size["dims"]]
        points += [{"part": "sphere", "teacher": "laplace", "dim": d, "bandwidth": 10, **common} for d in (1, 2)]
        points += [_in_digits("laplace", dim, size["digits"], seed) for dim in (6, 2)]
    points += [_in_digits("gaussian", 6, size["digits"], seed) for seed in range(size["gaussian_seeds"])]
    points += [{"part": "lattice", "pair": list(pair), "n": size["top"], "seed": 0} for pair in PAIRS]
    points += [{"part": "gaussian lattice", "dim": dim, "seed": 0} for dim in (1, 2)]
    points += [{"part": "circle", "nu": nu, "grid": size["grid"], "seed": 0} for nu in SMOOTHNESS]
    points += [{"part": "spectral", "teacher": t, "grid": size["grid"], "seed": 0} for t in ("laplace", "gaussian")]
    return points


def _in_digits(teacher: str, dim: int, sizes: list[int], seed: int) -> Point:
    return {
        "part": "digits",
        "teacher": teacher,
        "dim": dim,
        "bandwidth": dim,
        "sizes": sizes,
        "n_test": 20,
        "seed": seed,
    }


def run(point: Point) -> Metrics:
    """Errors of one teacher and student."""
    return {
        "sphere": _sphere,
        "digits": _digits,
        "lattice": _lattice,
        "gaussian lattice": _gaussian_lattice,
        "circle": _circle,
        "spectral": _spectral,
    }[point["part"]](point)


def _sphere(point: Point) -> Metrics:
    teacher = kernel_of(point["teacher"], point["bandwidth"])
    student = models.laplace(float(point["bandwidth"]))
    found = teacher_student(
        teacher, student, point["dim"], point["sizes"], draws=1, n_test=point["n_test"], seed=point["seed"]
    )
    return {"n": found.sizes, "error": found.errors[0]}


def _digits(point: Point) -> Metrics:
    """A Gaussian student without ridge on random points; bits enough for the smallest pivot."""
    sigma, dim, sizes = float(point["bandwidth"]), point["dim"], point["sizes"]
    train = teacher_points("sphere", dim, max(sizes), seed=2 * point["seed"])
    test = teacher_points("sphere", dim, point["n_test"], seed=2 * point["seed"] + 1)
    bits = {6: 260, 2: 600}[dim]
    errors, pivot = error_in_many_digits(
        kernel_of(point["teacher"], sigma), models.gaussian(sigma), train, test, sizes, bits=bits
    )
    return {"n": np.array(sizes), "error": errors, "pivot": pivot}


def _lattice(point: Point) -> Metrics:
    """Local slope at the largest lattice."""
    teacher, student = (float(alpha) for alpha in point["pair"])
    errors = [
        lattice_error(power_law_spectrum(teacher), power_law_spectrum(student), n)
        for n in (point["n"] // 2, point["n"])
    ]
    beta = teacher_exponent(teacher, student, 1).beta
    return {"slope": float(np.log2(errors[1] / errors[0])), "theory": -beta}


def _gaussian_lattice(point: Point) -> Metrics:
    """A teacher like Laplace and a Gaussian student on the lattice, where the student's spectrum is exact in its logarithm."""
    dim = point["dim"]
    sides = {1: (256, 512), 2: (32, 64)}[dim]
    student = lambda w: -((w / 20) ** 2) / 2  # noqa: E731
    errors = [lattice_error(power_law_spectrum(dim + 1.0, cut=4.0), student, side, dim) for side in sides]
    return {"slope": float(np.log2(errors[1] / errors[0])) / dim, "theory": -1 / dim}


def _circle(point: Point) -> Metrics:
    """Matérn teachers on the lattice of the circle, local slope from 256 to 512 points."""
    teacher = torus_spectrum(models.matern(point["nu"], 2.0), point["grid"])
    student = torus_spectrum(models.laplace(2.0), point["grid"])
    errors = [lattice_error(teacher, student, n) for n in (256, 512)]
    return {"slope": float(np.log2(errors[1] / errors[0])), "theory": -min(2 * point["nu"], 4.0)}


def _spectral(point: Point) -> Metrics:
    """The self-consistent curve on the circle beside the tail of the target."""
    student = np.maximum(torus_spectrum(models.laplace(1.0), point["grid"]), 0)
    teacher = np.maximum(torus_spectrum(kernel_of(point["teacher"], 1.0), point["grid"]), 1e-40)
    curve = spectral_curve(student, teacher, [64, 128, 256, 512])
    found = teacher_student(
        kernel_of(point["teacher"], 1.0), models.laplace(1.0), 1, [64, 128, 256], draws=8, n_test=400
    )
    return {
        "n": curve.sizes,
        "error": curve.errors,
        "beyond": curve.tails,
        "measured": found.errors.mean(0),
        "slope": float(np.log2(curve.errors[-1] / curve.errors[-2])),
    }


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Errors on spheres against n for both teachers, one colour per dimension; dashed the exponent of theory."""
    import altair as alt

    rows = table[(table.part == "sphere") & (table.bandwidth == table.dim)]
    parts = [
        pd.DataFrame({"n": r["n"], "error": r["error"], "dim": int(r["dim"]), "teacher": r["teacher"]})
        for r in records(rows)
    ]
    long = pd.concat(parts)
    means = long.groupby(["teacher", "dim", "n"], as_index=False).error.mean()
    x = alt.X("n:Q", title="training points n").scale(type="log", nice=False)
    y = alt.Y("error:Q", title="mean squared error").scale(type="log")
    colour = alt.Color("dim:O", title="dimension d")
    panels = []
    for teacher in ("laplace", "gaussian"):
        shown = means[means.teacher == teacher]
        last = shown.loc[shown.groupby("dim").n.idxmax()].set_index("dim")
        beta = 1 / shown.dim if teacher == "laplace" else 2 + 2 / shown.dim
        law = shown.dim.map(last.error) * (shown.n / shown.dim.map(last.n)) ** -beta
        title = f"{teacher} teacher, laplace student"
        points = alt.Chart(shown, title=title).mark_point(filled=True).encode(x, y, colour)
        line = alt.Chart(shown.assign(error=law)).mark_line(strokeDash=[5, 4]).encode(x, y, colour)
        panels.append(alt.layer(points, line).properties(width=300))
    both: alt.HConcatChart = alt.hconcat(*panels).resolve_scale(y="independent")
    return both


PAPER = Paper(
    name="teacher-student",
    title="The exponent of kernel regression on Gaussian fields",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
