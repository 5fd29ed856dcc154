"""What is read off the runs on clusters and digits: gaps, exponents, parts of labels, and how good a forecast stop is."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import exponent_over_draws, highest, lowest, over_draws, where
from priorscope.statistics import Interval, exact, interpolate_over_log, share_interval

CLOSE = 0.5  # of the first distance to the true labels: where half the way is gone


def _of(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    rows = where(table, kind=kind)
    return rows


def geometric_rate(table: pd.DataFrame) -> Measured:
    """The rate of log loss over the second half of the steps, over that of the quarter before; lowest of the widths.

    One for a geometric law, one half for a loss like one over the steps (which also lies below its start at all of them).
    """
    rows = _of(table, "fit")
    cells = {}
    for width in sorted(set(rows["width"])):
        part, rates = rows[rows["width"] == width], []
        for r in part.to_dict("records"):
            at, log = np.asarray(r["steps_at"], dtype=float), np.asarray(r["log_loss"], dtype=float)
            quarter, half, end = np.interp(at[-1] * np.array([0.25, 0.5, 1.0]), at, log)
            rates.append(float((half - end) / 2 / (quarter - half)))
        cells[f"width {width:.0f}"] = over_draws(rates)
    return lowest(cells, f"n = {int(rows['n'].iloc[0])}")


def gap_place(table: pd.DataFrame) -> Measured:
    """The largest distance of the widest gap's place from K²C, over all draws, mixtures and sizes."""
    rows = _of(table, "spectrum")
    wanted = rows["classes"] ** 2 * rows["components"]
    gaps = f"gaps from {rows['gap'].min():.1f} to {rows['gap'].max():.1f}"
    return Measured(exact(float((rows["dimension"] - wanted).abs().max())), f"{len(rows)} spectra, {gaps}")


def growth(table: pd.DataFrame, column: str) -> Measured:
    """The exponent in n of a singular value, the mean over the mixtures of each draw."""
    slopes = {}
    for (K, C), part in _of(table, "spectrum").groupby(["classes", "components"]):
        wide = part.pivot_table(index="seed", columns="n", values=column)
        if wide.shape[1] < 2:
            raise NotMeasured("one size has no exponent")
        sizes = np.log(wide.columns.to_numpy(float))
        slopes[f"K = {K:.0f}, C = {C:.0f}"] = [
            float(np.polyfit(sizes, np.log(row), 1)[0]) for row in wide.to_numpy(float)
        ]
    note = ", ".join(f"{name} {np.mean(v):.3f}" for name, v in slopes.items())
    return Measured(over_draws(np.mean(list(slopes.values()), axis=0)), f"mean over {note}")


def part_ratio(table: pd.DataFrame, rate: float) -> Measured:
    r"""The labels' part in the leading K²C directions over that of averages over clusters, the mean over mixtures.

    Averages over L = KC clusters keep :math:`\bar p = (1-\rho)^2 + \rho^2/(K-1)` of the squared norm of one-hot labels, and
    chance adds :math:`(1-\bar p) L/n` (derived here).
    """
    rows = _of(table, "spectrum")
    rows = rows[rows["n"] == rows["n"].max()]
    ratios, told = [], []
    for (K, C), part in rows.sort_values("seed").groupby(["classes", "components"]):
        kept = (1 - rate) ** 2 + rate**2 / (K - 1)
        derived = (kept + (1 - kept) * K * C / part["n"].iloc[0]) ** 0.5
        ratios.append((part[f"part_{rate:g}"] / derived).to_numpy(float))
        told.append(f"K = {K:.0f}, C = {C:.0f}: {part[f'part_{rate:g}'].mean():.3f} for {derived:.3f}")
    return Measured(over_draws(np.mean(ratios, axis=0)), f"n = {int(rows['n'].iloc[0])}; {', '.join(told)}")


def steps_exponent(table: pd.DataFrame) -> Measured:
    """The exponent in the number of clusters of the step at which half the way to the true labels is gone."""
    rows = _of(table, "steps")
    found = []
    for r in rows.to_dict("records"):
        at, left = np.asarray(r["steps_at"], dtype=float)[1:], np.asarray(r["distance"], dtype=float)[1:]
        if left.min() > CLOSE:
            raise NotMeasured(f"{int(r['clusters'])} clusters are not half learnt after {int(at[-1])} steps")
        i = int(np.argmax(left <= CLOSE))
        if i == 0:
            found.append(float(at[0]))
            continue
        x = (left[i - 1] - CLOSE) / (left[i - 1] - left[i])
        found.append(float(np.exp(np.log(at[i - 1]) + x * np.log(at[i] / at[i - 1]))))
    rows = rows.assign(half=found)
    means = ", ".join(
        f"{L:.0f}: {rows.loc[rows['clusters'] == L, 'half'].mean():.1f}" for L in sorted(set(rows["clusters"]))
    )
    return Measured(exponent_over_draws(rows, "clusters", "half"), f"steps by clusters {means}")


