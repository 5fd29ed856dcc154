"""The phase diagram at tiny scale; its claim and its lines on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import judge_claim
from priorscope.papers.training_regimes._phase_diagram import PAPER
from priorscope.papers.training_regimes._phase_diagram_chart import lines
from priorscope.papers.training_regimes._phase_diagram_measures import jamming_width

(CLAIM,) = PAPER.claims


def known(feature=3.0, lazy=9.0, seeds=4) -> pd.DataFrame:
    """Networks fit above a width that grows by steps with the output scale, with a seed in ten late; kernels cross at 3."""
    at, widths = np.array([1e-2, 1.0, 1e2, 1e3]), [2, 4, 6, 8, 10, 12]
    stars = np.array([feature, (feature * lazy) ** 0.5, lazy, lazy])
    rows = []
    for h in widths:
        fitted = (h > stars[:, None] * np.array([1.0, 1.0, 1.0, 1.2])[:seeds]).astype(float)
        change = (3 / at)[:, None] * np.ones(seeds)
        rows.append(
            {"width": h, "rescaled": at.tolist(), "fitted": fitted, "kernel_change": change}
            | {"error": np.full((4, seeds), 0.1), "ensemble_error": np.full(4, 0.05)}
        )
    return pd.DataFrame(rows)


def test_jamming_width_by_hand():
    widths = np.array([1.0, 4.0, 16.0])
    assert jamming_width(widths, np.array([0.0, 0.0, 1.0])) == pytest.approx(8)
    assert jamming_width(widths, np.array([0.0, 1.0, 0.25])) != jamming_width(widths, np.array([0.0, 1.0, 1.0]))
    assert jamming_width(widths, np.array([1.0, 1.0, 1.0])) == 1
    assert np.isnan(jamming_width(widths, np.zeros(3)))


def test_the_claim_knows_the_order_and_when_it_cannot_tell():
    right = judge_claim(CLAIM, known())
    assert right.verdict == "holds"
    assert right.low > 1
    assert judge_claim(CLAIM, known(feature=9.0, lazy=3.0)).verdict == "fails"
    assert judge_claim(CLAIM, known(lazy=100.0)).verdict == "not shown"
    assert judge_claim(CLAIM, known(feature=1.0, lazy=1.0)).verdict == "not shown"
    found = lines(known())
    crossing = found[found.line.str.startswith("crossover")]
    np.testing.assert_allclose(crossing["scale"], 3)
    assert len(found[found.line == "jamming"]) == 4


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert judge_claim(CLAIM, table).verdict in {"holds", "not shown", "fails"}
    wide = table[table.width == 8].iloc[0]
    change = np.log(np.asarray(wide.kernel_change)).mean(1)
    assert change[0] > 3 > 0 > change[-1]  # features at small scales, a kernel at rest at large ones
    assert (np.asarray(wide.fitted) <= (np.asarray(wide.unsatisfied) == 0)).all()
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()
