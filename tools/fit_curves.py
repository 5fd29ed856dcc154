"""Learn the prior of ``priorscope.curves`` from measured learning curves, and write its data file.

Run, with LCDB 1.0 (Mohr et al. 2022, MIT licence) from ``pip download --no-deps --no-binary :all: lcdb==0.1.0``::

    python tools/fit_curves.py lcdb-0.1.0.tar.gz

Data sets of LCDB whose OpenML id is a multiple of 3 are dropped while reading: they are kept for checks. A *window* is
what a forecaster would have seen: two to eight points of one curve on one set of test rows, and the error at a larger size. All
constants (weights of shapes, scatters and drifts by kind, how far the form is off) are fitted together by the logarithmic score
of the truth under the forecast, with kinds shrunk towards what all have in common (empirical Bayes; of the score: Gneiting &
Raftery 2007, JASA 102). Luck, shape and drift are added as normal variables here, and exactly in the library. Seeded, one thread:
the same file each time.
"""

from __future__ import annotations

import argparse
import datetime
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.curves import KINDS
from priorscope.curves._prior import ANY, shape_features
from priorscope.curves._shapes import ALPHAS, FLOORS

MEMBER = "lcdb-0.1.0/lcdb/database-accuracy.csv"
SIZES = [round(2 ** (4 + k / 2)) for k in range(25)]  # LCDB's anchors, 16 to 65,536
ANCHORS, TARGETS = (64, 91, 128, 181, 256), (1024, 2896, 8192)  # of the check on one split
MOST = 8  # points of a window
HOME = Path(__file__).parents[1]
KIND_OF = {
    **dict.fromkeys(
        ("SVC_linear", "LinearDiscriminantAnalysis", "LogisticRegression", "PassiveAggressiveClassifier", "Perceptron"),
        "linear",
    ),
    **dict.fromkeys(("RidgeClassifier", "SGDClassifier"), "linear"),
    **dict.fromkeys(("SVC_poly", "SVC_rbf", "SVC_sigmoid"), "kernel"),
    **dict.fromkeys(("ExtraTreesClassifier", "GradientBoostingClassifier", "RandomForestClassifier"), "tree"),
    **dict.fromkeys(("DecisionTreeClassifier", "ExtraTreeClassifier"), "tree"),
    "KNeighborsClassifier": "neighbours",
    "MLPClassifier": "network",
}  # the others (discriminants of squares, naive Bayes) are of no known kind


def read_lcdb(archive: Path) -> pd.DataFrame:
    """Test errors of all splits at LCDB's anchors, without the reserved sets."""
    columns = ["openmlid", "learner", "size_train", "size_test", "outer_seed", "inner_seed", "score_test"]
    with tarfile.open(archive) as whole:
        file = whole.extractfile(MEMBER)
        assert file is not None
        kept = [
            part[(part["openmlid"] % 3 != 0) & part["size_train"].isin(SIZES)]
            for part in pd.read_csv(file, usecols=columns, chunksize=400_000)
        ]
    found = pd.concat(kept)
    assert (found["openmlid"] % 3 != 0).all()
    names = found["learner"].str.split(".").str[-1]  # some are named with their module
    assert set(KIND_OF) <= set(names)
    return found.assign(error=1 - found["score_test"], learner=names).drop(columns="score_test")


def _row(who: dict[str, Any], sizes: Sequence[float], errors: Sequence[float], se: Sequence[float]) -> dict[str, Any]:
    fill = [0.0] * (MOST - len(sizes))
    columns = {"n": [*sizes, *fill], "e": [*errors, *fill], "s": [*se, *fill]}
    return {**who, "k": len(sizes), **{f"{c}{j}": v for c, values in columns.items() for j, v in enumerate(values)}}


