"""What a table of trained networks says of their stabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np
import pandas as pd

from priorscope.lab import Measured, NotMeasured
from priorscope.papers._over_draws import highest, lowest
from priorscope.statistics import Interval, seed_interval

REAL = ("mnist", "fashion-mnist", "cifar10")


def responding(table: pd.DataFrame) -> pd.DataFrame:
    """The networks whose outputs answer to their inputs; the others have no R."""
    return table[table.responds.astype(bool)]


def counted(measure: Callable[[pd.DataFrame], Interval | Measured]) -> Callable[[pd.DataFrame], Measured]:
    """The measure over responding networks, with the number of those left out in its note."""

    @wraps(measure)
    def measured(table: pd.DataFrame) -> Measured:
        kept = responding(table)
        found = measure(kept)
        found = found if isinstance(found, Measured) else Measured(found)
        left = len(table) - len(kept)
        if not left:
            return found
        said = f"left out: {left} of {len(table)} networks, which end constant"
        return Measured(found.interval, f"{found.note}; {said}" if found.note else said)

    return measured


def outputs(table: pd.DataFrame) -> pd.DataFrame:
    """One row per network: D, G and R of its output at the start (D0, G0, R0) and after training, and the other measurements.

    Layers that do not change under moves or noise, all their units being off, are left out of what is said of depth.
    """
    rows = []
    for _, row in responding(table).iterrows():
        start, end = np.asarray(row.start, float), np.asarray(row.end, float)
        found = {name: row[name] for name in ("data", "model", "n_train", "seed", "error", "noise_slope")}
        found |= {"D0": start[-1, 0], "G0": start[-1, 1], "R0": start[-1, 0] / start[-1, 1]}
        found |= {"D": end[-1, 0], "G": end[-1, 1], "R": end[-1, 0] / end[-1, 1]}
        reading = np.asarray(row.end_gaussian, float)
        found["reading"] = reading[0] / reading[1] / found["R"]
        depth, logs = log_R(end)
        found["slope"] = float(np.polyfit(depth, logs, 1)[0]) if len(depth) > 1 else np.nan
        rows.append(found)
    return pd.DataFrame(rows)


def log_R(layers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Relative depth and log R of the layers (L, 2) that respond."""
    live = np.isfinite(layers).all(1) & (layers > 0).all(1)
    return np.linspace(0, 1, len(layers))[live], np.log(layers[live, 0] / layers[live, 1])


def geometric(values: Sequence[float] | np.ndarray) -> Interval:
    """The geometric mean over seeds with Student's interval of the logarithm."""
    logs = np.log(np.asarray(values, float))
    if len(logs) < 2:
        raise NotMeasured("one network has no interval")
    found = seed_interval(logs)
    return Interval(*np.exp([found.value, found.low, found.high]).tolist())


def by_cell(
    table: pd.DataFrame,
    column: Callable[[pd.DataFrame], np.ndarray],
    models: Sequence[str] = (),
    data: Sequence[str] = REAL,
) -> dict[str, Interval]:
    """The geometric mean of a column for every data set and model at the largest number of training samples."""
    frame = outputs(table)
    frame = frame[frame.n_train == frame.n_train.max()]
    if models:
        frame = frame[frame.model.isin(models)]
    frame = frame[frame.data.isin(data)]
    if not len(frame):
        raise NotMeasured("there are no runs of this kind")
    return {f"{m} on {d}": geometric(column(part)) for (m, d), part in frame.groupby(["model", "data"], sort=False)}


RESIDUAL = ("residual-stride-bn", "resnet18")


def distance_from_one(frame: pd.DataFrame, column: str) -> Measured:
    """The factor by which a column differs from one, in the data set and network where it does so most (geometric means)."""
    cells = {
        f"{m} on {d}": geometric(part[column].to_numpy())
        for (m, d), part in frame.groupby(["model", "data"], sort=False)
    }
    folded = {
        name: Interval(max(i.value, 1 / i.value), max(1.0, i.low, 1 / i.high), max(i.high, 1 / i.low))
        for name, i in cells.items()
    }
    return highest(folded, "itself: " + ", ".join(f"{name} {i.value:.2f}" for name, i in cells.items()))


