"""Forecasts of public learning curves, by a prior learnt on other data sets, beside the fits that people use.

Run, with LCDB 1.0 from ``pip download --no-deps --no-binary :all: lcdb==0.1.0``: ``python benchmarks/curves_public.py
lcdb-0.1.0.tar.gz`` (``--quick``: one fold of five). Points at 64 to 256 samples of one split (means of its five trainings), the
truth at 1,024, 2,896 and 8,192 the mean over all splits; five folds over data sets: the prior is fitted, as
``tools/fit_curves.py`` does, and the quantile regression trained, on the other four. Sets whose OpenML id is a multiple of 3 take
no part. *off*: median of the absolute log(forecast / truth); *score*: interval score of the logarithm (Gneiting & Raftery
2007), in which width and coverage cannot be bought with each other. Our upper end is at most the one at 256 samples.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from _results import row, write
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import fit_curves as learn

from priorscope.curves._points import read_points
from priorscope.curves._posterior import posterior_of
from priorscope.curves._prior import Prior
from priorscope.curves._result import interval_at

Array = NDArray[np.float64]
FOLDS, Q = 5, (0.05, 0.5, 0.95)
ANCHORS = np.array(learn.ANCHORS, dtype=float)


def last_value(y: Array, to: float) -> float:
    return float(y[-1])


def power_law(y: Array, to: float) -> float:
    """A straight line through the logarithms."""
    slope, height = np.polyfit(np.log(ANCHORS), np.log(np.maximum(y, 1e-4)), 1)
    return float(np.exp(slope * np.log(to) + height))


def _best(basis: Callable[[Array, Array], Array], shapes: Array, y: Array, to: float) -> float:
    """Least squares over a grid of what is not linear, both coefficients at least zero; ``basis``: (shape, n, 2)."""
    X, ahead = basis(ANCHORS, shapes), basis(np.array([to]), shapes)[:, 0]
    gram, right = np.einsum("sni,snj->sij", X, X), X.transpose(0, 2, 1) @ y
    c = np.linalg.solve(gram + 1e-12 * np.eye(2), right[..., None])[..., 0]
    alone = np.maximum(right / np.einsum("sii->si", gram), 0.0)
    choices = [np.where((c >= 0).all(1)[:, None], c, 0.0), alone * [1, 0], alone * [0, 1]]
    losses = np.array([((np.einsum("sni,si->sn", X, one) - y) ** 2).sum(1) for one in choices])
    which, shape = np.unravel_index(int(losses.argmin()), losses.shape)
    return float(ahead[shape] @ choices[which][shape])


def with_floor(y: Array, to: float) -> float:
    """a n^-alpha + c."""

    def basis(n: Array, alpha: Array) -> Array:
        power = (n[None, :] / 64) ** -alpha[:, None]
        return np.stack([np.ones_like(power), power], -1)

    return _best(basis, np.geomspace(0.02, 3, 40), y, to)


def mmf4(y: Array, to: float) -> float:
    """(a b + c n^d) / (b + n^d), Morgan, Mercer & Flodin (1975): LCDB's best in Mohr et al. (2022)."""

    def basis(n: Array, shapes: Array) -> Array:
        w = shapes[:, :1] / (shapes[:, :1] + (n[None, :] / 64) ** shapes[:, 1:])
        return np.stack([w, 1 - w], -1)

    grid = np.array([(b, d) for b in np.geomspace(0.1, 1e3, 15) for d in np.geomspace(0.1, 4, 15)])
    return _best(basis, grid, y, to)


FITS: dict[str, Callable[[Array, float], float]] = {
    "last value": last_value,
    "power law": power_law,
    "a n^-alpha + c": with_floor,
    "MMF4": mmf4,
}


def points_of(rows: pd.DataFrame) -> Array:
    return rows[[f"e{j}" for j in range(len(ANCHORS))]].to_numpy(float)


def boosted(train: pd.DataFrame, test: pd.DataFrame) -> Array:
    """Quantile boosting on level, slope, curvature and learner, for each target by itself."""
    codes = {name: i for i, name in enumerate(sorted({*train["learner"], *test["learner"]}))}

    def features(rows: pd.DataFrame) -> tuple[Array, Array]:
        logs = np.log(np.maximum(points_of(rows), 1e-3))
        z = np.log(ANCHORS / ANCHORS[-1])
        line, bend = np.polyfit(z, logs.T, 1).T, np.polyfit(z, logs.T, 2)[0]
        learner = rows["learner"].map(codes).to_numpy(float)
        return np.column_stack([line, bend, logs[:, -1], learner, np.log(rows["tests"])]), line[:, 1]

    found = np.full((len(test), 3), np.nan)
    for to in learn.TARGETS:
        mine, other = (test["to"] == to).to_numpy(), train[train["to"] == to]
        X, base = features(other)
        X_test, base_test = features(test[mine])
        for j, q in enumerate(Q):
            model = HistGradientBoostingRegressor(
                loss="quantile",
                quantile=q,
                max_iter=80,
                max_depth=4,
                learning_rate=0.08,
                min_samples_leaf=15,
                random_state=0,
            )
            found[mine, j] = model.fit(X, np.log(other["truth"]) - base).predict(X_test) + base_test
    return np.exp(np.sort(found, axis=1))


