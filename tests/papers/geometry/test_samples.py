"""Training, feature removal and pruning: tiny runs, and claims on made-up tables."""

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import judge_claim
from priorscope.papers.geometry import _alignment, _feature_removal, _pruning, _training, _variations
from priorscope.papers.geometry._along import early_and_later
from priorscope.papers.geometry._sizes import rows_of

ALONG = (_alignment, _training, _variations)
TRAINING = {claim.id: claim for module in ALONG for claim in module.PAPER.claims}


@pytest.mark.parametrize("module", [_feature_removal, _pruning, *ALONG])
def test_tiny_scale_runs_and_draws(module, as_recorded):
    paper = module.PAPER
    table = pd.DataFrame([{**p, **paper.run(p)} for p in paper.points("tiny")])
    as_recorded(paper, table)
    assert {judge_claim(claim, table).verdict for claim in paper.claims} == {"not shown"}  # one repeat has no interval
    assert paper.chart(table).to_dict()["$schema"]
    assert len(paper.points("small")) >= 15


def test_removal():
    def table(gaps):
        return pd.DataFrame(
            [
                {"model": "lenet", "removed": k, "seed": s, "geometry": 0.7 + gap + 0.001 * s, "random": 0.7}
                for k, gap in gaps.items()
                for s in range(5)
            ]
        )

    (claim,) = _feature_removal.PAPER.claims
    pairs = ((0.02, 0.03), (0.05, -0.02), (-0.02, -0.03))
    found = [[c.verdict for c in judge_claim(claim, table({8: a, 16: b})).checks] for a, b in pairs]
    assert found == [["holds", "holds"], ["holds", "fails"], ["fails", "fails"]]


def test_pruning():
    def table(gap, together):
        common = {"data": "cifar10", "fraction": 0.5, "random": 0.5, "random_together": 0.4}
        scores = {"score": 0.5 + gap, "score_together": 0.4 + together}
        return pd.DataFrame(
            [{**common, "seed": s, **{arm: v + 0.001 * s for arm, v in scores.items()}} for s in range(5)]
        )

    (claim,) = _pruning.PAPER.claims
    pairs = ((0.02, 0.01), (-0.02, 0.01), (0.02, -0.01))  # both ways of pruning must gain
    assert [judge_claim(claim, table(*p)).verdict for p in pairs] == ["holds", "fails", "fails"]
    verdict = judge_claim(claim, table(0.02, 0.01))
    assert [check.measured for check in verdict.checks] == pytest.approx([2.2, 1.2])  # points
    assert judge_claim(claim, table(0.02, 0.01).assign(data="mnist")).verdict == "not shown"


def training(gap=0.2, lead=0.1, trained=1.0, dense=0.0):
    rows = []
    for s in range(5):
        noise = 0.002 * (s - 2)
        for model in ("mlp", "lenet", "residual"):
            mine, more = (dense, dense) if model == "mlp" else (gap, lead)
            curves = {"early_rise": 0.3 + noise, "early_lead": more + noise, "later_lead": 0.0, "corr_gsg_s": 0.9}
            rows.append({"part": "alignment", "model": model, "data": "cifar2", "seed": s, **curves})
            name = "resnet" if model == "residual" else model  # ResNet18 itself on Gaussian data
            for data, sign in (("G", 1), ("flip", 0)):
                fit = {"mean_accuracy": 0.6 + sign * (mine + noise), "mean_velocity": 0.1 + sign * (mine + noise)}
                fit["train_accuracy"] = trained
                rows.append({"part": "flip", "model": name, "data": data, "seed": s, **fit})
                if model == "lenet":
                    rows.append({"part": "data size", "model": model, "data": data, "seed": s, **fit})
        pair = {"data": "linear", "seed": s, "test_bottom": 0.7, "test_top": 0.7 + gap + noise, "fit_top": trained}
        rates = (1.0, 0.1, 0.01, 0.001)
        rows += [{"part": "rate", "model": "residual", "learning_rate": r, **pair} for r in rates]
        rows.append({"part": "few parameters", "model": "lenet", "learning_rate": 0.1, **pair})
    return pd.DataFrame(rows)


def test_training_claims_hold_and_fail():
    verdicts = lambda table: [judge_claim(claim, table).verdict for claim in TRAINING.values()]  # noqa: E731
    assert verdicts(training()) == ["holds"] * 3
    assert verdicts(training(gap=-0.2, lead=-0.1)) == ["fails"] * 3
    assert verdicts(training(dense=0.1)) == ["fails", "fails", "holds"]  # the dense net must show neither
    assert verdicts(training(trained=0.5))[1:] == ["not shown"] * 2  # nothing was tested
    one = training()
    one.loc[(one["part"] == "rate") & (one["learning_rate"] == 0.01), "fit_top"] = 0.5
    found = judge_claim(TRAINING["S4.13"], one)
    assert found.verdict == "not shown"
    assert [c.name for c in found.checks if c.verdict == "not shown"] == ["rate 0.01"]


def test_early_is_the_first_quarter():
    gsg = np.array([0.1, 0.2, 0.5, 0.4, 0.4, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9])  # a quarter of 12: up to the third
    found = early_and_later(gsg, gsg - np.r_[np.full(3, 0.1), np.full(9, -0.2)])
    assert found == pytest.approx({"early_rise": 0.4, "early_lead": 0.1, "later_lead": -0.2})


def test_a_stand_in_is_never_mixed_with_what_it_stands_for():
    both = pd.DataFrame({"model": ["resnet", "residual"]})
    with pytest.raises(ValueError, match="both residual and resnet"):
        rows_of(both, None, "residual")
