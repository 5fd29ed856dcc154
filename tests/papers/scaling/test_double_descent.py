"""A table with a known peak, its opposite, and early stopping recorded along one run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import judge_claim
from priorscope.papers.scaling._double_descent import PAPER
from priorscope.papers.scaling._double_descent_measures import star_of
from priorscope.papers.scaling._ensemble_statistics import (
    BLOCKS,
    boundary_distances,
    ensemble_errors,
    with_and_without,
)
from priorscope.probes import boundary_shift

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def verdict(id_: str, table: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], table).verdict


def known(peak: float = 0.04, kept: float = 0.0) -> pd.DataFrame:
    """Errors with a peak at N* = 150 that early stopping lowers to ``kept`` of it."""
    rows = []
    for n in (20, 40, 80, 120, 150, 180, 240, 500, 5000, 15000):
        for seed in range(4):
            bump = np.exp(-((np.log(n / 150) / 0.4) ** 2))
            base = 0.1 + 0.02 * (n < 100) - 0.01 * np.log10(n / 150) * (n > 150) + 0.001 * (seed % 2)
            rows.append(
                {"part": "width", "n_weights": n, "n_train": 1000, "seed": seed, "overlap_ratio": 0.5 * (n < 150)}
                | {"final": base + 0.03 + peak * bump, "best": base + kept * peak * bump - 1e-3, "norm_test": 2 + bump}
            )
    return pd.DataFrame(rows)


def test_the_transition_is_between_the_widths():
    rows = known()
    assert 120 < star_of(rows[rows.part == "width"]) < 150


def test_claims_know_the_papers_table_and_its_opposites():
    table = known()
    assert verdict("J.12", table) == "holds"
    assert verdict("J.12", known(peak=-0.04)) == "fails"
    assert verdict("J.12", known(kept=1.0)) == "fails"  # early stopping leaves the peak
    assert verdict("J.12", table.assign(norm_test=table.n_weights)) == "fails"  # the widest network is the loudest
    assert verdict("J.12", table[table.n_weights < 5000]) == "not shown"
    assert verdict("J.12", table[table.seed == 0]) == "not shown"


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert {verdict(id_, table) for id_ in CLAIMS} == {"not shown"}
    widths = table[table.part == "width"]
    assert (widths[widths.width == 16].loss == 0).all()  # training stopped by itself
    assert (widths[widths.width == 16].used < 800).all()
    assert (widths[widths.width == 1].loss > 0).all()
    assert (widths.best <= widths.final).all()
    assert all(len(t) == len(e) for t, e in zip(widths.times, widths.errors))
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()


def test_ensembles_are_disjoint_groups_and_blocks_are_left_out_one_by_one():
    margins = np.array([[1.0, -3.0, 2.0], [-2.0, 1.0, 0.5], [1.0, 1.0, -9.0], [3.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    singles, all_five = ensemble_errors(margins, [1, 5])
    assert singles == pytest.approx((margins <= 0).mean())
    assert all_five == pytest.approx((margins.mean(0) <= 0).mean())
    rng = np.random.default_rng(0)
    orders = [rng.permutation(5) for _ in range(20)]
    pairs = [np.stack([margins[o[:2]].mean(0), margins[o[2:4]].mean(0)]) for o in orders]
    assert ensemble_errors(margins, [2]) == [pytest.approx(np.mean([(p <= 0).mean() for p in pairs]))]
    rows = with_and_without(30, lambda keep: [float(keep.sum()), float(len(keep))])
    assert rows[0].tolist() == [435.0, 30.0]
    assert len(rows) == 1 + BLOCKS
    assert (rows[0] * BLOCKS - (rows[0] - rows[1:]).sum(0) * BLOCKS).tolist() == [0.0, 0.0]  # blocks make up the whole


def test_distances_of_ensembles_are_those_of_their_mean_outputs_and_slopes():
    rng = np.random.default_rng(1)
    margins, slopes, reference = rng.normal(size=(5, 6)), rng.normal(size=(5, 6, 3)), rng.normal(size=6)
    slopes[:2, 0] = 0.0  # the first pair does not change with the first input
    margins[:2, 0], reference[0] = 1.0, -1.0
    distances, estimates, without = boundary_distances(margins, slopes, reference, [2, 5])
    for k, groups in enumerate(([[0, 1], [2, 3]], [[0, 1, 2, 3, 4]])):
        found = [boundary_shift(margins[g].mean(0), slopes[g].mean(0), reference) for g in groups]
        shifts = np.concatenate([shift for shift, _ in found])
        assert distances[k] == pytest.approx(np.nanmean(shifts))
        assert estimates[k] == pytest.approx(np.mean([e for _, e in found]))
    assert without == 1
    none = boundary_distances(np.ones((1, 2)), np.zeros((1, 2, 1)), -np.ones(2), [1])
    assert np.isnan(none[0][0])
    assert none[2] == 2
