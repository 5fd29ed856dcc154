"""The paper at tiny scale: it runs, its chart draws, its claim holds, and the judge can fail."""

from __future__ import annotations

import pandas as pd

from priorscope.papers.curse_of_dimensionality._sphere_spectrum import PAPER, exponents


def test_runs_and_judges() -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    fits = exponents(table)
    assert ((fits.fitted / fits.theory - 1).abs() < 0.1).all()
    assert table[table.part == "gram"].worst_ratio.max() < 0.25  # 200 samples
    (claim,) = PAPER.claims
    assert claim.id == "S0.9"
    assert claim.judge(table.assign(worst_ratio=0.05)).verdict == "holds"
    assert claim.judge(table.assign(worst_ratio=0.2)).verdict == "fails"
    swapped = table.assign(readout=table.readout.replace({"vec": "gap", "gap": "vec"}), worst_ratio=0.0)
    assert claim.judge(swapped).verdict == "fails"  # GAP's dimensions are not VEC's
    assert PAPER.chart is not None
    assert "layer" in PAPER.chart(table).to_dict()
