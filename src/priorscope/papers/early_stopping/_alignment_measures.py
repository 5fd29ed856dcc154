"""What is read off the residual network's runs: parts in the information space by condition, and their differences."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.lab import Measured
from priorscope.papers._over_draws import over_draws
from priorscope.papers.early_stopping._alignment_runs import CONDITIONS

Condition = tuple[str, float]
CLEAN: Condition = ("sgd", 0.0)
HALF: Condition = ("sgd", 0.5)


def _values(table: pd.DataFrame, column: str, condition: Condition) -> NDArray[np.float64]:
    place = CONDITIONS.index(condition)
    return np.array([float(np.asarray(v, dtype=float)[place]) for v in table.sort_values("seed")[column]])


def part(table: pd.DataFrame, column: str, condition: Condition) -> Measured:
    """The mean over draws of what a column holds in one condition."""
    found = _values(table, column, condition)
    return Measured(over_draws(found), f"{len(found)} draws")


def change(table: pd.DataFrame, what: str, condition: Condition) -> Measured:
    """Its value at the end minus at the start, of "labels", "residual" or "effort"."""
    start, end = (_values(table, f"{when}_{what}", condition) for when in ("start", "end"))
    return Measured(over_draws(end - start), f"from {start.mean():.3g} to {end.mean():.3g}")


def above_shuffled(table: pd.DataFrame) -> Measured:
    """The part of clean labels at the start minus that of the same labels in random order."""
    labels = _values(table, "start_labels", CLEAN)
    random = table.sort_values("seed")["start_shuffled"].to_numpy(float)
    return Measured(over_draws(labels - random), f"{labels.mean():.3f}, in random order {random.mean():.3f}")


def wrong_minus_clean(table: pd.DataFrame, column: str) -> Measured:
    """A column with half the labels wrong minus with none."""
    clean, half = _values(table, column, CLEAN), _values(table, column, HALF)
    return Measured(over_draws(half - clean), f"from {clean.mean():.3g} to {half.mean():.3g}")


def energy(table: pd.DataFrame) -> Measured:
    """The share of the Jacobian's squared norm in the information space at the start."""
    return Measured(over_draws(table["start_energy"].to_numpy(float)))


def left(table: pd.DataFrame, condition: Condition) -> Measured:
    """The log of what training leaves of the first residual's norm outside the information space, over inside."""
    inside, outside = (_values(table, f"left_{where}", condition) for where in ("information", "nuisance"))
    return Measured(over_draws(np.log(outside / inside)), f"{inside.mean():.3g} inside, {outside.mean():.3g} outside")
