"""What the three papers of this folder share: their source, their problems, and shares of the largest margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.papers._over_draws import over_draws
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from priorscope.data import Split

SOURCE = "Srebro, Geometry of optimization and learning: rich vs kernel inductive bias (2019)"

Array = NDArray[np.float64]


def digit_images(n: int, seed: int) -> tuple[Array, Array]:
    """So many bundled digits as rows of 64 numbers, minus the mean of all and of length 1 on average, with signs by parity."""
    from priorscope.data import digits

    whole = digits(classes="parity")
    drawn = whole.subset(n, seed=seed)
    x = drawn.inputs.flatten(1).double().numpy() - whole.inputs.flatten(1).double().numpy().mean(0)
    return x / np.sqrt((x**2).sum(1).mean()), drawn.targets[:, 0].double().numpy()


def linear_problem(kind: str, n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Inputs (n, d) and signs: "digits", or normal inputs of mean square length 1 with coin flips for labels."""
    if kind == "digits":
        return digit_images(n, seed)
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) / d**0.5, rng.choice([-1.0, 1.0], size=n)


def margin_share(weights: Array, x: Array, y: Array, norm: str) -> float:
    """The margin of a linear function in a norm, over the largest there is."""
    from priorscope.probes import maximum_margin
    from priorscope.probes.limits.implicit import norm_of

    best = maximum_margin(x, y, norm)
    return float((y * (x @ weights)).min() / norm_of(weights, norm) * norm_of(best, norm))


def as_split(x: Array, y: Array) -> Split:
    """Arrays as samples."""
    import torch

    from priorscope.data import Split

    return Split(torch.from_numpy(x), torch.from_numpy(y)[:, None])


def per_draw(rows: pd.DataFrame, column: str) -> Interval:
    """The mean of a column over draws with its interval."""
    return over_draws(rows.groupby("seed")[column].mean().to_numpy(float))
