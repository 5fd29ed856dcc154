"""Fig. 5 and Theorem 4.1: spectra of one-hidden-layer kernels on products of spheres, exact and sampled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import priorscope.models as models
from priorscope.lab import Check, Claim, Measured, Metrics, Paper, Point, at_most, near
from priorscope.probes import compare_with_gram, gram_spectrum, sphere_spectrum
from priorscope.statistics import Interval, exact, fit_power_law

if TYPE_CHECKING:
    import altair as alt

SOURCE = "What breaks the curse of dimensionality in deep learning? (2021)"
READOUTS = ("fcn", "vec", "gap")
ORDERS = (1, 2, 4)  # ReLU's kernel has no third power: order 3 is empty, as k'''(0) = 0 says
SAMPLED = {"tiny": (6, 200), "small": (12, 1500), "paper": (12, 15000)}  # spheres p, samples; d0 = s = 3 as in Fig. 5
SIDES = {"tiny": [16, 32, 64], "small": [16, 32, 64, 128, 256], "paper": [16, 32, 64, 128, 256, 512]}


def grid(scale: str) -> list[Point]:
    """Gram spectra at d0 = s = 3, and exact spectra along d0 = p = √d."""
    p, n = SAMPLED[scale]
    points: list[Point] = [
        {"part": "gram", "readout": readout, "d0": 3, "p": p, "n": n, "seed": 0} for readout in READOUTS
    ]
    points += [
        {"part": "scaling", "readout": readout, "d0": side, "p": side, "n": 0, "seed": 0}
        for readout in READOUTS
        for side in SIDES[scale]
    ]
    return points


def run(point: Point) -> Metrics:
    """Exact eigenvalues of one architecture; beside them the Gram matrix's, or dimension and mean eigenvalue by order."""
    arch = (
        getattr(models, point["readout"])(depth=1, kernel_size=3) if point["readout"] != "fcn" else models.fcn(depth=1)
    )
    known = sphere_spectrum(arch, point["d0"], point["p"], order=6 if point["part"] == "gram" else max(ORDERS))
    result: Point = {"trace": known.trace, "remainder": known.remainder, "truncation": known.truncation}
    if point["part"] == "gram":
        gram = gram_spectrum(arch, point["d0"], point["p"], point["n"], seed=point["seed"])
        table = compare_with_gram(known, gram, most=0.15)
        result |= {"gram": gram, "exact": known.expanded(len(gram)), "families": len(table)}
        return result | {
            "worst_ratio": float((table.ratio - 1).abs().max()),
            "samples_order_2": known.samples_needed()[2],
        }
    for order in ORDERS:
        result |= {
            f"dimension_{order}": float(known.dimension(order)),
            f"eigenvalue_{order}": known.mean_eigenvalue(order),
        }
    return result


def exponent(table: pd.DataFrame, readout: str, quantity: str, order: int) -> Interval:
    """Exponent in d = p·d0 of the dimension or the mean eigenvalue of an order, along d0 = p. Computed, not sampled."""
    part = table[(table.part == "scaling") & (table.readout == readout)]
    d = (part.d0 * part.p).to_numpy(float)
    return exact(fit_power_law(d, part[f"{quantity}_{order}"].to_numpy(float)).exponent)


def gram_deviation(table: pd.DataFrame) -> Measured:
    """Largest relative deviation of the mean of a group of Gram eigenvalues from the exact one."""
    gram = table[table.part == "gram"]
    return Measured(exact(gram.worst_ratio.max()), f"{int(gram.families.sum())} groups of eigenvalues")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Eigenvalue against rank: points sampled, lines exact."""
    import altair as alt

    rows = []
    for _, row in table[table.part == "gram"].iterrows():
        ranks = np.unique(np.geomspace(1, len(row.gram), 120).astype(int))
        for kind in ("gram", "exact"):
            values = np.asarray(row[kind])
            rows += [
                {"readout": row.readout.upper(), "kind": kind, "rank": int(k), "eigenvalue": float(values[k - 1])}
                for k in ranks
                if k <= len(values) and values[k - 1] > 0
            ]
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("rank:Q", scale=alt.Scale(type="log"), title="rank k"),
        y=alt.Y("eigenvalue:Q", scale=alt.Scale(type="log"), title="eigenvalue λ"),
        color=alt.Color("readout:N", title="kernel"),
    )
    points = base.transform_filter("datum.kind == 'gram'").mark_point(size=14, filled=True)
    lines = base.transform_filter("datum.kind == 'exact'").mark_line(interpolate="step")
    chart: alt.TopLevelMixin = (points + lines).properties(
        title="ReLU NTK on a product of spheres: Gram matrix (points), exact (lines)"
    )
    return chart


# Theorem 4.1 for d0 = p = √d: exponents in d of dimension and eigenvalue, by order r
THEOREM: dict[str, dict[str, Callable[[int], float]]] = {
    "fcn": {"dimension": lambda r: r, "eigenvalue": lambda r: -r},
    "vec": {"dimension": lambda r: (1 + r) / 2, "eigenvalue": lambda r: -(1 + r) / 2},
    "gap": {"dimension": lambda r: r / 2, "eigenvalue": lambda r: -(1 + r) / 2},
}

PAPER = Paper(
    name="sphere-spectrum",
    title="Locality reduces eigenspaces, pooling divides them by the number of shifts",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="S0.9",
            source=f"{SOURCE}, Fig. 5 and Theorem 4.1",
            says="exact eigenvalues and multiplicities of FCN, VEC and GAP match the Gram spectrum, and their dimensions and "
            "eigenvalues scale with d as the theorem says",
            checks=(
                Check("deviation from the Gram spectrum", gram_deviation, at_most(0.1)),
                *(
                    Check(
                        f"exponent of {readout.upper()}'s {quantity}, order {order}",
                        partial(exponent, readout=readout, quantity=quantity, order=order),
                        near(law(order), within=0.1 * abs(law(order))),
                    )
                    for readout, laws in THEOREM.items()
                    for quantity, law in laws.items()
                    for order in ORDERS
                ),
            ),
        ),
    ),
    chart=chart,
)
