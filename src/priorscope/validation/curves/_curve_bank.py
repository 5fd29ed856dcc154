"""A bank of learning curves of tuned predictors, from which the forecaster's prior is learnt beside public ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import Claim, Paper, Point, at_most
from priorscope.statistics import Interval, seed_interval
from priorscope.validation.curves._measure import measure, sizes_of
from priorscope.validation.curves._predictors import PREDICTORS
from priorscope.validation.curves._problems import BANK, IMAGES

__all__ = ["PAPER", "bank_grid"]

SOURCE = "priorscope, curves"
TOP = {"tiny": 128, "small": 8192, "paper": 8192}
_RISE = 1.1  # a rise of more than a tenth is one that a reader of a table would see


def bank_grid(scale: str, problems: dict[str, object], draws: int) -> list[Point]:
    """One point per problem, predictor and draw of rows; convolutions only where inputs have positions."""
    if scale == "tiny":
        return [
            {"problem": "digits", "predictor": name, "largest": TOP["tiny"], "seed": 0}
            for name in ("linear", "neighbours")
        ]
    return [
        {"problem": problem, "predictor": name, "largest": TOP[scale], "seed": seed}
        for seed in range(draws)
        for problem in problems
        for name, predictor in PREDICTORS.items()
        if not predictor.image or problem in IMAGES
    ]


def grid(scale: str) -> list[Point]:
    """One draw of every problem of the bank; three at the published scale."""
    return bank_grid(scale, dict(BANK), 3 if scale == "paper" else 1)


def rises(table: pd.DataFrame) -> Interval:
    """Share of doublings at which the error rises by more than a tenth and by two standard errors of both ends.

    The mean over problems of their shares, with the interval over problems.
    """
    found = []
    for _, rows in table.groupby("problem"):
        seen = []
        for row in rows.to_dict("records"):
            sizes = sizes_of(row)
            errors = np.array([row[f"e{n}"] for n in sizes], dtype=float)
            if row["task"] == "classification":
                noise = np.sqrt(np.maximum(errors * (1 - errors), 1 / row["tests"]) / row["tests"])
            else:
                noise = np.array([row[f"se{n}"] for n in sizes], dtype=float)
            beyond = np.diff(errors) > 2 * np.hypot(noise[1:], noise[:-1])
            seen.append(beyond & (errors[1:] > _RISE * errors[:-1]))
        found.append(float(np.concatenate(seen).mean()))
    return seed_interval(found)


PAPER = Paper(
    "curve-bank",
    "Learning curves of tuned predictors",
    SOURCE,
    1,
    grid,
    measure,
    (
        Claim(
            "C.1",
            SOURCE,
            "twice the training samples raise the error of a tuned predictor, by a tenth or more and beyond noise, in at most "
            "two doublings of a hundred",
            measure=rises,
            expect=at_most(0.02),
        ),
    ),
)
