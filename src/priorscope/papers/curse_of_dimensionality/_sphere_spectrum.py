"""Fig. 5 and Theorem 4.1: spectra of one-hidden-layer kernels on products of spheres, exact and sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import priorscope.models as models
from priorscope.lab import Claim, Paper, Verdict
from priorscope.probes import compare_with_gram, gram_spectrum, sphere_spectrum
from priorscope.statistics import fit_power_law

__all__ = ["PAPER"]

SOURCE = "What breaks the curse of dimensionality in deep learning? (2021)"
READOUTS = ("fcn", "vec", "gap")
ORDERS = (1, 2, 4)  # ReLU's kernel has no third power: order 3 is empty, as k'''(0) = 0 says
SAMPLED = {"tiny": (6, 200), "small": (12, 1500), "paper": (12, 15000)}  # spheres p, samples; d0 = s = 3 as in Fig. 5
SIDES = {"tiny": [16, 32, 64], "small": [16, 32, 64, 128, 256], "paper": [16, 32, 64, 128, 256, 512]}


def grid(scale: str) -> list[dict[str, Any]]:
    """Gram spectra at d0 = s = 3, and exact spectra along d0 = p = √d."""
    p, n = SAMPLED[scale]
    points: list[dict[str, Any]] = [
        {"part": "gram", "readout": readout, "d0": 3, "p": p, "n": n, "seed": 0} for readout in READOUTS
    ]
    points += [
        {"part": "scaling", "readout": readout, "d0": side, "p": side, "n": 0, "seed": 0}
        for readout in READOUTS
        for side in SIDES[scale]
    ]
    return points


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Exact eigenvalues of one architecture; beside them the Gram matrix's, or dimension and mean eigenvalue by order."""
    arch = (
        getattr(models, point["readout"])(depth=1, kernel_size=3) if point["readout"] != "fcn" else models.fcn(depth=1)
    )
    exact = sphere_spectrum(arch, point["d0"], point["p"], order=6 if point["part"] == "gram" else max(ORDERS))
    result: dict[str, Any] = {"trace": exact.trace, "remainder": exact.remainder, "truncation": exact.truncation}
    if point["part"] == "gram":
        gram = gram_spectrum(arch, point["d0"], point["p"], point["n"], seed=point["seed"])
        table = compare_with_gram(exact, gram, most=0.15)
        result |= {"gram": gram, "exact": exact.expanded(len(gram)), "families": len(table)}
        return result | {
            "worst_ratio": float((table.ratio - 1).abs().max()),
            "samples_order_2": exact.samples_needed()[2],
        }
    for order in ORDERS:
        result |= {
            f"dimension_{order}": float(exact.dimension(order)),
            f"eigenvalue_{order}": exact.mean_eigenvalue(order),
        }
    return result


def _theory(readout: str, order: int) -> tuple[float, float]:
    """Exponents in d of dimension and eigenvalue for d0 = p = √d (α = 1/2), Theorem 4.1."""
    if readout == "fcn":
        return float(order), -float(order)
    eigenvalue = -(0.5 + order / 2)
    return (0.5 + order / 2 if readout == "vec" else order / 2), eigenvalue


def exponents(table: pd.DataFrame) -> pd.DataFrame:
    """Fitted and predicted exponents in d of every readout and order."""
    rows = []
    for (readout, order), part in (
        ((r, o), table[(table.part == "scaling") & (table.readout == r)]) for r in READOUTS for o in ORDERS
    ):
        d = (part.d0 * part.p).to_numpy(float)
        for name, theory in zip(("dimension", "eigenvalue"), _theory(readout, order)):
            fitted = fit_power_law(d, part[f"{name}_{order}"].to_numpy(float)).exponent
            rows.append({"readout": readout, "order": order, "of": name, "fitted": fitted, "theory": theory})
    return pd.DataFrame(rows)


def _judge(table: pd.DataFrame) -> Verdict:
    gram = table[table.part == "gram"]
    ratio = float(gram.worst_ratio.max())
    fits = exponents(table)
    off = (fits.fitted / fits.theory - 1).abs()
    worst = fits.iloc[int(off.to_numpy().argmax())]
    note = (
        f"largest deviation of a Gram eigenvalue group {ratio:.1%} over {int(gram.families.sum())} groups; of an exponent "
        f"{off.max():.1%} ({worst.readout}, order {worst.order}, {worst.of}: {worst.fitted:.3f} for {worst.theory})"
    )
    return Verdict(
        "holds" if ratio <= 0.1 and off.max() <= 0.1 else "fails", measured=max(ratio, float(off.max())), note=note
    )


def chart(table: pd.DataFrame) -> Any:
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
    return (points + lines).properties(title="ReLU NTK on a product of spheres: Gram matrix (points), exact (lines)")


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
            expected="exponents of Theorem 4.1; ratio 1 to the Gram spectrum",
            tolerance=0.1,
            judge=_judge,
        ),
    ),
    chart=chart,
)
