"""What Fig. 2 and eqs. 8 and 11 ask of the runs on width, and what is expected."""

from __future__ import annotations

from functools import partial

import pandas as pd
from scipy.stats import spearmanr

from priorscope.lab import Check, Claim, Measured, NotMeasured, at_least, at_most, claimed
from priorscope.papers._over_draws import exponent_over_draws, over_draws, where
from priorscope.papers.curse_of_dimensionality._systems import IMAGES, SOURCE
from priorscope.statistics import Interval

ACROSS = {"width": "time", "time": "width"}
NAMES = {"accuracy": "accuracy", "to_gap": "distance to E GAP_n", "to_limit": "distance to VEC_∞"}
WITH = {"width": "width", "time": "rotation"}


def trend(table: pd.DataFrame, data: str, column: str, along: str) -> Measured:
    """Spearman's correlation of a column with width (or rotation), over the rotations (or widths): independent networks.

    Accuracy can only fall where GAP, from which VEC departs, is ahead of VEC_∞, which it approaches.
    """
    path = where(table, data=data)
    ahead = path.gap_accuracy.mean() - path.limit_accuracy.mean()
    if column == "accuracy" and ahead <= 0:
        raise NotMeasured(f"GAP is not ahead of VEC_∞ ({ahead:+.3f}), so accuracy has nowhere to fall to")
    mean = path.groupby(["width", "time"])[column].mean().reset_index()
    slices = [_rank_correlation(part[along], part[column]) for _, part in mean.groupby(ACROSS[along])]
    listed = ", ".join(f"{rho:+.1f}" for rho in slices)
    return Measured(over_draws(slices), f"{listed} (GAP ahead of VEC_∞ by {ahead:+.3f})")


def _rank_correlation(x: pd.Series, y: pd.Series) -> float:
    """Spearman's; zero where one side does not vary."""
    return float(spearmanr(x, y).statistic) if x.nunique() > 1 and y.nunique() > 1 else 0.0


def rate(table: pd.DataFrame, part: str, column: str) -> Interval:
    """The exponent in the width of a distance to infinite width, over draws."""
    return exponent_over_draws(table[table.part == part], "width", column)


TRENDS = (
    Claim(
        "S0.6",
        f"{SOURCE}, Fig. 2",
        "as the width or the rotation grows, VEC's accuracy falls and its mean moves from GAP's towards VEC_∞",
        checks=tuple(
            Check(
                f"{NAMES[column]} with {WITH[along]}, {images_of}",
                partial(trend, data=data, column=column, along=along),
                expect,
            )
            for data, images_of in IMAGES.items()
            for column, expect in (("accuracy", at_most(-0.5)), ("to_gap", at_least(0.5)), ("to_limit", at_most(-0.5)))
            for along in ACROSS
        ),
        reach=("steps", "width", "size", "n"),
    ),
)

RATES = (
    Claim(
        "S0.7",
        f"{SOURCE}, eqs. 8 and 11",
        "the tangent kernel and the mean prediction approach their limits like one over the root of the width",
        checks=(
            Check("tangent kernel", partial(rate, part="kernel", column="kernel_error"), claimed(-0.5, within=0.1)),
            # eq. 11 is an upper bound: a steeper fall satisfies it, so the tolerance of 0.1 has one side
            Check("mean prediction", partial(rate, part="mean", column="mean_distance"), at_most(-0.4)),
        ),
    ),
)