@counted
def residual_fall(table: pd.DataFrame) -> Measured:
    """R after over R before training, in the data set where it falls least."""
    return highest(by_cell(table, lambda f: (f.R / f.R0).to_numpy(), RESIDUAL))


@counted
def residual_end(table: pd.DataFrame) -> Measured:
    """R after training, in the data set where it is highest."""
    return highest(by_cell(table, lambda f: f.R.to_numpy(), RESIDUAL))


@counted
def dense_growth(table: pd.DataFrame) -> Measured:
    """R after over R before training of the dense network, in the data set where it grows least."""
    return lowest(by_cell(table, lambda f: (f.R / f.R0).to_numpy(), ("dense-4",)))


@counted
def dense_end(table: pd.DataFrame) -> Measured:
    """R of the trained dense network, where it is lowest."""
    return lowest(by_cell(table, lambda f: f.R.to_numpy(), ("dense-4",)))


@counted
def lenet_digits(table: pd.DataFrame) -> Measured:
    """R of the trained LeNet on the two grey data sets, where it is lower."""
    return lowest(by_cell(table, lambda f: f.R.to_numpy(), ("lenet",), REAL[:2]))


@counted
def lenet_cifar(table: pd.DataFrame) -> Measured:
    """R of the trained LeNet on CIFAR-10."""
    return lowest(by_cell(table, lambda f: f.R.to_numpy(), ("lenet",), ("cifar10",)))


def _exponents(table: pd.DataFrame, column: str, models: Sequence[str], least: int = 1000) -> dict[str, np.ndarray]:
    """Exponents in P of a column, one per seed, by data set and model, over sizes from ``least`` on."""
    frame = outputs(table)
    frame = frame[frame.model.isin(models) & frame.data.isin(REAL) & (frame.n_train >= least)]
    found = {}
    for (m, d), part in frame.groupby(["model", "data"], sort=False):
        wide = part.pivot_table(index="seed", columns="n_train", values=column).dropna()
        if wide.shape[1] > 1 and len(wide) > 1:
            found[f"{m} on {d}"] = np.polyfit(np.log(wide.columns.to_numpy(float)), np.log(wide.to_numpy(float)).T, 1)[
                0
            ]
    if not found:
        raise NotMeasured("an exponent in P takes two numbers of training samples and two seeds")
    return found


@counted
def falling_with_samples(table: pd.DataFrame) -> Measured:
    """Exponent of R in P of the residual network, in the data set where it is highest."""
    return highest({name: seed_interval(v) for name, v in _exponents(table, "R", RESIDUAL).items()})


@counted
def exponent_in_samples(table: pd.DataFrame) -> Interval:
    """Exponent of R in P of the residual network, mean over data sets."""
    return seed_interval(np.mean(list(_exponents(table, "R", RESIDUAL).values()), axis=0))


@counted
def noise_growth(table: pd.DataFrame) -> Measured:
    """Exponent of G in P of the residual network, in the data set where it is lowest."""
    return lowest({name: seed_interval(v) for name, v in _exponents(table, "G", RESIDUAL).items()})


@counted
def depth_slope(table: pd.DataFrame) -> Measured:
    """Slope of log R in relative depth after training of the residual network, in the data set where it is highest."""
    frame = outputs(table)
    frame = frame[(frame.n_train == frame.n_train.max()) & frame.model.isin(RESIDUAL) & frame.data.isin(REAL)]
    cells = {str(d): seed_interval(part.slope) for d, part in frame.groupby("data", sort=False)}
    if not cells:
        raise NotMeasured("there are no residual networks")
    return highest(cells)


@counted
def reading_ratio(table: pd.DataFrame) -> Measured:
    """R with Gaussian over R with bilinear reading, where it differs most from one."""
    cells = by_cell(table, lambda f: f.reading.to_numpy())
    worst = max(cells, key=lambda name: abs(np.log(cells[name].value)))
    return Measured(cells[worst], f"{worst}; " + ", ".join(f"{name} {i.value:.2f}" for name, i in cells.items()))
