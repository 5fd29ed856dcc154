"""Both papers run at tiny scale, without verdicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope import papers
from priorscope.lab import NotMeasured, Store, judge_claim, judge_paper, sweep
from priorscope.memory import column_limit, exit_rate_law, hellman_cover_limit, necklace_limit
from priorscope.papers.finite_memory import _conjecture as conjecture
from priorscope.papers.finite_memory import _exact_claims as claims
from priorscope.papers.finite_memory import _learning as learning


@pytest.mark.parametrize("name", ["memory-exact", "memory-learning", "necklace-conjecture"])
def test_tiny_points_run_and_give_no_verdicts(name, as_recorded):
    paper = papers.load(name)
    store = Store(":memory:")
    summary = sweep(paper, paper.points("tiny"), store, scale="tiny", jobs=1)
    assert summary.failed == 0
    assert summary.ran == len(paper.points("tiny")) > 0
    assert {record.verdict for record in judge_paper(paper, store)} == {"not run"}  # tiny runs test the code only
    as_recorded(paper, [{**p, **store.get(paper.name, paper.version, p)} for p in paper.points("tiny")])


def of(kind, **columns):
    return pd.DataFrame(columns).assign(kind=kind)


def test_measures_of_exact_limits_report_the_row_that_is_farthest():
    """Values of the formulas themselves times known factors, so that the answer is the factor."""
    factors, mu = [1.0, 0.8, 1.1, 0.97], 0.3
    sizes, arms = [2, 3, 4, 5], (0.7, 0.4)
    q = [column_limit(n, mu) * f for n, f in zip(sizes, factors)]
    columns = of("column", n=sizes, mu=mu, wrong=q)
    assert claims.column_ratio(columns).interval.value == pytest.approx(0.8)
    twice = of("column", n=sizes, mu=mu, wrong=[hellman_cover_limit(2 * n, mu) * f for n, f in zip(sizes, factors)])
    assert claims.doubled_memory(twice).interval.value == pytest.approx(0.8)
    q = [column_limit(n, arms) * f for n, f in zip(sizes, factors)]
    assert claims.column_arms_ratio(of("arms", n=sizes, high=0.7, low=0.4, wrong=q)).interval.value == pytest.approx(
        0.8
    )
    q = [necklace_limit(m, arms) * f for m, f in zip([2, 3, 2, 3], factors)]
    found = claims.necklace_arms_ratio(of("necklace-arms", m=[2, 3, 2, 3], high=0.7, low=0.4, wrong=q))
    assert found.interval.value == pytest.approx(0.8)
    q = [necklace_limit(m, mu) * f for m, f in zip([2, 3, 2, 3], factors)]
    necklaces = of("necklace", m=[2, 3, 2, 3], mu=mu, wrong=q, inner=[0.1, 0.01, 0.01, 0.01])
    assert claims.above_limit(necklaces).interval.value == pytest.approx(0.8)
    assert claims.reaches_limit(necklaces).interval.value == pytest.approx(1.1)  # of the slowest rates
    alpha = 0.7 / 1.3
    q = [1 / (1 + alpha ** (-f * 8)) for f in (0.5, 0.9, 0.7)]
    slow = of("necklace", m=[3, 3, 3, 2], mu=mu, wrong=[*q, 0.2], inner=[0.01, 0.01, 0.1, 0.01])
    assert claims.leading_order(slow).value == pytest.approx(0.9)


def test_exponents_prefactors_and_chains_report_their_extremes():
    rows = [
        {"n": n, "mu": mu, "reset": r, "rate": c * exit_rate_law(n, mu, r) * (r / 1e-8) ** (power - 0.5)}
        for n, mu, power, c in ((2, 0.2, 0.5, 1.0), (3, 0.2, 0.44, 1.3), (3, 0.4, 0.52, 0.9))
        for r in (1e-8, 1e-7, 1e-6)
    ]
    table = pd.DataFrame(rows).assign(kind="explore")
    base = np.log(exit_rate_law(2, 0.2, 1e-6) / exit_rate_law(2, 0.2, 1e-8)) / np.log(100)
    assert claims.exploration_exponent(table).interval.value == pytest.approx(base - 0.06, abs=1e-6)
    assert claims.exploration_prefactor(table).interval.value == pytest.approx(1.3)
    local = of("local", wrong=[0.2, 0.1, 0.3], column=[0.2, 0.11, 0.31])
    assert claims.improvement(local).interval.value == pytest.approx(0.1 / 0.11)
    chains = of("chain", m=[2, 3, 4, 5, 9], length=[3, 4, 1, 7, 1], necklaces=[3, 4, 6, 8, 60])
    found = claims.prime_chains(chains)
    assert found.interval.value == pytest.approx(7 / 8)
    assert found.note == "least of m = 2, 3, 5"


def test_measures_of_learning_compare_members_by_their_logarithms():
    def run(memory, size, start, best, method="flow", known=0.1):
        return {
            "memory": memory,
            "size": size,
            "start": start,
            "method": method,
            "best": np.array(best),
            "known": known,
        }

    e = np.e
    table = pd.DataFrame(
        [
            run("ram", 4, "random", [e**3, e**5]),
            run("ram", 4, "random", [9.0, 9.0], "adam"),
            run("ram", 4, "ccp", [e**1, e**2]),
            run("ram", 8, "ccp", [7.0, 7.0]),
            run("memento", 3, "random", [e**1.0, e**1.5]),
            run("memento", 3, "necklace", [e**0.5, e**0.25]),
            run("memento", 2, "necklace", [1e-9, 1e-9]),
        ]
    )
    found = learning.log_ratio(table, ("ram", 4, "random", "flow"), ("ram", 4, "ccp", "flow"))
    assert found.interval.value == pytest.approx(4 - 1.5)
    assert learning.sensitivity(table, 4, 3).interval.value == pytest.approx((4 - 1.5) - (1.25 - 0.375))
    assert learning.sensitivity(table, 4, 3).note == "memento alone 0.875"
    assert learning.cell(table, "ram", 4, "random", "adam").tolist() == [9.0, 9.0]
    for call in (lambda: learning.cell(table, "ram", 5, "random"),):
        with pytest.raises(NotMeasured):
            call()


def test_the_conjecture_is_judged_at_the_smallest_restart_rate_and_by_the_explicit_policy():
    star = {m: necklace_limit(m, conjecture.MU) for m in (2, 3, 4)}
    ratios = {(2, 1e-4): 1.2, (2, 1e-10): 1.003, (3, 1e-4): 0.9, (3, 1e-10): 1.004}
    rows = [
        {"part": "learnt", "m": m, "reset": r, "best": np.array([2.0, ratio]) * star[m], "seed": 0}
        for (m, r), ratio in ratios.items()
    ]
    limit = 1 / (1 + (1.1 / 0.9) ** 20)
    rows += [{"part": "two ways", "m": 4, "rate": e, "wrong": limit * (1 + e), "seed": 0} for e in (1e-2, 1e-4)]
    verdicts = {claim.id: judge_claim(claim, pd.DataFrame(rows)) for claim in conjecture.PAPER.claims}
    assert [check.verdict for check in verdicts["M.13"].checks] == ["holds", "fails"]
    assert [verdicts[name].verdict for name in ("M.14", "M.15")] == ["holds", "holds"]
    assert verdicts["M.13"].checks[0].measured == pytest.approx(1.004)
    assert judge_claim(conjecture.PAPER.claims[1], pd.DataFrame(rows[2:])).verdict == "not shown"  # m = 2 is missing
    above = [{k: 3 * v if k in ("best", "wrong") else v for k, v in row.items()} for row in rows]
    assert [judge_claim(c, pd.DataFrame(above)).verdict for c in conjecture.PAPER.claims] == ["holds", "fails", "fails"]
    conjecture.PAPER.chart(pd.DataFrame(rows)).to_dict()
