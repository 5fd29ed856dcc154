"""The paper at tiny scale: it runs on bundled data, its chart draws, and its claim can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import judge_claim
from priorscope.papers.spectral_bias._ntk_spectra import PAPER, stored_ranks


def test_runs_and_judges(as_recorded) -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert set(table.network) == {"fc", "conv", "residual"}
    assert (table.outliers < 20).all()
    assert all(row[0] == 1 and (np.diff(row) <= 1e-12).all() for row in table.relative)
    (claim,) = PAPER.claims
    assert claim.id == "S2.7"
    noise = [1 + 0.01 * (i % 2) for i in range(len(table))]  # between the draws of a network
    ranks = stored_ranks(200)
    tail = ranks[(ranks >= 10) & (ranks <= 100)]
    assert (tail == np.unique(np.geomspace(10, 100, 30).round())).all()
    assert len(ranks) <= 70
    assert (np.diff(ranks) > 0).all()
    assert (ranks[0], ranks[-1]) == (1, 200)

    def made_up(curve: np.ndarray, outliers: int, median: float) -> pd.DataFrame:
        curves = [curve * part for part in noise]
        return table.assign(n=200, relative=curves, rank=[ranks] * len(table), outliers=outliers, median=median)

    def verdicts(known: pd.DataFrame) -> dict[str, str]:
        return {check.name: check.verdict for check in judge_claim(claim, known).checks}

    above, middle, straight, exponential = (check.name for check in claim.checks)
    law = made_up(ranks**-1.5, 5, 100.0**-1.5)
    assert verdicts(law) == {above: "holds", middle: "holds", straight: "holds", exponential: "holds"}
    assert "digits fc k^-1.50 [-1.50, -1.50]" in judge_claim(claim, law).note
    wrong = {above: "fails", middle: "fails", straight: "holds", exponential: "holds"}
    assert verdicts(made_up(ranks**-1.5, 200, 0.75)) == wrong
    bent = np.exp(-ranks / 10.0)  # skewed, but no power law
    skewed = {above: "holds", middle: "holds", straight: "fails", exponential: "fails"}
    assert verdicts(made_up(bent, 5, 0.001)) == skewed
    between = np.exp(-0.1 * ranks**0.7)  # a stretched exponential: R² of a power law 0.96, of an exponential 0.99
    assert verdicts(made_up(between, 5, 0.001)) == skewed
    broken = np.where((ranks < 10) | (ranks > 100), 1e-3, ranks**-1.5)  # outside the tail nothing is fitted
    assert verdicts(made_up(broken, 5, 0.001))[straight] == "holds"
    assert PAPER.chart is not None
    assert "facet" in PAPER.chart(table).to_dict()
