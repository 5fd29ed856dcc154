"""The paper at tiny scale: it runs on bundled data, its chart draws, and its claim can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd

from priorscope.lab import judge_claim
from priorscope.papers.spectral_bias._ntk_spectra import PAPER


def test_runs_and_judges() -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    assert set(table.network) == {"fc", "conv", "residual"}
    assert (table.outliers < 20).all()
    assert all(row[0] == 1 and (np.diff(row) <= 1e-12).all() for row in table.relative)
    (claim,) = PAPER.claims
    assert claim.id == "S2.7"
    assert all(row.tail == [row.relative[k - 1] for k in row.tail_ranks] for row in table.itertuples())
    ranks = np.unique(np.geomspace(10, 100, 30).round())
    noise = [1 + 0.01 * (i % 2) for i in range(len(table))]  # between the draws of a network

    def made_up(curve: np.ndarray, outliers: int, median: float) -> dict[str, str]:
        tails = [list(curve * part) for part in noise]
        known = table.assign(tail=tails, tail_ranks=[list(ranks)] * len(table), outliers=outliers, median=median)
        return {check.name: check.verdict for check in judge_claim(claim, known).checks}

    above, middle, straight = (check.name for check in claim.checks)
    assert made_up(ranks**-1.5, 5, 100.0**-1.5) == {above: "holds", middle: "holds", straight: "holds"}
    assert made_up(ranks**-1.5, 200, 0.75) == {above: "fails", middle: "fails", straight: "holds"}
    bent = np.exp(-ranks / 10.0)  # skewed, but no power law
    assert made_up(bent, 5, 0.001) == {above: "holds", middle: "holds", straight: "fails"}
    known = table.assign(tail=[list(ranks**-1.5 * part) for part in noise], tail_ranks=[list(ranks)] * len(table))
    assert "digits fc k^-1.50 [-1.50, -1.50]" in judge_claim(claim, known).note
    assert PAPER.chart is not None
    assert "facet" in PAPER.chart(table).to_dict()
