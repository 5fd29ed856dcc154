"""The plane of temperature and cutoff: how far fields move pixels, and when they fold the image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import gmean

from priorscope.data.deformations import (
    fold_temperatures,
    highest_temperature,
    lowest_temperature,
    mean_displacement,
    phase_grid,
    sample_fields,
)
from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_least, claimed
from priorscope.papers._over_draws import lowest, over_draws
from priorscope.papers.diffeomorphisms._source import SOURCE
from priorscope.statistics import fit_power_law

if TYPE_CHECKING:
    import altair as alt

CUTOFFS = {"tiny": [3, 5, 8], "small": [3, 5, 8, 10, 15, 20, 30], "paper": [3, 5, 8, 10, 15, 20, 30, 50, 100]}
FIELDS = {"tiny": 40, "small": 400, "paper": 2000}
DRAWS = {"tiny": 4, "small": 64, "paper": 64}  # of the rule as printed; the padded one is told in notes, from four
SIZE = 320  # pixels per side of the published picture


def grid(scale: str) -> list[Point]:
    """One point per cutoff, rule and draw of fields."""
    return [
        {"cutoff": c, "rule": rule, "n_fields": FIELDS[scale], "seed": seed}
        for c in CUTOFFS[scale]
        for rule, draws in (("strict", DRAWS[scale]), ("padded", 4))
        for seed in range(draws)
    ]


def run(point: Point) -> Metrics:
    """Displacements at temperature one over n², medians of the largest stretch, and shares that fold at the upper bound."""
    c, rule, n = point["cutoff"], point["rule"], point["n_fields"]
    top = highest_temperature(c)
    fields = sample_fields(20 * n, c, rule=rule, seed=1000 + point["seed"])
    middle = fields.values(3).square().sum(1)[:, 1, 1].mean()  # the centre is the only point off the frame
    folds = fold_temperatures(c, n_fields=n, rule=rule, seed=point["seed"])
    at = [top * f for f in (0.25, 0.5, 1.0, 2.0, 4.0)]
    return {
        "centre": float(middle),
        "centre_exact": mean_displacement(1.0, c, 1, kind="centre", rule=rule) ** 2,
        "image_exact": mean_displacement(1.0, c, 1, kind="image", rule=rule) ** 2,
        "stretch": folds.median_stretch(top),
        "bijective": folds.share(top),
        "one_to_one": folds.share(top, by="jacobian"),
        "temperatures": np.array(at),
        "stretches": np.array([folds.median_stretch(T) for T in at]),
    }


def _strict(table: pd.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Cutoffs, and values (draws, cutoffs) under the rule as printed."""
    wide = table[table.rule == "strict"].pivot_table(index="seed", columns="cutoff", values=name)
    if wide.shape[0] < 2 or wide.shape[1] < 3:
        raise NotMeasured(f"{wide.shape[0]} draws at {wide.shape[1]} cutoffs are too few")
    return wide.columns.to_numpy(float), wide.to_numpy(float)


def displacement_slope(table: pd.DataFrame) -> Measured:
    """Growth of δ²/(n²T) at the centre per unit of ln c, fitted over all cutoffs."""
    c, values = _strict(table, "centre")
    exact = _strict(table, "image_exact")[1][0]
    slope = float(np.polyfit(np.log(c), exact, 1)[0])
    note = f"exact sums over the image grow by {slope:.3f} per unit of ln c; published π/4 = {math.pi / 4:.3f}"
    return Measured(over_draws(values, lambda v: float(np.polyfit(np.log(c), v.mean(0), 1)[0])), note)


def displacement_ratio(table: pd.DataFrame) -> Measured:
    """δ² at the centre over (π/4) n²T ln c, geometric mean over cutoffs."""
    c, values = _strict(table, "centre")
    law = math.pi / 4 * np.log(c)
    over_image = float(gmean(_strict(table, "image_exact")[1][0] / law))
    found = over_draws(values, lambda v: float(gmean(v.mean(0) / law)))
    return Measured(found, f"over the image, exactly: {over_image:.3f}")


def stretch_exponent(table: pd.DataFrame) -> Measured:
    """Exponent of the median largest stretch, over √T, in c √(ln c)."""
    c, at_top = _strict(table, "stretch")
    per_root = at_top / np.sqrt([highest_temperature(x) for x in c])
    law = c * np.sqrt(np.log(c))
    return Measured(over_draws(per_root, lambda v: fit_power_law(law, v.mean(0)).exponent), "cutoffs 3 and up")


