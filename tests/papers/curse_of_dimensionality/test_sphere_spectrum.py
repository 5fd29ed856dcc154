"""The paper at tiny scale: it runs, its chart draws, its claim holds, and it can fail."""

from __future__ import annotations

import pandas as pd

from priorscope.lab import judge_claim
from priorscope.papers.curse_of_dimensionality._sphere_spectrum import PAPER


def test_runs_and_judges(as_recorded) -> None:
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert table[table.part == "gram"].worst_ratio.max() < 0.25  # 200 samples
    (claim,) = PAPER.claims
    assert claim.id == "S0.9"
    verdict = judge_claim(claim, table.assign(worst_ratio=0.05))
    assert verdict.verdict == "holds"
    assert len(verdict.checks) == 19  # the Gram spectrum; three kernels, three orders, two quantities
    far = judge_claim(claim, table.assign(worst_ratio=0.2))
    assert [check.name for check in far.checks if check.verdict == "fails"] == ["deviation from the Gram spectrum"]
    swapped = table.assign(readout=table.readout.replace({"vec": "gap", "gap": "vec"}), worst_ratio=0.0)
    wrong = [check.name for check in judge_claim(claim, swapped).checks if check.verdict == "fails"]
    assert "exponent of GAP's dimension, order 1" in wrong  # GAP's dimensions are not VEC's
    assert not any("eigenvalue" in name for name in wrong)  # their eigenvalues are the same
    assert PAPER.chart is not None
    assert "layer" in PAPER.chart(table).to_dict()
