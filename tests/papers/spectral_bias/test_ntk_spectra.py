"""The paper at tiny scale: it runs on bundled data, its chart draws, and the judge can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.spectral_bias._ntk_spectra import PAPER, tails


def test_runs_and_judges() -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    assert set(table.network) == {"fc", "conv", "residual"}
    assert (table.outliers < 20).all()
    assert all(row[0] == 1 and (np.diff(row) <= 1e-12).all() for row in table.relative)
    (claim,) = PAPER.claims
    assert claim.id == "S2.7"
    law = [np.arange(1, 201.0) ** -1.5] * len(table)
    known = table.assign(relative=law, outliers=5, median=100.0**-1.5)
    assert tails(known).exponent.to_numpy() == pytest.approx(-1.5)
    assert claim.judge(known).verdict == "holds"
    flat = known.assign(relative=[np.linspace(1, 0.5, 200)] * len(table), outliers=200, median=0.75)
    assert claim.judge(flat).verdict == "fails"
    bent = known.assign(relative=[np.exp(-np.arange(200) / 10.0)] * len(table))  # skewed, but no power law
    assert claim.judge(bent).verdict == "fails"
    assert PAPER.chart is not None
    assert "facet" in PAPER.chart(table).to_dict()
