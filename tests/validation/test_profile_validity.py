"""The profile's pick against trained networks: problems are what they say, wrong picks fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.probes.curves.pilot import leave_one_out, tuned_regression
from priorscope.profiles._candidates import default_candidates, variations
from priorscope.validation._problems import DEVELOPMENT, HELD_OUT, Problem, draw
from priorscope.validation._profile_validity import ENOUGH, PAPER, kernel_error


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.DataFrame([{**p, **PAPER.run(p)} for p in PAPER.points("tiny")])


def test_two_problems_are_too_few_to_show_anything(table: pd.DataFrame) -> None:
    assert [claim.judge(table).verdict for claim in PAPER.claims] == ["not shown"] * 4
    row = table.iloc[0]
    assert row["pick"] == row["candidates"][0]
    assert row["network"][list(row["candidates"]).index(row["best_network"])] == min(row["network"])
    assert {c.split("-")[0] for c in row["candidates"]} == {"fcn", "vec", "lap", "gap"}
    assert sum(c.endswith(("erf", "gelu")) for c in row["candidates"]) == 2
    assert PAPER.chart is not None
    assert PAPER.chart(table).to_dict()


def test_the_share_of_right_picks_needs_its_interval_on_one_side(table: pd.DataFrame) -> None:
    """Clopper & Pearson: 20 of 20 allow 0.832, just under 10 of 12; 21 of 21 allow 0.839; 12 of 21 allow up to 0.78."""
    many = pd.concat([table] * 11, ignore_index=True)
    for right, of, verdict in ((20, 20, "not shown"), (21, 21, "holds"), (18, 20, "not shown"), (12, 21, "fails")):
        ratio = [1.09] * right + [1.11] * (of - right)
        spoilt = many[:of].assign(ratio_network=ratio, ratio_kernel=ratio)
        found = [claim.judge(spoilt) for claim in PAPER.claims[:2]]
        assert [v.verdict for v in found] == [verdict] * 2
        assert all(v.note.count("picked") == of - right for v in found)
    missed = many[:12].assign(covered=[[0.0]] * 12)
    assert PAPER.claims[2].judge(missed).verdict == "fails"
    assert PAPER.claims[2].judge(missed[:11]).verdict == "not shown"


def test_candidates_told_apart_must_have_worse_networks() -> None:
    def verdict(network: list[float], over_low: list[float], problems: int = 20) -> tuple[str, float | None]:
        row = {"over": [1.0, 1.5, 2.0], "over_low": [1.0, *over_low], "over_high": [1.0, 3.0, 3.0]}
        row |= {"network": network, "kernel": [1.0, 1.4, 1.9]}
        found = PAPER.claims[3].judge(pd.DataFrame([row] * problems))
        return found.verdict, found.measured

    assert verdict([1.0, 1.2, 1.3], [1.1, 1.2], 36) == ("holds", 1.0)  # 36 of 36 allow 0.903
    assert verdict([1.0, 1.2, 1.3], [1.1, 1.2]) == ("not shown", 1.0)  # 20 of 20 do not
    assert verdict([1.0, 0.9, 1.3], [1.1, 1.2]) == ("fails", 0.5)
    assert verdict([1.0, 0.9, 1.3], [0.9, 1.2], 36) == ("holds", 1.0)  # the better one was not told apart
    assert verdict([1.0, 1.2, 1.3], [0.9, 0.9])[0] == "not shown"  # nothing was
    assert verdict([1.0, 1.2, 1.3], [1.1, 1.2], problems=9)[0] == "not shown"  # eighteen were


def test_held_out_problems_are_no_development_problems() -> None:
    assert len(HELD_OUT) >= ENOUGH

    def content(problem: Problem) -> tuple[str, str]:
        return problem.make.__name__, str(sorted(problem.options.items()))

    assert not {content(p) for p in HELD_OUT.values()} & {content(p) for p in DEVELOPMENT.values()}
    assert not {p.seed for p in HELD_OUT.values()} & {p.seed for p in DEVELOPMENT.values()}
    assert {p["problem"] for p in PAPER.points("tiny")} <= set(DEVELOPMENT)
    assert {p["problem"] for p in PAPER.points("small")} == set(HELD_OUT)


def test_splits_do_not_share_samples_and_tables_use_all_rows() -> None:
    table = draw("dev table", 10_000, 1, 8, split=1)
    assert (len(table.train), len(table.test)) == (352, 88)
    assert not torch.isin(table.train.targets, table.test.targets).any()
    first = draw("dev product by place", 40, 20, 8)
    assert (len(first.train), len(first.test), first.task) == (40, 20, "regression")
    assert draw("dev pattern", 20, 10, 8).task == "classification"


def test_variations_change_the_nonlinearity_only() -> None:
    lap = next(c for c in default_candidates((1, 8, 8))[0] if c.family == "lap")
    found = variations(lap)
    assert [c.name for c in found] == ["lap-3-erf", "lap-3-gelu"]
    assert [len(c.model.layers) for c in found] == [len(lap.model.layers)] * 2
    assert variations(found[0]) == []


def test_kernel_error_is_that_of_the_tuned_ridge() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 3)), rng.standard_normal((12, 2))
    gram = np.exp(-((x[:, None] - x[None]) ** 2).sum(-1))
    nested, _ = tuned_regression(gram, y, np.array([4]))  # against regressions done one by one: test_tuned
    assert kernel_error(gram, y) == pytest.approx(nested.loss[-1].mean(), rel=1e-9)
    assert kernel_error(gram, y) < 0.99 * leave_one_out(gram, y).loss.mean()  # the control: on noise a ridge helps
