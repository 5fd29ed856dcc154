"""The minimal model of learning invariants: relative stability of networks on the stripe, against training samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from priorscope.data import stripe
from priorscope.lab import Claim, Measured, Metrics, NotMeasured, Paper, Point, claimed, falling
from priorscope.models import ShallowStack
from priorscope.papers._over_draws import over_draws
from priorscope.papers.diffeomorphisms._source import SOURCE
from priorscope.papers.training_regimes._stripe_training import readout_compression, train_features, train_frozen
from priorscope.statistics import fit_power_law

if TYPE_CHECKING:
    import altair as alt

SIZES: dict[str, Point] = {
    "tiny": {
        "sizes": [8],
        "common": {"dim": 3, "width": 20, "kernel_width": 50, "n_test": 200, "data_seeds": 2, "rescaled": 1e-2},
        "steps": {"max_turn": 1e-2, "max_steps": 120, "size": 0.1},
    },
    "small": {
        "sizes": [256, 128, 64, 32],
        "common": {"dim": 5, "width": 100, "kernel_width": 1000, "n_test": 4000, "data_seeds": 8, "rescaled": 1e-4},
        "steps": {"max_turn": 1e-3, "max_steps": 40_000, "size": 0.1},
    },
    "overnight": {
        "sizes": [1024, 512, 256, 128, 64, 32],
        "common": {"dim": 5, "width": 100, "kernel_width": 1000, "n_test": 4000, "data_seeds": 16, "rescaled": 1e-4},
        "steps": {"max_turn": 1e-3, "max_steps": 100_000, "size": 0.1},
    },
    "paper": {
        "sizes": [4096, 2048, 1024, 512, 256, 128, 64, 32],
        "common": {
            "dim": 5,
            "width": 1000,
            "kernel_width": 10_000,
            "n_test": 20_000,
            "data_seeds": 16,
            "rescaled": 1e-6,
        },
        "steps": {"max_turn": 1e-4, "max_steps": 1_000_000, "size": 0.1},
    },
}
DONE = 0.9  # share of the networks of a size that must have met all margins for it to count


def grid(scale: str) -> list[Point]:
    """One point per number of patterns: the networks of all training sets of that size are trained in one flow."""
    size = SIZES[scale]
    return [{"n_train": n, **size["common"], **size["steps"], "seed": 0} for n in size["sizes"]]


def run(point: Point) -> Metrics:
    """Relative stability (mean and median) of feature and of lazy training, and the alignment of first-layer weights."""
    new = stripe(point["n_test"], point["dim"], 999).inputs
    across, noise = small_moves(point["n_test"], point["dim"], point["size"])
    trained = train_features(point)
    feature = [trained.predict(z) for z in (new, new + across, new + noise)]  # (K, n) each
    wide = ShallowStack(trained.x[:1], trained.y[:1], point["kernel_width"], [12345]).stacked
    ones = torch.ones(len(trained.x), 1, point["dim"]).double()
    fits = train_frozen(wide, trained.x, trained.y, ones, trained.flow)
    lazy = [torch.stack([fit.predict(z) for fit in fits]) for z in (new, new + across, new + noise)]
    informative = torch.eye(point["dim"], 1).double()
    return {
        "feature": _ratio(feature),
        "feature_median": _ratio(feature, median=True),
        "lazy": _ratio(lazy),
        "lazy_median": _ratio(lazy, median=True),
        "alignment": readout_compression(trained.end, informative).ratio,
        "alignment_start": readout_compression(trained.start, informative).ratio,
        "finished": trained.fitted.finished.double().numpy(),
        "finished_lazy": np.array([float(fit.finished) for fit in fits]),
    }


def small_moves(n: int, dim: int, size: float) -> tuple[Tensor, Tensor]:
    """Moves of the given length: in the directions on which no label depends, and in all."""
    g = torch.randn(2, n, dim, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    g[0, :, 0] = 0
    across, noise = size * g / g.norm(dim=2, keepdim=True)
    return across, noise


def _ratio(outputs: list[Tensor], median: bool = False) -> np.ndarray:
    """R of every network from its outputs (K, n) at the points, moved across, and with noise."""
    squares = [(other - outputs[0]).square() for other in outputs[1:]]
    over = [s.median(1).values if median else s.mean(1) for s in squares]
    found: np.ndarray = (over[0] / over[1]).numpy()
    return found


def _done(table: pd.DataFrame) -> pd.DataFrame:
    rows = table[[float(np.mean(np.asarray(f, float))) >= DONE for f in table.finished]].sort_values("n_train")
    if len(rows) < 3:
        raise NotMeasured(f"{len(rows)} sizes with networks that met all margins; 3 are wanted")
    return rows


def _exponent(rows: pd.DataFrame, name: str) -> np.ndarray:
    """Exponents in P, one per training set."""
    n = rows.n_train.to_numpy(float)
    values = np.log(np.stack([np.asarray(v, float) for v in rows[name]], 1))  # (sets, sizes)
    found: np.ndarray = np.polyfit(np.log(n), values.T, 1)[0]
    return found


def feature_exponent(table: pd.DataFrame) -> Measured:
    """Exponent of R in P with features, over sizes whose networks met all margins."""
    rows = _done(table)
    others = {name: _exponent(rows, name).mean() for name in ("feature_median", "lazy", "alignment")}
    note = "P = " + ", ".join(str(int(n)) for n in rows.n_train)
    note += "; with medians {feature_median:.2f}; lazy {lazy:.2f}; alignment Λ {alignment:.2f}".format(**others)
    return Measured(over_draws(_exponent(rows, "feature")), note)


def alignment_exponent(table: pd.DataFrame) -> Measured:
    """Exponent in P of the alignment Λ, weights along over across."""
    rows = _done(table)
    return Measured(over_draws(_exponent(rows, "alignment")), f"{len(rows)} sizes")


def feature_minus_lazy(table: pd.DataFrame) -> Measured:
    """Exponent of R in P with features minus that of lazy training on the same sets."""
    rows = _done(table)
    return Measured(over_draws(_exponent(rows, "feature") - _exponent(rows, "lazy")), f"{len(rows)} sizes")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """R against P for both trainings with a line of slope −1, and the alignment beside √P."""
    import altair as alt

    rows = [
        {"n": int(row.n_train), "value": float(v), "which": name, "of": "R" if name != "alignment" else "Λ"}
        for _, row in table.iterrows()
        for name in ("feature", "lazy", "alignment")
        for v in np.asarray(row[name], float)
    ]
    frame = pd.DataFrame(rows)
    x = alt.X("n:Q", title="patterns P", scale=alt.Scale(type="log", base=2, nice=False))
    parts = []
    for of, title, power in (("R", "relative stability R", -1.0), ("Λ", "alignment Λ", 0.5)):
        part = frame[frame["of"] == of]
        sizes = np.sort(part.n.unique()).astype(float)
        law = fit_power_law(sizes, part[part.which != "lazy"].groupby("n").value.mean().to_numpy())
        middle = float(np.exp(np.log(sizes).mean()))
        guide = pd.DataFrame({"n": sizes, "value": float(law([middle])[0]) * (sizes / middle) ** power})
        y = alt.Y("value:Q", title=title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g"))
        drawn = (
            alt.Chart(part).mark_point(filled=True, size=25, opacity=0.7).encode(x, y, alt.Color("which:N", title=None))
        )
        line = alt.Chart(guide).mark_line(strokeDash=[4, 4]).encode(x, y)
        parts.append((line + drawn).properties(width=260, height=240))
    picture: alt.TopLevelMixin = alt.hconcat(*parts)
    return picture


PAPER = Paper(
    name="stripe-invariants",
    title="How many samples it takes to become stable along directions that do not matter",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "D.20",
            f"{SOURCE}, Fig. 7",
            "on the stripe R falls like 1/P",
            measure=feature_exponent,
            expect=claimed(-1, within=0.2),
            reach=("n_train",),
        ),
        Claim(
            "D.21",
            f"{SOURCE}, Sec. 6",
            "the first-layer weights align with the informative direction like the root of P",
            measure=alignment_exponent,
            expect=claimed(0.5, within=0.15),
        ),
        Claim(
            "D.22",
            f"{SOURCE}, Sec. 6",
            "it is learning features that makes R fall: faster in P than in the lazy regime",
            measure=feature_minus_lazy,
            expect=falling(),
        ),
    ),
    chart=chart,
    overnight=True,
    members="data_seeds",
)
