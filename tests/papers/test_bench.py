"""A bench for judges: on made-up tables for which a claim is true at its grid and seeds it holds, where it is false it does not.

Each maker gives a table of the size of the recorded runs, true or not by construction, with the scatter of the runs. A judge
must hold on four in five true tables and on at most one in twenty false ones: a check without that power says nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import Check, Claim, at_least, judge_claim, read_evidence, runs_folder
from priorscope.papers.early_stopping._alignment_runs import CONDITIONS
from priorscope.papers.jamming import _measures as jamming

Maker = Callable[[np.random.Generator, bool], pd.DataFrame]
DRAWS = 40


def residuals(rng, true):
    """O.14: five draws; outside lasts 100 times as long as inside, or as long. A factor of two between draws."""
    ratio = (100.0 if true else 1.0) * np.exp(0.7 * rng.normal(size=(5, len(CONDITIONS))))
    inside = 0.003 * np.exp(0.5 * rng.normal(size=ratio.shape))
    return pd.DataFrame(
        {"seed": range(5), "left_information": list(inside), "left_nuisance": list(np.minimum(inside * ratio, 1.0))}
    )


def completions(rng, at_truth):
    """R.22, R.23: of sixteen draws six whose truth is 1 to 8 % above the least norm; the flow ends at it, or at the least."""
    rows = []
    for rank in (1, 2):
        for seed in range(8):
            truth = float(np.exp(rng.uniform(np.log(0.013), np.log(0.08)))) if seed < 3 else 1e-4 * rng.random()
            for place, scale in enumerate((0.001, 0.01, 0.1)):
                left = 0.2 * 2.0**-place * np.exp(0.3 * rng.normal()) if at_truth else 0.9
                excess = truth * (1 - min(left * 2.0 ** (2 * place), 0.95)) if at_truth else truth * 0.03 * 3.0**place
                rows.append({"kind": "completion", "rank": rank, "seed": seed, "scale": scale, "truth_excess": truth,
                             "excess": excess + 1e-6})  # fmt: skip
    rows += [
        {"kind": "sensing", "seed": s, "scale": 0.001, "excess": 7e-4 * rng.random(), "error": 1e-3} for s in range(8)
    ]
    return pd.DataFrame(rows)


def transitions(rng, true):
    """J.14: N* of eight seeds at four P, scatter of 0.17 in log N*, with the source's power or that of random labels."""
    rows = [
        {"part": "star", "data": "mnist", "n_train": n, "n_star": n ** (0.75 if true else 1.0) * np.exp(0.17 * rng.normal()),
         "seed": s} for n in (500, 1000, 2000, 4000) for s in range(8)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def spectra(rng, gap):
    """J.5: eight Gram matrices of k = 60 vectors, in 77 dimensions (a gap) or in as many as there are."""
    rows = []
    for _ in range(8):
        k = 60
        x = rng.normal(size=(k, round(k / 0.77) if gap else k))
        eigenvalues = np.linalg.eigvalsh(x @ x.T)
        share = {"gap_over_bulk": eigenvalues[0] / np.median(eigenvalues), "rank_first": k, "n_unsatisfied": k}
        rows.append(
            {
                "part": "run",
                "activation": "relu",
                "depth": 2,
                "overlap_ratio": 0.77,
                "living_loss": 1e-4,
                "n_dead": 0,
                **share,
            }
        )
    return pd.DataFrame(rows)


def averaged(rng, true):
    """B.3: 48 draws with the closed forms' log risks at N = 1.5n and 8n, the mean of ten flat beside single ones or not."""
    table = read_evidence("random-features", runs_folder()).table.copy()
    for name in ("single", "mean"):
        theory = table[f"theory_{name if true else 'single'}"].to_numpy()
        table[f"theory_{name}"] = theory
        table[name] = theory * np.exp(0.05 * rng.normal(size=len(table)))
    return table


def architectures(rng, true, n=40):
    """D.15, D.16: architectures whose error goes with R alone, or with D alone; the runs have 13, which cannot tell."""
    rows = []
    for data in ("cifar10", "fashion-mnist"):
        for k in range(n):
            d, g = np.exp(0.35 * rng.normal(size=2))
            log_error = 0.5 * np.log(d / g) if true else -0.5 * np.log(d * g)
            error = [float(0.3 * np.exp(log_error + 0.05 * rng.normal())) for _ in range(2)]
            same = {
                "data": data,
                "model": f"net-{k}",
                "n_train": 4000,
                "augment": "none",
                "n_test": 2000,
                "responds": True,
            }
            ends = {"end": np.array([[d, g]]), "end_mean": np.array([d, g])}
            rows += [{**same, **ends, "seed": seed, "error": error[seed]} for seed in range(2)]
    return pd.DataFrame(rows)


BENCH: dict[str, tuple[str, Maker]] = {
    "O.14": ("jacobian-alignment", residuals),
    "R.22": ("matrix-completion", lambda rng, true: completions(rng, not true)),
    "R.23": ("matrix-completion", completions),
    "J.14": ("jamming-data", transitions),
    "J.5": ("jamming", spectra),
    "B.3": ("random-features", averaged),
    "D.15": ("diffeo-performance", architectures),
    "D.16": ("diffeo-performance", architectures),
}


def held(claim: Claim, maker: Maker, true: bool) -> int:
    """Of so many tables: on how many the claim holds (also with changes)."""
    verdicts = [judge_claim(claim, maker(np.random.default_rng([seed, true]), true)).verdict for seed in range(DRAWS)]
    assert "not run" not in verdicts
    return sum(verdict.startswith("holds") for verdict in verdicts)


SLOW = {"B.3", "J.14", "J.5", "D.15", "D.16", "R.22"}  # two seconds and more each


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in BENCH])
def test_a_judge_holds_on_true_tables_and_on_no_false_ones(name):
    paper, maker = BENCH[name]
    (claim,) = (claim for claim in papers.load(paper).claims if claim.id == name)
    assert held(claim, maker, True) >= 0.8 * DRAWS
    assert held(claim, maker, False) <= 0.05 * DRAWS


@pytest.mark.parametrize("name", ["D.15", "D.16"])
def test_so_few_architectures_as_were_run_cannot_tell(name):
    (claim,) = (claim for claim in papers.load("diffeo-performance").claims if claim.id == name)
    assert held(claim, lambda rng, true: architectures(rng, true, n=13), True) < 0.8 * DRAWS


def test_the_bench_finds_a_bound_that_no_perfect_run_meets():
    """The first bound of J.5: smallest over median eigenvalue at least 0.1, which random matrices with this gap do not have."""

    def bare(table):
        return jamming.median_interval(table.gap_over_bulk.to_numpy(float))

    claim = Claim("X.5", "an earlier judge", "there is a gap", checks=(Check("bare", bare, at_least(0.1)),))
    assert held(claim, spectra, True) == 0
