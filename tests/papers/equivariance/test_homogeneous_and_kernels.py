"""Equivariant maps and savings: tiny runs, made-up tables and their opposites."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope import papers
from priorscope.lab import NotMeasured, Store, judge_claim, judge_paper, sweep
from priorscope.papers.equivariance import _homogeneous, _invariant_kernels

CLAIMS = {c.id: c for module in (_homogeneous, _invariant_kernels) for c in module.PAPER.claims}


def verdict(id_: str, rows: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], rows).verdict


@pytest.mark.parametrize("name", ["homogeneous", "invariant-kernels"])
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper, store = papers.load(name), Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])


def dimensions(**wrong) -> pd.DataFrame:
    """The runs of D3 and of the circle, with columns replaced."""
    points = [p for p in _homogeneous.grid("tiny")]
    rows = [p | _homogeneous.run(p) for p in points]
    return pd.DataFrame(rows).assign(**wrong)


def test_dimensions_hold_and_wrong_ones_fail():
    table = dimensions()
    assert [verdict(c, table) for c in ("Q.40", "Q.41", "Q.42")] == ["holds"] * 3
    more = table.double_cosets + 1
    assert verdict("Q.40", dimensions(double_cosets=more)) == "fails"
    assert verdict("Q.40", dimensions(equivariance=1e-3)) == "fails"
    assert verdict("Q.41", dimensions(twisted=0.1)) == "fails"
    assert verdict("Q.42", dimensions(brute_force=table.brute_force + 1)) == "fails"


def savings(power: float, harm: float = 0.5, apart: float = 1e-12) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for kernel in ("fcn", "laplace"):
        for order in (2, 4, 8):
            for seed in range(8):
                both = {"kind": "gain", "kernel": kernel, "order": order, "seed": seed}
                noise = np.exp(0.02 * rng.standard_normal())
                rows.append(both | {"target": "invariant", "gain": order**power * noise, "log_ratio": -1.0})
                rows.append(both | {"target": "plain", "log_ratio": harm + 0.02 * rng.standard_normal()})
    rows += [{"kind": "convolution", "apart": apart, "plain_apart": 0.01, "seed": s} for s in range(2)]
    return pd.DataFrame(rows)


def test_savings_in_proportion_hold_and_others_fail():
    assert [verdict(c, savings(1.0)) for c in ("Q.50", "Q.51", "Q.52")] == ["holds"] * 3
    assert verdict("Q.50", savings(0.5)) == "fails"
    assert verdict("Q.51", savings(1.0, harm=-0.5)) == "fails"
    assert verdict("Q.52", savings(1.0, apart=0.1)) == "fails"


def test_the_gain_of_power_laws_by_hand():
    """Errors n^-0.5 and (3n)^-0.5: three times the samples."""
    sizes = np.array([10, 40, 90, 300, 1000])
    assert _invariant_kernels._gain(sizes, sizes**-0.5, (3.0 * sizes) ** -0.5) == pytest.approx(3, rel=1e-9)
    with pytest.raises(ValueError, match="share no error"):
        _invariant_kernels._gain(sizes, sizes**-0.5, sizes**-4.0)


def test_the_error_in_expectation_is_that_of_many_drawn_fields():
    """A second way: draw fields from the teacher's covariance, interpolate each, and average."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(30, 3, generator=source, dtype=torch.float64)
    teacher = torch.exp(-torch.cdist(x, x))
    student = torch.exp(-torch.cdist(x, x) / 3)
    found = _invariant_kernels.curve(student, teacher, np.array([20]), 10)[0]
    draws = torch.linalg.cholesky(teacher) @ torch.randn(30, 4000, generator=source, dtype=torch.float64)
    predicted = student[20:, :20] @ torch.linalg.solve(student[:20, :20], draws[:20])
    errors = (predicted - draws[20:]).square().mean(0)
    assert abs(float(errors.mean()) - found) < 5 * float(errors.std()) / 4000**0.5
    assert abs(float(errors.mean()) - 1.2 * found) > 5 * float(errors.std()) / 4000**0.5


def test_one_wrong_pair_among_many_is_the_one_reported():
    columns = {
        "group": ["D3", "D3", "S4", "SO(2)", "SO(2)", "SO(2)"],
        "first": ["a", "b", "c", 1, 2, 3],
        "second": ["d", "e", "f", 2, 2, 1],
        "double_cosets": [4, 5, 6, 0, 0, 0],
        "characters": [4, 7, 6, 3, 4, 3],
        "brute_force": [4, 5, None, 0, 0, 0],
        "equivariance": [0.1, 0.5, 0.2, 9.0, 9.0, 9.0],
    }
    table = pd.DataFrame(columns)
    assert _homogeneous.apart(table, "characters").interval.value == 2  # five against seven
    assert _homogeneous.apart(table, "characters").note == "of 3 pairs of fields"
    assert _homogeneous.apart(table, "brute_force").interval.value == 0
    assert _homogeneous.largest(table, "equivariance").interval.value == 0.5
    assert _homogeneous.counted(table, "b", "e").interval.value == 5
    for call in (
        lambda: _homogeneous.counted(table, "b", "f"),
        lambda: _homogeneous.largest(table[3:], "equivariance"),
    ):
        with pytest.raises(NotMeasured):
            call()
