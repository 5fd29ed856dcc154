"""What the runs on the geometry at initialisation are asked, and what is expected of them."""

from __future__ import annotations

from functools import partial

import pandas as pd

from priorscope.lab import (
    Check,
    Claim,
    Measured,
    above,
    at_least,
    at_most,
    below,
    between,
    claimed,
    near,
    rising,
)
from priorscope.papers._over_draws import exponent_over_draws, over_draws, where
from priorscope.papers.geometry._sizes import SOURCE
from priorscope.statistics import Interval, exact


def _part(table: pd.DataFrame, part: str, model: str) -> pd.DataFrame:
    rows = where(table, part=part, model=model)
    return rows


def linear_pull(table: pd.DataFrame) -> Measured:
    """Root mean square difference of Δ of the linear model from -2σ²S in standard errors, over draws: 1 is none."""
    return Measured(over_draws(_part(table, "movement", "linear")["linear_pull"]), "in standard errors")


def _relu(table: pd.DataFrame) -> pd.DataFrame:
    """|Corr(Δ, S)| of the ReLU network at the largest dimension: draws × widths."""
    rows = _part(table, "movement", "relu")
    rows = rows[rows["dim"] == rows["dim"].max()]
    found: pd.DataFrame = rows.pivot_table(index="seed", columns="width", values="corr_s").abs()
    return found


def relu_alignment(table: pd.DataFrame) -> Measured:
    """|Corr(Δ, S)| of the ReLU network at the largest width, over draws."""
    curves = _relu(table)
    return Measured(
        over_draws(curves.iloc[:, -1]), f"width {curves.columns[-1]}, Gaussian inputs of power-law covariance"
    )


def relu_growth(table: pd.DataFrame) -> Measured:
    """|Corr(Δ, S)| at the largest width minus at the least, over draws."""
    curves = _relu(table)
    note = f"{curves.iloc[:, 0].mean():.3f} at width {curves.columns[0]}, {curves.iloc[:, -1].mean():.3f} at {curves.columns[-1]}"
    return Measured(over_draws(curves.iloc[:, -1] - curves.iloc[:, 0]), note)


def conv_alignment(table: pd.DataFrame) -> Interval:
    """|Corr(Δ, GSG)| of the linear convolution with most channels, over draws."""
    rows = _part(table, "movement", "conv")
    return over_draws(rows[rows["width"] == rows["width"].max()]["corr_gsg"].abs())


def conv_rate(table: pd.DataFrame) -> Interval:
    """Exponent of 1 - |Corr(Δ, GSG)| in the number of channels, over draws."""
    rows = _part(table, "movement", "conv")
    return exponent_over_draws(rows.assign(gap=(1 - rows["corr_gsg"].abs()).clip(lower=1e-12)), "width", "gap")


def conv_geometry(table: pd.DataFrame) -> Interval:
    """Largest relative distance of the measured G of the linear convolution from its closed form."""
    return exact(_part(table, "movement", "conv")["geometry_error"].max())


def label_pull(table: pd.DataFrame) -> Measured:
    """Root mean square difference of Δ between two labelings in standard errors, over models and draws: 1 is none."""
    return Measured(over_draws(table[table["part"] == "labels"]["pull"]), "in standard errors")


def largest_label_pull(table: pd.DataFrame) -> Interval:
    """The largest of these differences."""
    return exact(table[table["part"] == "labels"]["pull"].max())


def isotropy(table: pd.DataFrame, model: str) -> Interval:
    """Exponent in the number of models of the off-diagonal of G over its diagonal, over draws."""
    return exponent_over_draws(_part(table, "isotropy", model), "n_models", "off_diagonal")


def structure(table: pd.DataFrame, model: str) -> Measured:
    """Decades between the first and the 90 %-rank eigenvalue of G, minus those of the dense net, over draws."""
    decades = [_part(table, "structure", name).set_index("seed")["decades"] for name in (model, "mlp")]
    note = f"{decades[0].mean():.2f} against {decades[1].mean():.2f}; 16×16 inputs, narrow nets"
    return Measured(over_draws((decades[0] - decades[1]).dropna()), note)


CLAIMS = (
    Claim(
        "S4.1",
        f"{SOURCE}, Thm. 3.1",
        "linear and one-hidden-layer ReLU: the geometry moves along -S, the closer the wider",
        checks=(
            Check("ReLU, |Corr(Δ, S)| at the largest width", relu_alignment, at_least(0.97)),
            Check("ReLU, growth with the width", relu_growth, rising()),
            Check("linear model, distance to -2σ²S", linear_pull, between(0.7, 1.4)),
        ),
    ),
    Claim(
        "S4.2",
        f"{SOURCE}, Thm. 3.2",
        "linear convolution with pooling: the geometry moves along G S G, up to a part that falls with the number of channels "
        "n like 1/n",
        checks=(
            Check("|Corr(Δ, GSG)| at the largest width", conv_alignment, at_least(0.99)),
            Check("exponent of 1 - |Corr| in n", conv_rate, at_most(-0.75)),
            Check("G against its closed form", conv_geometry, below(0.1)),
        ),
        changes="1 - |Corr| falls like 1/n or faster: by hand Δ lies along (2 + 3/n) GSG + (tr K/n) G with K the pooled S, so "
        "that it falls like 1/n² in the end",
    ),
    Claim(
        "S4.3",
        f"{SOURCE}, Prop. A.1",
        "the first movement does not depend on the labels",
        checks=(
            Check("difference between two labelings", label_pull, near(1, within=0.4)),
            Check("largest difference", largest_label_pull, below(2)),
        ),
    ),
    Claim(
        "S4.4",
        f"{SOURCE}, Sec. 3",
        "G = cI for dense and circular convolutional nets without pooling: what is off the diagonal is sampling noise",
        checks=(
            Check(
                "exponent in the number of models, dense", partial(isotropy, model="fcn"), claimed(-0.5, within=0.15)
            ),
            Check("exponent, convolutional", partial(isotropy, model="vec"), claimed(-0.5, within=0.15)),
            Check("exponent, with pooling (control)", partial(isotropy, model="gap"), above(-0.2)),
        ),
    ),
    Claim(
        "S4.5",
        f"{SOURCE}, Fig. 1",
        "G is strongly structured for LeNet, ResNet and ViT: its spectrum is wider than the dense net's by more than a decade",
        checks=tuple(
            Check(f"decades more, {name}", partial(structure, model=model), above(1))
            for model, name in (("lenet", "LeNet"), ("resnet18", "ResNet18"), ("vit", "ViT"))
        ),
    ),
)