def stretch_ratio(table: pd.DataFrame) -> Measured:
    """The median largest stretch at T_max, where the formula gives one: geometric mean over cutoffs."""
    c, values = _strict(table, "stretch")
    each = ", ".join(f"{int(a)}: {b:.2f}" for a, b in zip(c, values.mean(0)))
    return Measured(over_draws(values, lambda v: float(gmean(v.mean(0)))), f"by cutoff {each}")


def bijective_share(table: pd.DataFrame) -> Measured:
    """Share of fields that do not fold at T_max, at the cutoff where it is lowest."""
    c, values = _strict(table, "bijective")
    cells = {f"c = {int(x)}": over_draws(values[:, k]) for k, x in enumerate(c)}
    padded = table[table.rule == "padded"].groupby("cutoff").bijective.mean()
    return lowest(cells, f"with the padded rule {padded.min():.2f} at c = {padded.idxmin()}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Share of fields that do not fold over temperature and cutoff on 320 × 320 pixels, with both bounds and δ = 1."""
    import altair as alt

    T = np.geomspace(1e-7, 1e-1, 25)
    cutoffs = [2, 3, 4, 5, 7, 10, 14, 20, 30]
    cells = phase_grid(T.tolist(), cutoffs, SIZE, n_fields=40)
    cells = cells[cells.image < 100]
    x = alt.X("cutoff:O", title="cutoff c")
    y = alt.Y("temperature:Q", title="temperature T", scale=alt.Scale(type="log"), axis=alt.Axis(format="~e"))
    colour = alt.Color("bijective:Q", title="do not fold", scale=alt.Scale(scheme="viridis"))
    tiles = alt.Chart(cells).mark_square(size=150).encode(x, y, colour, tooltip=["image", "centre", "one_to_one"])
    lines = [("T_max", highest_temperature(c), c) for c in cutoffs]
    lines += [("δ = 1/2", lowest_temperature(c, SIZE), c) for c in cutoffs]
    lines += [("δ = 1", 4 * lowest_temperature(c, SIZE), c) for c in cutoffs]
    frame = pd.DataFrame(lines, columns=["line", "temperature", "cutoff"])
    hue = alt.Color("line:N", title=None, scale=alt.Scale(range=["#fa5d36", "#24292f", "#b82989"]))
    drawn = alt.Chart(frame).mark_line(strokeWidth=2.5).encode(x, y, hue)
    plane = (tiles + drawn).resolve_scale(color="independent").properties(width=300, height=300)
    mean = table.groupby(["cutoff", "rule"], as_index=False)[["centre", "stretch"]].mean()
    mean["law"] = math.pi / 4 * np.log(mean.cutoff)
    log = alt.Scale(type="log")
    right = (
        alt.Chart(mean)
        .mark_point(filled=True)
        .encode(alt.X("cutoff:Q", scale=log), alt.Y("centre:Q", title="δ²/(n²T) at the centre"), alt.Color("rule:N"))
    )
    law = alt.Chart(mean).mark_line(strokeDash=[4, 4]).encode(alt.X("cutoff:Q", scale=log), alt.Y("law:Q"))
    picture: alt.TopLevelMixin = alt.hconcat(plane, (right + law).properties(width=220, height=300)).resolve_scale(
        color="independent"
    )
    return picture


PAPER = Paper(
    name="diffeo-phase",
    title="Which random fields are deformations",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "D.1",
            SOURCE + ", eq. 3 and Fig. 8",
            "the displacement follows δ² = (π/4) n² T ln c",
            checks=(
                Check("growth per unit of ln c", displacement_slope, claimed(math.pi / 4, within=0.08)),
                Check("ratio to the formula", displacement_ratio, claimed(1, within=0.25)),
            ),
        ),
        Claim(
            "D.2",
            SOURCE + ", eq. 13 and Fig. 8",
            "the median over fields of the largest stretch is (c/2) √(π³ T ln c)",
            checks=(
                Check("exponent in c √(ln c)", stretch_exponent, claimed(1, within=0.1)),
                Check("ratio to the formula", stretch_ratio, claimed(1, within=0.25)),
            ),
        ),
        Claim(
            "D.3",
            SOURCE + ", eq. 14",
            "at T_max = 4/(π³ c² ln c) at least half of the fields are one to one",
            measure=bijective_share,
            expect=at_least(0.5),
        ),
    ),
    chart=chart,
)