def ours(rows: pd.DataFrame, prior: Prior) -> Array:
    """Ends and medians by the library's posterior, as ``extrapolate`` gives them."""
    found = []
    for one, y in zip(rows.itertuples(), points_of(rows), strict=True):
        points = read_points(ANCHORS, y, tests=one.tests, repeats=one.repeats, shared=prior.shared)
        kind = one.kind if isinstance(one.kind, str) else None
        belief = prior.belief(kind, points.last, float(points.error[-1]))
        end = interval_at(posterior_of(points, belief, prior), float(one.to), 0.9, True)
        found.append((end.low, end.value, end.high))
    return np.array(found)


def judged(name: str, kind: str, to: int, found: Array, truth: Array, sets: int) -> dict[str, Any]:
    low, middle, high = np.log(np.maximum(found, 1e-9)).T
    t = np.log(truth)
    line = {"forecast": name, "kind": kind, "to": to, "curves": len(t), "sets": sets}
    line |= {"off": float(np.median(np.abs(middle - t))), "bias": float(np.median(middle - t))}
    if (high > low).any():
        outside = np.maximum(low - t, 0) + np.maximum(t - high, 0)
        line |= {
            "covers": float(((low <= t) & (t <= high)).mean()),
            "factor": float(np.exp(np.median(high - low))),
            "score": float((high - low + 20 * outside).mean()),
        }
    return line


def _rows(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far forecasts are off beside each peer, per target; widths and scores where a peer has them."""
    found = []
    for to in learn.TARGETS:
        all_kinds = {one["forecast"]: one for one in lines if one["to"] == to and one["kind"] == "all"}
        mine = all_kinds.pop("ours")
        for name, peer in all_kinds.items():
            told = f"{mine['curves']} curves of {mine['sets']} data sets; ours covers {100 * mine['covers']:.0f} %, a factor "
            told += f"{mine['factor']:.2f} wide, interval score {mine['score']:.2f}"
            if "score" in peer:
                told += f"; the peer {100 * peer['covers']:.0f} %, {peer['factor']:.2f}, {peer['score']:.2f}"
            case = f"64 to 256 samples seen, error at {to:,}"
            found.append(row(case, mine["off"], peer["off"], name, unit="median absolute log error", note=told))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lcdb", type=Path, help="lcdb-0.1.0.tar.gz")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--bank", type=Path, default=learn.HOME / "claims" / "runs" / "curve-bank.jsonl")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    windows = learn.lcdb_windows(learn.read_lcdb(options.lcdb))
    bank = learn.bank_windows(options.bank) if options.bank.exists() else pd.DataFrame()
    order = sorted(windows["set"].unique(), key=lambda i: (i * 2654435761) % 2**32)
    fold = windows["set"].map({name: k % FOLDS for k, name in enumerate(order)})
    parts: dict[str, list[Array]] = {}
    tested = []
    for k in range(1 if options.quick else FOLDS):
        rest, test = windows[fold != k], windows[(fold == k) & windows["check"]]
        model = learn.fit(learn.Windows(pd.concat([rest, bank], ignore_index=True)), options.steps)
        prior = Prior.of(learn.told(model, 0.0, "", ""))
        tested.append(test)
        parts.setdefault("ours", []).append(ours(test, prior))
        parts.setdefault("quantile boosting", []).append(boosted(rest[rest["check"]], test))
        for name, forecast in FITS.items():
            one = [forecast(y, float(to)) for y, to in zip(points_of(test), test["to"], strict=True)]
            parts.setdefault(name, []).append(np.repeat(np.array(one)[:, None], 3, axis=1))
        print(f"fold {k + 1} of {FOLDS}: {len(test)} forecasts", flush=True)
    rows, lines = pd.concat(tested), []
    for to in learn.TARGETS:
        for name, each in parts.items():
            found = np.concatenate(each)
            for kind in ("all", *learn.KINDS) if name == "ours" else ("all",):
                mine = ((rows["to"] == to) & ((kind == "all") | (rows["kind"] == kind))).to_numpy()
                if not mine.any():
                    continue
                truth = rows["truth"].to_numpy(float)[mine]
                lines.append(judged(name, kind, to, found[mine], truth, rows["set"][mine].nunique()))
    print(pd.DataFrame(lines).to_string(index=False, float_format="%.3f"))
    if options.json:
        write(options.json, "curves_public", _rows(lines))


if __name__ == "__main__":
    main()
