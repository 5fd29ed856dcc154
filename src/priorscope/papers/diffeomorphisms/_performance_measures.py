"""What a table over architectures says: correlations of errors with stabilities, the square-root law, augmentation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import gmean

from priorscope.lab import Measured, NotMeasured
from priorscope.papers.diffeomorphisms._stability_measures import counted, geometric, responding
from priorscope.statistics import Interval, seed_interval

LEAST = 5  # architectures below which nothing is correlated


def _networks(table: pd.DataFrame) -> pd.DataFrame:
    """One row per network with error, D, G, R and R of means; errors of zero count as half a test image."""
    rows = []
    for _, row in responding(table).iterrows():
        D, G = np.asarray(row.end, float)[-1]
        mean = np.asarray(row.end_mean, float)
        found = {name: row[name] for name in ("data", "model", "n_train", "augment", "seed")}
        error = max(float(row.error), 0.5 / float(row.n_test))
        rows.append({**found, "error": error, "D": D, "G": G, "R": D / G, "R_mean": mean[0] / mean[1]})
    return pd.DataFrame(rows)


def architectures(table: pd.DataFrame) -> pd.DataFrame:
    """One row per data set and architecture at the largest P, without augmentation: geometric means over seeds."""
    frame = _networks(table)
    frame = frame[(frame.augment == "none") & (frame.n_train == frame.n_train.max())]
    names = ["error", "D", "G", "R", "R_mean"]
    logs = frame.assign(**{name: np.log(frame[name]) for name in names})
    means = logs.groupby(["data", "model"], sort=False)[names].mean()
    found: pd.DataFrame = means.apply(np.exp).reset_index()
    return found


def _logs(table: pd.DataFrame, data: str, *names: str) -> np.ndarray:
    """Logarithms (architectures, columns) on one data set."""
    frame = architectures(table)
    part = frame[frame.data == data]
    if len(part) < LEAST:
        raise NotMeasured(f"{len(part)} architectures on {data}; {LEAST} are wanted")
    part = part.assign(**{"1/G": 1 / part.G})
    logs: np.ndarray = np.log(part[list(names)].to_numpy(float))
    return logs


def _pearson(rows: np.ndarray, column: int = 1) -> float:
    return float(np.corrcoef(rows[:, 0], rows[:, column])[0, 1])


def correlation(data: str, name: str) -> Callable[[pd.DataFrame], Measured]:
    """Pearson's correlation of log error and the log of a stability over architectures, with Fisher's interval."""

    @counted
    def measured(table: pd.DataFrame) -> Measured:
        rows = _logs(table, data, "error", name)
        r, n = _pearson(rows), len(rows)
        half = 1.96 / (n - 3) ** 0.5
        z = np.arctanh(np.clip(r, -0.999999, 0.999999))
        ends = np.tanh([z - half, z + half])
        return Measured(Interval(r, float(ends[0]), float(ends[1])), f"{n} architectures")

    return measured


def advantage(data: str, name: str, first: str = "R") -> Callable[[pd.DataFrame], Measured]:
    """Correlation of the error with ``first`` minus that with another stability, with the jackknife's interval."""

    @counted
    def measured(table: pd.DataFrame) -> Interval:
        rows = _logs(table, data, "error", first, name)
        return seed_interval(rows, lambda v: _pearson(v, 1) - _pearson(v, 2))

    return measured


def prefactor(data: str) -> Callable[[pd.DataFrame], Measured]:
    """The prefactor A of error = A √R by least squares in logarithms, and the exponent left free in the note."""

    @counted
    def measured(table: pd.DataFrame) -> Measured:
        rows = _logs(table, data, "error", "R")
        free = float(np.polyfit(rows[:, 1], rows[:, 0], 1)[0])
        return Measured(geometric(np.exp(rows[:, 0] - rows[:, 1] / 2)), f"exponent left free: {free:.2f}")

    return measured


def along_samples(name: str) -> Callable[[pd.DataFrame], Measured]:
    """R or the error at the most samples over that at the fewest: geometric mean over networks trained at both."""

    @counted
    def measured(table: pd.DataFrame) -> Measured:
        frame = _networks(table)
        frame = frame[frame.augment == "none"]
        found = []
        for _, part in frame.groupby(["data", "model", "seed"]):
            part = part.sort_values("n_train")
            if len(part) > 1:
                found.append(part[name].iloc[-1] / part[name].iloc[0])
        if len(found) < 2:
            raise NotMeasured("fewer than two networks at several numbers of samples")
        return Measured(geometric(found), f"{len(found)} pairs")

    return measured


@counted
def augmented_ratio(table: pd.DataFrame) -> Measured:
    """R of networks trained on deformed images over R of their twins, geometric mean over data sets and seeds."""
    frame = _networks(table)
    key = ["data", "model", "n_train", "seed"]
    both = frame[frame.augment == "diffeo"].merge(frame[frame.augment == "none"], on=key, suffixes=("_moved", "_plain"))
    if len(both) < 2:
        raise NotMeasured("fewer than two networks trained both ways")
    errors = float(gmean(both.error_moved / both.error_plain))
    return Measured(geometric((both.R_moved / both.R_plain).to_numpy()), f"errors change by a factor {errors:.2f}")