def _stops(table: pd.DataFrame, data: str | None = None, rates: tuple[float, ...] | None = None) -> pd.DataFrame:
    rows = _of(table, "stop")
    rows = rows if data is None else rows[rows["data"] == data]
    return rows if rates is None else rows[rows["rate"].isin(rates)]


def _at(row: Mapping[Hashable, Any], column: str, when: str) -> float:
    """A curve at the forecast stop (log-interpolated, within the run), at the end, or at its best step by the loss."""
    at, curve = np.asarray(row["steps_at"], dtype=float)[1:], np.asarray(row[column], dtype=float)[1:]
    if when == "end":
        return float(curve[-1])
    if when == "best":
        return float(curve[int(np.asarray(row["loss"], dtype=float)[1:].argmin())])
    return float(interpolate_over_log(float(row["stop"]), at, curve))


def _cells(rows: pd.DataFrame, value: str, first: str, second: str | None = None) -> dict[str, Interval]:
    """A curve at one moment, or the difference between two, by data set and rate."""
    found = {}
    for data, rate in sorted(set(zip(rows["data"], rows["rate"]))):
        part = rows[(rows["data"] == data) & (rows["rate"] == rate)]
        values = [
            _at(r, value, first) - (0.0 if second is None else _at(r, value, second)) for r in part.to_dict("records")
        ]
        found[f"{data} {100 * rate:g} %"] = over_draws(values)
    if not found:
        raise NotMeasured("there are no runs of this kind")
    return found


def train_share(table: pd.DataFrame, column: str, when: str, rate: float) -> Measured:
    """The share of training samples on clusters that get their true (or the given) label at the stop or at the end."""
    return lowest(_cells(_stops(table, "clusters", (rate,)), column, when))


def accuracy_gained(table: pd.DataFrame) -> Measured:
    """Accuracy on clean new samples at the forecast stop minus at the end, lowest of the cells with many wrong labels."""
    rows = _stops(table)
    rows = rows[(rows["rate"] >= 0.4) | ((rows["data"] == "clusters") & (rows["rate"] >= 0.2))]
    return lowest(_cells(rows, "accuracy", "stop", "end"))


def best_inside(table: pd.DataFrame) -> Measured:
    """How often a run's best step lies in the forecast interval, where the forecast says to stop early; lowest of the cells.

    Its upper end is the lowest of theirs at the level that the cells share (Bonferroni), by Clopper and Pearson.
    """
    rows = _stops(table)
    rows = rows[rows["worth_it"].astype(bool)]
    if rows.empty:
        raise NotMeasured("the forecast never says to stop early")
    hits = {
        f"{data} {100 * float(str(rate)):g} %": _inside(part) for (data, rate), part in rows.groupby(["data", "rate"])
    }
    every = [hit for part in hits.values() for hit in part]
    cells = {name: share_interval(part) for name, part in hits.items()}
    worst = min(cells.values(), key=lambda cell: cell.value)
    high = min(share_interval(part, level=1 - 0.05 / len(hits)).high for part in hits.values())
    told = ", ".join(f"{name} {sum(part)} of {len(part)}" for name, part in hits.items())
    low = min(cell.low for cell in cells.values())
    return Measured(Interval(worst.value, low, high), f"{told}; {sum(every)} of {len(every)} runs together")


def _inside(rows: pd.DataFrame) -> list[bool]:
    hits = []
    for r in rows.to_dict("records"):
        at, loss = np.asarray(r["steps_at"], dtype=float)[1:], np.asarray(r["loss"], dtype=float)[1:]
        best = float(at[loss.argmin()])
        hits.append(bool(r["stop_low"] <= max(best, 1.0) and min(best, at[-1]) <= max(r["stop_high"], 1.0)))
    return hits


def _excess(rows: pd.DataFrame, when: str) -> dict[str, Interval]:
    found = {}
    for data, rate in sorted(set(zip(rows["data"], rows["rate"]))):
        part = rows[(rows["data"] == data) & (rows["rate"] == rate)]
        values = [_at(r, "loss", when) / _at(r, "loss", "best") - 1 for r in part.to_dict("records")]
        if len(values) > 1:
            found[f"{data} {100 * rate:g} %"] = over_draws(values)
    if not found:
        raise NotMeasured("there are no runs of this kind")
    return found


def excess_loss(table: pd.DataFrame) -> Measured:
    """The squared error on new samples at the forecast stop over the lowest of the run, less one; highest of the cells."""
    return highest(_excess(_stops(table), "stop"))


def excess_without_stop(table: pd.DataFrame) -> Measured:
    """The same at the end of the run, where the forecast says that there is no need to stop; highest of the cells."""
    rows = _stops(table)
    return highest(_excess(rows[~rows["worth_it"].astype(bool)], "end"))
