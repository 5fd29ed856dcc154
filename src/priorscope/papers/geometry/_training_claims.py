"""What the runs on the geometry along training are asked, and what is expected of them."""

from __future__ import annotations

from functools import partial

import pandas as pd

from priorscope.lab import Check, Claim, Measured, NotMeasured, near, rising
from priorscope.papers._over_draws import over_draws
from priorscope.papers.geometry._sizes import NARROW, REDUCED, SOURCE, rows_of
from priorscope.statistics import Interval

TRAINED = 0.6  # training accuracy on G data below which a network has not trained, so nothing is tested
FITTED = 0.9  # training accuracy along the first eigenvector below which a rate decides nothing (published: 1)
NETWORKS = {"mlp": "dense net", "lenet": "LeNet", "residual": "residual network"}


def early_rise(table: pd.DataFrame, model: str) -> Interval:
    """How far Corr(Gᵗ, GSG) rises above its start in the first quarter of training, over repeats."""
    return over_draws(rows_of(table, "alignment", model)["early_rise"])


def early_lead(table: pd.DataFrame, model: str) -> Measured:
    """Corr(Gᵗ, GSG) minus Corr(Gᵗ, S), mean over the first quarter of training, over repeats."""
    rows = rows_of(table, "alignment", model)
    note = f"later {rows['later_lead'].mean():+.3f}; Corr(GSG, S) itself {rows['corr_gsg_s'].mean():.3f}. {REDUCED}"
    return Measured(over_draws(rows["early_lead"]), note)


def _gap(rows: pd.DataFrame, metric: str) -> tuple[Interval, str]:
    """A metric on G data minus on flip(G) data, over repeats."""
    if (fit := rows[rows["data"] == "G"]["train_accuracy"].mean()) < TRAINED:
        raise NotMeasured(f"the network did not train on G data either (accuracy {fit:.2f}), so nothing is tested")
    wide = rows.pivot_table(index="seed", columns="data", values=metric)
    words = f"{wide['G'].mean():.3g} on G data, {wide['flip'].mean():.3g} on flip(G)"
    return over_draws((wide["G"] - wide["flip"]).dropna()), words


def flip_gap(table: pd.DataFrame, model: str, metric: str) -> Measured:
    """A mean along training on G data minus on flip(G) data, over repeats."""
    interval, words = _gap(rows_of(table, "flip", model), metric)
    return Measured(interval, f"{words}. {NARROW}")


def data_size_gap(table: pd.DataFrame) -> Measured:
    """Training accuracy of LeNet on twice the data, G minus flip(G), over repeats."""
    return Measured(*_gap(rows_of(table, "data size", "lenet"), "mean_accuracy"))


def direction_gap(table: pd.DataFrame, part: str, rate: float) -> Measured:
    """Test accuracy along the first eigenvector of G minus along the last, over repeats."""
    rows = table[table["part"] == part]
    rows = rows[rows["learning_rate"] == rate]
    if rows.empty:
        raise NotMeasured("this scale has no such variation")
    words = (
        f"{rows['test_top'].mean():.2f} along the first, {rows['test_bottom'].mean():.2f} along the last eigenvector"
    )
    if (fit := rows["fit_top"].mean()) < FITTED:
        raise NotMeasured(f"the network did not fit its easiest data (training accuracy {fit:.2f}): {words}")
    return Measured(over_draws(rows["test_top"] - rows["test_bottom"]), words)


ALIGNMENT = (
    Claim(
        "S4.6",
        f"{SOURCE}, Fig. 2",
        "Corr(G^t, GSG) rises early in training and lies above Corr(G^t, S), except for the dense net where they coincide",
        checks=(
            *(Check(f"early rise, {name}", partial(early_rise, model=m), rising()) for m, name in NETWORKS.items()),
            *(
                Check(
                    f"early lead over Corr(G^t, S), {name}",
                    partial(early_lead, model=m),
                    near(0, within=0.05) if m == "mlp" else rising(),
                )
                for m, name in NETWORKS.items()
            ),
        ),
    ),
)

FLIP = (
    Claim(
        "S4.7",
        f"{SOURCE}, Fig. 3",
        "velocity and training accuracy are far lower on flip(G) data than on G data; not so for the dense net",
        checks=(
            *(
                Check(f"{name} lost, {NETWORKS[m]}", partial(flip_gap, model=m, metric=metric), rising())
                for m in ("lenet", "residual")
                for metric, name in (("mean_velocity", "velocity"), ("mean_accuracy", "training accuracy"))
            ),
            Check(
                "training accuracy lost, dense net",
                partial(flip_gap, model="mlp", metric="mean_accuracy"),
                near(0, within=0.05),
            ),
        ),
    ),
)

VARIATIONS = (
    Claim(
        "S4.13",
        f"{SOURCE}, App. A.8",
        "the effect is not one of over-parametrisation, data size or learning rate: the ordering stays",
        checks=(
            Check("twice the data", data_size_gap, rising()),
            Check("few parameters", partial(direction_gap, part="few parameters", rate=0.1), rising()),
            *(
                Check(f"rate {rate:g}", partial(direction_gap, part="rate", rate=rate), rising())
                for rate in (1.0, 0.1, 0.01, 0.001)
            ),
        ),
    ),
)
