"""Forecast learning curves against kernel regression actually done at 2, 4 and 8 times the pilot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from priorscope import data, models
from priorscope.lab import Claim, Paper, Verdict
from priorscope.probes import forecast
from priorscope.statistics import bootstrap_interval

__all__ = ["PAPER"]

SOURCE = "priorscope, probe forecast; theory after Simon et al. (2023) and Bordelon et al. (2020)"
MULTIPLES = (2, 4, 8)
SIZE = 8  # side to which images are averaged: the pooled kernels at 8 times the pilot decide the cost
REAL = {"tiny": ("digits",), "small": ("digits", "mnist", "fashion_mnist", "cifar10")}
ARCHITECTURES = {"tiny": ("fcn", "vec"), "small": ("fcn", "vec", "lap", "gap")}
PILOTS = {"tiny": (60,), "small": (150,), "paper": (150, 300, 1500)}
SYNTHETIC = ("1.3-1.6", "1.5-2.0", "1.8-1.5")  # exponents of the eigenvalues and of the target's power
N_MODES = 20_000


def grid(scale: str) -> list[dict[str, Any]]:
    """Real tasks by architecture, synthetic power laws by exponents; several draws of the pilot each."""
    size = "tiny" if scale == "tiny" else "small"
    seeds = {"tiny": 1, "small": 3, "paper": 5}[scale]
    points = []
    for seed in range(seeds):
        for pilot in PILOTS[scale]:
            points += [
                {"kind": "real", "task": task, "arch": arch, "pilot": pilot, "seed": seed}
                for task in REAL[size]
                for arch in ARCHITECTURES[size]
            ]
            points += [
                {"kind": "synthetic", "task": task, "arch": "power law", "pilot": pilot, "seed": seed}
                for task in (SYNTHETIC[:1] if scale == "tiny" else SYNTHETIC)
            ]
    return points


def _real(point: dict[str, Any], n: int) -> tuple[np.ndarray, np.ndarray]:
    whole = getattr(data, point["task"])(classes="parity").standardised()
    x, y = torch.cat([whole.inputs, whole.test.inputs]), torch.cat([whole.targets, whole.test.targets])
    if x.shape[-1] > SIZE:
        x = torch.nn.functional.adaptive_avg_pool2d(x, SIZE)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(point["seed"]))[:n]
    arch = getattr(models, point["arch"])(3)
    return arch.kernel(x[order], kinds=("ntk",)).ntk.double().numpy(), y[order].double().numpy()


def _synthetic(point: dict[str, Any], n: int) -> tuple[np.ndarray, np.ndarray]:
    alpha, beta = (float(v) for v in point["task"].split("-"))
    rng = np.random.default_rng(point["seed"])
    rank = np.arange(1, N_MODES + 1, dtype=np.float32)
    features = rng.standard_normal((n, N_MODES), dtype=np.float32)
    weights = rng.choice(np.array([-1, 1], dtype=np.float32), N_MODES) * rank ** (-beta / 2)
    gram = (features * rank**-alpha) @ features.T
    return gram.astype(float), (features @ weights).astype(float)[:, None]


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Forecast from the first samples; the truth from the others, tested on samples that neither has seen."""
    pilot = point["pilot"]
    sizes = [m * pilot for m in MULTIPLES]
    n_test = 500
    gram, y = (_real if point["kind"] == "real" else _synthetic)(point, sizes[-1] + n_test)
    ready = slice(0, pilot)
    split = data.Split(torch.arange(float(pilot))[:, None], torch.as_tensor(y[ready]))
    result = forecast(data.Dataset(split, split, task="regression"), gram[ready, ready], sizes, pilot=None)
    out: dict[str, Any] = {"disagree": any("disagree" in w for w in result.warnings)}
    test = slice(len(gram) - n_test, None)
    for i, n in enumerate(sizes):
        K = gram[:n, :n] + 1e-10 * np.trace(gram) / len(gram) * np.eye(n)
        truth = float(((gram[test, :n] @ np.linalg.solve(K, y[:n]) - y[test]) ** 2).mean())
        m = MULTIPLES[i]
        out |= {f"truth_{m}": truth, f"forecast_{m}": float(result.error[i])}
        out |= {f"relative_{m}": abs(float(result.error[i]) / truth - 1)}
        out |= {f"covered_{m}": float(result.low[i] <= truth <= result.high[i])}
    return out


def _long(table: pd.DataFrame, kind: str | None = None) -> pd.DataFrame:
    rows = table if kind is None else table[table["kind"] == kind]
    parts = [
        pd.DataFrame(
            {
                "task": rows["task"] + " " + rows["arch"],
                "multiple": m,
                "relative": rows[f"relative_{m}"],
                "covered": rows[f"covered_{m}"],
                "truth": rows[f"truth_{m}"],
                "forecast": rows[f"forecast_{m}"],
            }
        )
        for m in MULTIPLES
    ]
    return pd.concat(parts, ignore_index=True)


def _accuracy(kind: str, limit: float) -> Any:
    def judge(table: pd.DataFrame) -> Verdict:
        values = _long(table, kind)["relative"].to_numpy(dtype=float)
        found = bootstrap_interval(values, lambda v: float(np.median(v)))
        verdict = "holds" if found.value <= limit else "fails"
        return Verdict(verdict, found.value, found.low, found.high, f"median over {len(values)} forecasts")

    return judge


def _coverage(table: pd.DataFrame) -> Verdict:
    values = _long(table)["covered"].to_numpy(dtype=float)
    found = bootstrap_interval(values)
    return Verdict("holds" if found.value >= 0.8 else "fails", found.value, found.low, found.high)


def chart(table: pd.DataFrame) -> Any:
    """Forecast against measured error; the diagonal is a perfect forecast."""
    import altair as alt

    long = _long(table)
    ends = pd.DataFrame({"truth": [long["truth"].min(), long["truth"].max()]})
    ends["forecast"] = ends["truth"]
    x = alt.X("truth:Q", title="measured test error").scale(type="log")
    y = alt.Y("forecast:Q", title="forecast from the pilot").scale(type="log")
    points = (
        alt.Chart(long)
        .mark_point(filled=True)
        .encode(x=x, y=y, color="multiple:N", tooltip=["task", "multiple", "truth", "forecast"])
    )
    return points + alt.Chart(ends).mark_line(strokeDash=[4, 4], color="gray").encode(x=x, y=y)


PAPER = Paper(
    name="forecast",
    title="Learning curves forecast from a pilot",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            id="F.1",
            source=SOURCE,
            says="on synthetic power-law targets the median relative error of the forecast at 2, 4 and 8 times the pilot is at "
            "most 5 %",
            expected="<= 0.05",
            tolerance=None,
            judge=_accuracy("synthetic", 0.05),
        ),
        Claim(
            id="F.2",
            source=SOURCE,
            says="on real image tasks (FCN, VEC, LAP, GAP) it is at most 10 %",
            expected="<= 0.1",
            tolerance=None,
            judge=_accuracy("real", 0.1),
        ),
        Claim(
            id="F.3",
            source=SOURCE,
            says="90 % intervals of the forecasts cover the measured error in at least 80 % of cases",
            expected=">= 0.8",
            tolerance=None,
            judge=_coverage,
        ),
    ),
    chart=chart,
)
