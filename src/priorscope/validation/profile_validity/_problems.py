"""The problems a profile is judged on: real tables and images, listed with their sources in ``problems.csv``.

None of them was used to build the profile; tables of R keep their words and gaps. A third of the rows, at most 5,000, is kept for
the test, at most 50,000 train; both are drawn once, by the name of the problem.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope import data
from priorscope.data import friedman_table, given_frame

__all__ = ["Entry", "Task", "development", "entries", "load"]

LIST = Path(__file__).parent / "problems.csv"
MOST_TEST, MOST_TRAIN = 5_000, 50_000
RARE = 0.1  # share of the rarer of two classes under which AUC counts in place of the share misclassified


@dataclass(frozen=True)
class Entry:
    """A line of the list; ``table`` of images reads name:classes:rows:side."""

    name: str
    source: str
    table: str
    target: str
    without: str
    task: str


@dataclass(frozen=True)
class Task:
    """Training and test rows of a problem, and the metric that counts: "error", "auc" or "rmse"."""

    x: object
    y: NDArray[np.generic]
    new: object
    wanted: NDArray[np.generic]
    metric: str


def entries() -> dict[str, Entry]:
    """The list by name.

    Example:
        >>> len(entries()) > 60
        True
    """
    with LIST.open(encoding="utf-8", newline="") as file:
        return {line["name"]: Entry(**line) for line in csv.DictReader(file)}


def development() -> dict[str, Task]:
    """Small made-up problems for trials: numbers, and classes of which few are of the second.

    Example:
        >>> sorted(development())
        ['dev Friedman', 'dev rare']
    """
    import torch

    x, y = friedman_table(600, torch.Generator().manual_seed(109))
    rows, numbers = x.numpy(), y.numpy()
    rare = (numbers > np.quantile(numbers, 0.85)).astype(int)
    return {
        "dev Friedman": Task(rows[:300], numbers[:300], rows[300:], numbers[300:], "rmse"),
        "dev rare": Task(rows[:300], rare[:300], rows[300:], rare[300:], "error"),
    }


def _keel(entry: Entry) -> tuple[NDArray[np.float32], NDArray[np.generic]]:
    whole = data.keel(entry.table)
    assert whole.train_labels is not None
    assert whole.test_labels is not None
    x = np.concatenate([whole.inputs.numpy(), whole.test.inputs.numpy()])
    return x, np.concatenate([whole.train_labels.numpy(), whole.test_labels.numpy()])


def _images(entry: Entry) -> tuple[NDArray[np.float32], NDArray[np.generic]]:
    name, classes, rows, side = entry.table.split(":")
    whole = {"mnist": data.mnist, "fashion_mnist": data.fashion_mnist, "cifar10": data.cifar10}[name](
        size=int(side), n_train=50_000, n_test=0
    )
    assert whole.train_labels is not None
    inside = np.isin(whole.train_labels.numpy(), [int(c) for c in classes]).nonzero()[0][: int(rows) * 4 // 3]
    return whole.inputs.numpy()[inside], whole.train_labels.numpy()[inside]


def load(entry: Entry) -> Task:
    """Read a problem and split it; classes with fewer than eight rows are left out."""
    x: object
    if entry.source.startswith("R's"):
        x, target = given_frame(entry.table, entry.target, without=tuple(entry.without.split()))
        y: NDArray[np.generic] = (target.astype(float) if entry.task == "regression" else target.astype(str)).to_numpy()
    elif entry.source.startswith("KEEL"):
        x, y = _keel(entry)
    else:
        x, y = _images(entry)
    metric = "rmse"
    keep = np.arange(len(y))
    if entry.task == "classification":
        values, counts = np.unique(y, return_counts=True)
        keep = np.isin(y, values[counts >= 8]).nonzero()[0]
        share = counts[counts >= 8].min() / len(keep)
        metric = "auc" if (counts >= 8).sum() == 2 and share < RARE else "error"
    order = keep[np.random.default_rng(crc32(entry.name.encode())).permutation(len(keep))]
    n_test = min(len(order) // 3, MOST_TEST)
    test, train = order[:n_test], order[n_test : n_test + MOST_TRAIN]
    if isinstance(x, pd.DataFrame):
        return Task(
            x.iloc[train].reset_index(drop=True), y[train], x.iloc[test].reset_index(drop=True), y[test], metric
        )
    assert isinstance(x, np.ndarray)
    return Task(x[train], y[train], x[test], y[test], metric)