def lcdb_windows(runs: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Windows of LCDB: those of the check (``check``: first split), and random ones of one training or of the mean of five.

    The truth is the mean over all splits. Windows with fewer than three mistakes at their last size are left out.
    """
    rng = np.random.default_rng(seed)
    curve, split = ["openmlid", "learner"], ["openmlid", "learner", "outer_seed"]
    whole = runs.groupby([*curve, "size_train"])["error"].agg(["mean", "std", "count"])
    wide = {name: whole[name].unstack("size_train").reindex(columns=SIZES) for name in whole}
    mean = runs.groupby([*split, "size_train"])["error"].agg(["mean", "count"])
    errors, counts = (mean[name].unstack("size_train").reindex(columns=SIZES) for name in ("mean", "count"))
    one = runs[runs["inner_seed"] == 0].drop_duplicates([*split, "size_train"])
    single = (
        one.set_index([*split, "size_train"])["error"]
        .unstack("size_train")
        .reindex(columns=SIZES)
        .reindex(errors.index)
    )
    tests = runs.groupby(split)["size_test"].first()
    rows = []

    def add(key: tuple[Any, ...], idx: list[int], to: int, alone: bool, check: bool) -> None:
        seen = (single if alone else errors).loc[key].to_numpy()[idx]
        truth, spread, n = (wide[name].loc[key[:2]].iloc[to] for name in ("mean", "std", "count"))
        if not np.isfinite(seen).all() or seen[-1] * tests[key] < 3 or not truth > 0 or n < 5:
            return
        who = {
            "set": key[0],
            "learner": key[1],
            "kind": KIND_OF.get(key[1]),
            "check": check and key[2] == 0,
            "tests": float(tests[key]),
            "repeats": 1.0 if alone else float(counts.loc[key].to_numpy()[idx].mean()),
            "to": SIZES[to],
            "truth": truth,
            "truth_se": float(spread) / n**0.5 if np.isfinite(spread) else 0.0,
            "share": True,
            "weight": 0.5 if check else 1.0,
        }
        rows.append(_row(who, [SIZES[j] for j in idx], list(seen), [0.0] * len(idx)))

    checked = [SIZES.index(n) for n in ANCHORS]
    for key in errors.index:
        for to in TARGETS:
            add(key, checked, SIZES.index(to), False, True)
        for _ in range(3):
            alone, step = bool(rng.random() < 0.5), 2 if rng.random() < 0.6 else 1
            last, k, ahead = (int(rng.integers(*ends)) for ends in ((5, len(SIZES) - 3), (2, 8), (2, 12)))
            idx = [j for j in (last - step * i for i in range(k - 1, -1, -1)) if j >= 2]
            if len(idx) >= 2 and last + ahead < len(SIZES):
                add(key, idx, last + ahead, alone, False)
    return pd.DataFrame(rows)


def bank_windows(file: Path, weight: float = 4.0) -> pd.DataFrame:
    """Windows of the committed runs of the bank: every last size but the largest, up to five points, each later size."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        point, found = run.get("point", run), run.get("metrics", run)
        if "kind" not in found:
            continue
        sizes = sorted(int(name[1:]) for name in found if name[0] == "e" and name[1:].isdigit())
        share = found["task"] == "classification"
        for last in range(1, len(sizes) - 1):
            idx = sizes[max(0, last - 4) : last + 1]
            for to in sizes[last + 1 :]:
                truth, e = found[f"e{to}"], found[f"e{idx[-1]}"]
                if truth * found["tests"] < 3 or (share and e * found["tests"] < 3):
                    continue
                who = {
                    "set": point["problem"],
                    "learner": point["predictor"],
                    "kind": found["kind"],
                    "check": False,
                    "tests": float(found["tests"]),
                    "repeats": 1.0,
                    "to": to,
                    "truth": truth,
                    "truth_se": 0.02 * truth,  # the scatter of one training; its test rows are those of the window
                    "share": share,
                    "weight": weight,
                    "same": True,
                }
                rows.append(_row(who, idx, [found[f"e{n}"] for n in idx], [found.get(f"se{n}", 0.0) for n in idx]))
    return pd.DataFrame(rows)


class Windows:
    """Windows as tensors."""

    def __init__(self, frame: pd.DataFrame) -> None:
        number = len(frame)
        n, e, s = (frame[[f"{c}{j}" for j in range(MOST)]].to_numpy(float) for c in "nes")
        share, m = frame["share"].to_numpy(bool), frame["tests"].to_numpy(float)[:, None]
        on, rows, ends = n > 0, np.arange(number), frame["k"].to_numpy() - 1
        last = n[rows, ends]
        e = np.where(share[:, None], (e * m + 0.5) / (m + 1), np.where(on, e, 1.0))
        own = np.where(share[:, None], (1 - e) / (e * m), (s / np.maximum(e, 1e-9)) ** 2)
        level = np.where(share, e[rows, ends], 0.5)
        odds = np.where(share, (np.log(level / (1 - np.minimum(level, 0.99))) + 1.5) / 1.5, 0.0)
        same = np.zeros(number) if "same" not in frame else frame["same"].fillna(False).to_numpy(float)
        tensors = {
            "on": on,
            "ratio": np.where(on, n / last[:, None], 1.0),
            "error": np.where(on, e, 1.0),
            "own": np.where(on, own, 1.0),
            "share": share,
            "repeats": frame["repeats"].to_numpy(),
            "ahead": np.log(frame["to"].to_numpy() / last),
            "truth": np.log(frame["truth"].to_numpy(float)),
            "noise": (frame["truth_se"] / frame["truth"]).to_numpy(float) ** 2,
            # test rows of a truth of other splits have luck of their own; the same rows share it
            "common": np.where(share, own[rows, ends], 0.0) * (1 - same),
            "about": np.stack([np.ones(number), *(np.clip(v, -2, 2) for v in (odds, np.log(last / 256) / 1.5))], 1),
            "weight": frame["weight"].to_numpy(),
        }
        self.tensors = {name: torch.tensor(values, dtype=torch.float32) for name, values in tensors.items()}
        self.kind = torch.tensor([KINDS.index(k) + 1 if isinstance(k, str) else 0 for k in frame["kind"]])

    def at(self, rows: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        return {name: values[rows] for name, values in self.tensors.items()}, self.kind[rows]


class Forecaster(nn.Module):
    """The library's posterior as a mixture of normals of the logarithm, with all constants as parameters.

    Row 0 of each is what all kinds have in common, the others what a kind adds to it.
    """

    BY_KIND = ("shape", "scatter", "drift", "settling", "discrepancy")

    def __init__(self) -> None:
        super().__init__()
        kinds = len(KINDS) + 1
        self.shape = nn.Parameter(torch.zeros(kinds, shape_features().shape[1], 3))
        self.scatter, self.drift = nn.Parameter(torch.zeros(kinds, 4)), nn.Parameter(torch.zeros(kinds, 4, 4))
        start = torch.zeros(kinds)
        start[0] = 1.0
        self.settling, self.discrepancy = nn.Parameter(-1.0 * start), nn.Parameter(-3.5 * start)
        self.shared, self.power = nn.Parameter(torch.tensor(1.4)), nn.Parameter(torch.tensor(0.0))
        self.scatters = nn.Parameter(torch.log(torch.tensor([0.02, 0.06, 0.15, 0.4])))
        self.drifts = nn.Parameter(torch.log(torch.tensor([0.02, 0.07, 0.2, 0.6])))
        self.means = nn.Parameter(torch.zeros(4))
        self.features = torch.tensor(shape_features(), dtype=torch.float32)
        self.floors, self.alphas = (torch.tensor(v, dtype=torch.float32) for v in (FLOORS, ALPHAS))

    def of(self, name: str, kind: Tensor) -> Tensor:
        values = getattr(self, name)
        own = (kind > 0).reshape(-1, *[1] * (values.dim() - 1))
        return values[0] + torch.where(own, values[kind], torch.zeros_like(values[0]))

    def _shape_logs(self, log_ratio: Tensor) -> Tensor:
        power = torch.exp(-log_ratio[:, None, :] * self.alphas[:, None])  # (window, alpha, n)
        values = self.floors[:, None, None] + (1 - self.floors)[:, None, None] * power[:, None]
        return torch.log(values).reshape(len(log_ratio), -1, log_ratio.shape[-1])

    def mixture(self, d: dict[str, Tensor], kind: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logarithmic weights, means and variances, (window, component)."""
        prior = torch.log_softmax(torch.einsum("sf,wfa,wa->ws", self.features, self.of("shape", kind), d["about"]), 1)
        scatter, drift = (
            torch.log_softmax(self.of(name, kind), -1) for name in ("scatter", "drift")
        )  # drift given scatter
        shared = torch.sigmoid(self.shared) * d["share"]
        settling = nn.functional.softplus(self.of("settling", kind))
        discrepancy = torch.exp(self.of("discrepancy", kind))
        back = -torch.log(d["ratio"])
        own = (1 - shared)[:, None] * d["own"] + 1e-6 + (discrepancy[:, None] * back) ** 2
        trained = torch.exp(2 * settling[:, None] * back) / d["repeats"][:, None]
        total = own[:, :, None] + trained[:, :, None] * torch.exp(2 * self.scatters)
        x = d["on"][:, :, None] / total
        chances = torch.where(d["on"][:, :, None] > 0, x / d["error"][:, :, None], torch.ones_like(x))
        logs = self._shape_logs(-back)
        rate = torch.log(torch.bmm(torch.exp(logs), chances * d["on"][:, :, None]))
        count = x.sum(1)
        scale = ((x + 1) * torch.log(chances) - torch.lgamma(x + 1)) * d["on"][:, :, None]
        evidence = torch.lgamma(count)[:, None] + torch.bmm(logs, x) - count[:, None] * rate + scale.sum(1)[:, None]
        weight = torch.log_softmax((evidence + prior[:, :, None] + scatter[:, None]).flatten(1), 1).reshape(rate.shape)
        mean = torch.digamma(count)[:, None] - rate + self._shape_logs(d["ahead"][:, None])
        far = d["ahead"][:, None] ** torch.exp(self.power)
        level = torch.polygamma(1, count) + (shared * d["common"])[:, None]
        means = mean[..., None] + (self.means * far)[:, None, None]
        variances = level[:, None, :, None] + ((torch.exp(self.drifts) * far) ** 2 + d["noise"][:, None])[:, None, None]
        return (
            (weight[..., None] + drift[:, None]).flatten(1),
            means.flatten(1),
            variances.expand_as(means).flatten(1),
        )

    def loss(self, d: dict[str, Tensor], kind: Tensor) -> Tensor:
        """Minus the logarithmic score of each window."""
        weight, mean, variance = self.mixture(d, kind)
        parts = weight - 0.5 * (d["truth"][:, None] - mean) ** 2 / variance - 0.5 * torch.log(2 * torch.pi * variance)
        return -torch.logsumexp(parts, 1)


def fit(windows: Windows, steps: int = 600, batch: int = 160, rate: float = 0.04, seed: int = 0) -> Forecaster:
    """Adam in one cycle; the constants are the mean over the last third of its steps (Polyak & Juditsky 1992)."""
    generator = torch.Generator().manual_seed(seed)
    model = Forecaster()
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, final_div_factor=10)
    kept = [torch.zeros_like(p) for p in model.parameters()]
    averaged = steps // 3
    for step in range(steps):
        d, kind = windows.at(torch.multinomial(windows.tensors["weight"], batch, generator=generator))
        told = torch.where(torch.rand(batch, generator=generator) < 0.2, 0, kind)  # so that no kind is a kind too
        shrunk = 0.02 * sum((getattr(model, name)[1:] ** 2).mean() for name in Forecaster.BY_KIND)
        loss = model.loss(d, told).clamp(max=8).mean() + shrunk + 0.005 * (model.shape[0] ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        cycle.step()
        if step >= steps - averaged:
            for sum_, p in zip(kept, model.parameters(), strict=True):
                sum_ += p.detach() / averaged
    with torch.no_grad():
        for p, value in zip(model.parameters(), kept, strict=True):
            p.copy_(value)
    return model


def likeness(model: Forecaster, frame: pd.DataFrame) -> float:
    """Correlation, between predictors of one data set, of where in their forecasts the truths lie (as normal scores)."""
    windows, scores = Windows(frame), []
    with torch.no_grad():
        for part in torch.arange(len(frame)).split(128):
            d, kind = windows.at(part)
            weight, mean, variance = model.mixture(d, kind)
            below = (weight.exp() * torch.special.ndtr((d["truth"][:, None] - mean) / variance.sqrt())).sum(1)
            scores.append(torch.special.ndtri(below.clamp(1e-3, 1 - 1e-3)))
    found = frame[["set", "to"]].assign(score=torch.cat(scores).numpy())
    found["score"] -= found.groupby("to")["score"].transform("mean")
    groups = found.groupby(["set", "to"])["score"]
    pairs = groups.sum() ** 2 - groups.apply(lambda v: (v**2).sum())
    size = groups.size()
    return float(np.clip(pairs.sum() / (size * (size - 1)).sum() / found["score"].var(), 0.0, 1.0))


def told(model: Forecaster, alike: float, source: str, command: str) -> dict[str, Any]:
    """The prior as the data file has it."""
    kinds = {}
    with torch.no_grad():
        for number, name in enumerate((ANY, *KINDS)):
            kind = torch.tensor([number])
            kinds[name] = {
                "shape": model.of("shape", kind)[0].double().numpy().round(4).tolist(),
                "scatter": torch.softmax(model.of("scatter", kind)[0], 0).double().numpy().round(5).tolist(),
                "drift": torch.softmax(model.of("drift", kind)[0], 1).double().numpy().round(5).tolist(),
                "settling": round(float(nn.functional.softplus(model.of("settling", kind)[0])), 4),
                "discrepancy": round(float(torch.exp(model.of("discrepancy", kind)[0])), 5),
            }
        rounded = {
            name: torch.exp(getattr(model, name)).double().numpy().round(5).tolist() for name in ("scatters", "drifts")
        }
        return {
            "provenance": {"date": datetime.date.today().isoformat(), "source": source, "command": command},
            **rounded,
            "means": model.means.double().numpy().round(5).tolist(),
            "power": round(float(torch.exp(model.power)), 4),
            "shared": round(float(torch.sigmoid(model.shared)), 4),
            "alike": round(alike, 3),
            "kinds": dict(sorted(kinds.items())),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lcdb", type=Path, help="lcdb-0.1.0.tar.gz")
    parser.add_argument("--bank", type=Path, default=HOME / "claims" / "runs" / "curve-bank.jsonl")
    parser.add_argument("--out", type=Path, default=HOME / "src" / "priorscope" / "curves" / "prior.json")
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    torch.set_num_threads(1)
    frame = lcdb_windows(read_lcdb(options.lcdb))
    sets, source = frame["set"].nunique(), "windows of LCDB 1.0 (Mohr et al. 2022; MIT licence)"
    words = f"{len(frame):,} {source}: {sets} data sets, those whose OpenML id is a multiple of 3 left out"
    alike = frame[frame["check"]]
    if options.bank.exists():
        own = bank_windows(options.bank)
        words += f"; {len(own):,} of the paper curve-bank: {own['set'].nunique()} problems"
        frame = pd.concat([frame, own], ignore_index=True)
    model = fit(Windows(frame), options.steps)
    found = told(
        model, likeness(model, alike), words, f"python tools/fit_curves.py {options.lcdb.name} --steps {options.steps}"
    )
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(words)


if __name__ == "__main__":
    main()
