"""The transition estimator, and claims on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.data import random_patterns
from priorscope.inference import QuadraticHinge
from priorscope.lab import judge_claim
from priorscope.models import plain_network
from priorscope.papers.jamming._jamming import PAPER, _reduced, n_weights
from priorscope.papers.jamming._measures import transition
from priorscope.probes import landscape

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def verdict(id_: str, table: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], table).verdict


def test_transition_of_a_step_and_of_one_sided_ladders():
    ratios = np.array([2.0, 2.4, 2.8, 3.2])
    step = np.array([1.0, 1.0, 0.0, 0.0])
    late = np.array([1.0, 1.0, 1.0, 0.0])
    assert transition(ratios, np.stack([step, late], 1)) == pytest.approx([2.6, 3.0])  # seed by seed
    assert len(transition(ratios, np.ones((4, 2)))) == 0
    assert len(transition(ratios, np.zeros((4, 2)))) == 0


def known(slope: float = 1.0, jump: float = 0.75) -> pd.DataFrame:
    """A table as the papers describe it: r* = 2.8 at every width for slope one; seeds differ a little."""
    rows = []
    for depth, width in ((2, 8), (2, 12), (2, 16), (3, 10)):
        n = n_weights(depth, width)
        star = 2.8 * (n / 300) ** (1 / slope - 1) if depth == 2 else 2.8
        for ratio in star * np.array([0.8, 0.95, 1.05, 1.2]):
            for seed in range(2):
                jam = jump + 0.1 * (ratio / star - 1) if ratio > star else 0.0
                loss = 4e-4 * (1 + seed + ratio) / 4 if jam else 0.0
                rows.append(
                    {"part": "run", "activation": "relu", "depth": depth, "width": width, "ratio": ratio, "seed": seed}
                    | {"n_weights": n, "overlap_ratio": jam, "n_unsatisfied": int(jam * n), "n_dead": 0}
                    | {"loss": loss, "living_loss": loss, "rank_first": int(jam * n), "gap_over_bulk": 1.0}
                    | {"n_negative": n // 2, "n_positive": n // 2, "edge": loss**0.5 * (1 + 0.01 * seed)}
                    | {"cusps": (0.22 + 0.001 * seed) * n, "index": (0.1 + 0.001 * seed) * n}
                    | {"theta": 0.29 + 0.02 * seed, "gamma": 0.19 + 0.02 * seed}
                )
    table = pd.DataFrame(rows)
    smooth = table[(table.width == 12) & (table.loss > 0)].assign(part="smooth", activation="tanh")
    noise = np.arange(len(smooth))
    smooth = smooth.assign(index_at=[[30 + k, 9, 1] for k in noise])
    smooth = smooth.assign(lowest_at=[[-1e-2 - 1e-4 * k, -1e-3, -1e-6] for k in noise])
    return pd.concat([table, smooth.assign(n_negative=0.43 * 300, n_positive=160)], ignore_index=True)


def test_claims_know_the_papers_table_and_its_opposites(as_recorded):
    right = known()
    as_recorded(PAPER, right, made_up=True)
    for id_ in ("J.1", "J.2", "J.3", "J.6", "J.9", "J.10", "J.5"):
        assert verdict(id_, right) == "holds", (id_, judge_claim(CLAIMS[id_], right))
    assert verdict("J.4", right) == "holds with changes"
    assert judge_claim(CLAIMS["J.1"], right).measured == pytest.approx(1, abs=1e-6)
    assert verdict("J.1", known(slope=1.5)) == "fails"
    assert verdict("J.3", known(jump=0.2)) == "fails"
    assert (
        verdict("J.3", right.assign(living_loss=np.where(right.loss > 0, right.loss, 1e-3), n_unsatisfied=9)) == "fails"
    )
    assert verdict("J.4", right.assign(n_negative=right.n_weights // 4)) == "fails"
    assert verdict("J.5", right.assign(gap_over_bulk=1e-9)) == "fails"
    assert verdict("J.5", right.assign(rank_first=10)) == "fails"
    assert verdict("J.6", right.assign(edge=1 + 0.1 * right.ratio)) == "fails"
    assert verdict("J.9", right.assign(cusps=0)) == "fails"
    stays = right.assign(index_at=[[30 + k % 3, 30, 30] for k in range(len(right))])
    assert verdict("J.10", stays) == "fails"
    deeper = right.assign(lowest_at=[[-1e-3, -1e-2, -1e-1 - 1e-3 * k] for k in range(len(right))])
    assert verdict("J.10", deeper) == "fails"
    assert verdict("J.4", right.assign(n_positive=right.n_negative)) == "fails"  # tanh is not lopsided
    assert verdict("J.4", right.assign(loss=right.loss * 100)) == "not shown"  # tanh is far from jamming


def test_exponents_can_fail_at_any_size():
    right = known()
    assert verdict("J.7", right) == "holds"
    assert "N = 136 to 528" in judge_claim(CLAIMS["J.7"], right).note
    assert verdict("J.7", right.assign(theta=right.theta + 0.2)) == "fails"
    assert verdict("J.7", right.assign(gamma=right.gamma - 0.2)) == "fails"
    assert verdict("J.7", right.assign(theta=right.theta + 0.05)) == "holds with changes"  # near, and 0.3 is excluded
    assert verdict("J.7", right.assign(theta=np.nan)) == "not shown"


def test_the_gap_of_the_first_hessian_can_fail_and_is_looked_at_near_the_transition():
    right = known()
    gapless = right.assign(gap_over_bulk=np.where(right.loss <= 1e-3, 1e-6, 1.0))
    assert verdict("J.5", gapless) == "fails"
    far = right.assign(gap_over_bulk=np.where(right.loss > 1e-3, 1e-6, 1.0))
    assert verdict("J.5", far) == "holds"


def test_dead_patterns_do_not_hold_a_fitted_run_back():
    jammed = known()
    same = jammed[(jammed.part == "run") & (jammed.loss > 0)]
    assert verdict("J.9", same) == "holds"
    found = judge_claim(CLAIMS["J.9"], same.assign(living_loss=1e-9))
    assert (found.verdict, found.note) == ("not shown", "no run with ReLU is jammed")


def test_reductions_of_a_landscape_by_hand():
    data, net = random_patterns(300, 3), plain_network(3, 4, 2, gain=0.5)
    found = landscape(net, data, QuadraticHinge(0.5))
    reduced = _reduced(found)
    living = found.slack[~found.dead]
    assert reduced["living_loss"] == pytest.approx((living[living > 0] ** 2).sum() / 600)
    assert reduced["living_loss"] <= found.loss
    nonzero = np.sort(found.first)[-found.rank_first :]
    assert reduced["gap_over_bulk"] == pytest.approx(nonzero[0] / np.median(nonzero))
    assert found.overlap_exponent is not None
    assert reduced["theta"] == found.overlap_exponent.value


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    verdicts = {id_: verdict(id_, table) for id_ in CLAIMS}
    assert verdicts["J.8"] == "holds with changes"
    assert verdict("J.8", table.assign(n_effective=table.n_parameters)) == "fails"
    assert verdicts["J.1"] == "not shown"
    runs = table[table.part == "run"]
    assert (runs[runs.ratio == 0.5].loss < 1e-6).all()
    assert (runs[runs.ratio == 6.0].overlap_ratio > 0.25).all()
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()


def test_a_ladder_has_both_sides_where_half_of_the_seeds_fit_and_fewer_do_not():
    ratios = np.array([2.0, 3.0])
    half, most = np.array([1.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    assert transition(ratios, np.stack([half, np.zeros(2)])) == pytest.approx([2.5, 2.0])
    assert transition(ratios, np.stack([most, 0 * most])) == pytest.approx([2.5] * 3 + [2.0] * 2)
    assert len(transition(ratios, np.stack([1 - most, 0 * most]))) == 0  # two of five fit at the first
    assert len(transition(ratios, np.stack([np.ones(2), half]))) == 0  # half still fit at the last
    assert len(transition(ratios, np.stack([np.ones(5), 1 - most]))) == 5
    assert len(transition(ratios[:1], np.ones((1, 2)))) == 0
