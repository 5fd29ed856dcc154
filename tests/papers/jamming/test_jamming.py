"""The transition estimator, and claims on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.jamming._claims import living_loss, transition
from priorscope.papers.jamming._jamming import PAPER, n_weights

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def test_transition_of_a_step_and_of_one_sided_ladders():
    ratios = np.array([2.0, 2.4, 2.8, 3.2])
    assert transition(ratios, np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(2.6)
    assert np.isnan(transition(ratios, np.ones(4)))
    assert np.isnan(transition(ratios, np.zeros(4)))


def known(slope: float = 1.0, jump: float = 0.75) -> pd.DataFrame:
    """A table as the papers describe it: r* = 2.8 at every width for slope one."""
    rows = []
    for depth, width in ((2, 8), (2, 12), (2, 16), (3, 10)):
        n = n_weights(depth, width)
        star = 2.8 * (n / 300) ** (1 / slope - 1) if depth == 2 else 2.8
        for ratio in star * np.array([0.8, 0.95, 1.05, 1.2]):
            for seed in range(2):
                jam = jump + 0.1 * (ratio / star - 1) if ratio > star else 0.0
                loss = 4e-3 * (1 + seed + ratio) / 4 if jam else 0.0
                first = np.concatenate([np.full(int(jam * n), 1.0), np.zeros(n)])
                rows.append(
                    {"part": "run", "activation": "relu", "depth": depth, "width": width, "ratio": ratio, "seed": seed}
                    | {"n_weights": n, "overlap_ratio": jam, "n_unsatisfied": int(jam * n), "n_dead": 0, "loss": loss}
                    | {
                        "rank_first": int(jam * n),
                        "gap": 1.0,
                        "n_negative": n // 2,
                        "n_positive": n // 2,
                        "first": first,
                    }
                    | {"second": np.sqrt(loss) * np.linspace(-1, 1, 50), "cusps": 0.22 * n, "index": 0.1 * n}
                )
    table = pd.DataFrame(rows)
    smooth = table[(table.width == 12) & (table.loss > 0)].assign(part="smooth", activation="tanh")
    smooth = smooth.assign(index_at=[[30, 9, 1]] * len(smooth), lowest_at=[[-1e-2, -1e-3, -1e-6]] * len(smooth))
    return pd.concat([table, smooth.assign(n_negative=0.43 * 300, n_positive=160)], ignore_index=True)


def test_judges_know_the_papers_table_and_its_opposites():
    right = known()
    for id_ in ("J.1", "J.2", "J.3", "J.4", "J.5", "J.6", "J.9", "J.10"):
        assert CLAIMS[id_].judge(right).verdict == "holds", (id_, CLAIMS[id_].judge(right))
    assert CLAIMS["J.1"].judge(right).measured == pytest.approx(1, abs=1e-6)
    assert CLAIMS["J.1"].judge(known(slope=1.5)).verdict == "fails"
    assert CLAIMS["J.3"].judge(known(jump=0.2)).verdict == "fails"
    assert CLAIMS["J.4"].judge(right.assign(n_negative=right.n_weights // 4)).verdict == "fails"
    assert CLAIMS["J.5"].judge(right.assign(gap=1e-4)).verdict == "not shown"
    assert CLAIMS["J.5"].judge(right.assign(rank_first=10)).verdict == "fails"
    assert (
        CLAIMS["J.6"].judge(right.assign(second=[np.linspace(-1, 1, 50) * (1 + r) for r in right.ratio])).verdict
        != "holds"
    )
    assert CLAIMS["J.9"].judge(right.assign(cusps=0)).verdict == "fails"
    stays = [[30, 30, 30]] * len(right)
    assert CLAIMS["J.10"].judge(right.assign(index_at=stays)).verdict == "fails"
    assert CLAIMS["J.10"].judge(right.assign(lowest_at=[[-1e-3, -1e-2, -1e-1]] * len(right))).verdict == "fails"
    assert CLAIMS["J.4"].judge(right.assign(n_positive=right.n_negative)).verdict == "fails"  # tanh is not lopsided
    assert CLAIMS["J.4"].judge(right.assign(loss=right.loss * 100)).verdict == "not shown"  # tanh is far from jamming


def test_dead_patterns_do_not_hold_a_fitted_run_back():
    """Eight dead patterns, f = 1/3 or 0 for each label, among living ones that are all but fitted."""
    living = np.concatenate([np.linspace(1e-9, 1e-7, 80), np.full(12, -0.3)])
    dead = np.array([5 / 6, 1 / 6, 1 / 6, 1 / 6, 0.5 + 2e-8, 0.5 - 2e-8, 1 / 6, 1 / 6])
    slack = np.concatenate([living, dead])
    whole = float((np.maximum(slack, 0) ** 2).sum()) / 200
    assert living_loss(slack, 8, whole) == pytest.approx(0, abs=1e-12)
    assert living_loss(slack, 7, whole) == whole  # the count does not fit: nothing is taken away
    jammed = known()
    same = jammed[(jammed.part == "run") & (jammed.loss > 0)].assign(loss=whole)
    slacks = {"n_dead": 8, "slack": [slack] * len(same)}
    assert CLAIMS["J.9"].judge(same).verdict == "holds"
    assert CLAIMS["J.9"].judge(same.assign(**slacks)).note == "no jammed run"


def test_tiny_runs_judge_and_draw():
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    verdicts = {id_: claim.judge(table) for id_, claim in CLAIMS.items()}
    assert verdicts["J.8"].verdict == "holds"
    assert CLAIMS["J.8"].judge(table.assign(n_effective=table.n_parameters)).verdict == "fails"
    short = table.assign(n_effective=table.n_effective - 12, n_dead=12)
    assert CLAIMS["J.8"].judge(short).verdict == "holds with changes"
    assert verdicts["J.1"].verdict == "not shown"
    runs = table[table.part == "run"]
    assert (runs[runs.ratio == 0.5].loss < 1e-6).all()
    assert (runs[runs.ratio == 6.0].overlap_ratio > 0.25).all()
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()
