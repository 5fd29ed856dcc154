"""Training, feature removal and pruning: tiny runs, and judges on made-up tables."""

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.geometry import _feature_removal, _pruning
from priorscope.papers.geometry import _training as _geometry_training


@pytest.mark.parametrize("module", [_feature_removal, _pruning, _geometry_training])
def test_tiny_scale_runs_and_draws(module):
    paper = module.PAPER
    table = pd.DataFrame([{**p, **paper.run(p)} for p in paper.points("tiny")])
    verdicts = {claim.judge(table).verdict for claim in paper.claims}
    assert verdicts <= {"not run", "holds", "not shown", "fails"}
    assert paper.chart(table).to_dict()["$schema"]
    assert len(paper.points("small")) >= 15


def test_removal_and_pruning_judges():
    def removal(gap):
        return pd.DataFrame(
            [{"model": "lenet", "removed": 8, "geometry": 0.7 + gap + 0.001 * s, "random": 0.7} for s in range(5)]
        )

    judge = _feature_removal.PAPER.claims[0].judge
    assert [judge(removal(g)).verdict for g in (0.02, -0.02)] == ["holds", "fails"]

    def pruned(gap):
        rows = [{"data": "cifar10", "fraction": 0.5, "score": 0.5 + gap + 0.001 * s, "random": 0.5} for s in range(5)]
        return pd.DataFrame(rows)

    judge = _pruning.PAPER.claims[0].judge
    assert [judge(pruned(g)).verdict for g in (0.02, -0.02)] == ["holds", "fails"]
    assert judge(pruned(0.02)).measured == pytest.approx(2.2)


def test_training_judges():
    def table(gap, above, trained=1.0):
        rows = []
        for s in range(5):
            for model in ("mlp", "lenet", "resnet"):
                mine, more = (0.0, 0.0) if model == "mlp" else (gap, above)
                gsg = np.linspace(0.2, 0.6, 21)
                curves = {"corr_gsg": gsg, "corr_s": gsg - more, "corr_gsg_s": 0.9}
                rows.append({"part": "alignment", "model": model, "data": "cifar2", "seed": s, **curves})
                for data, sign in (("G", 1), ("flip", 0)):
                    fit = {"mean_accuracy": 0.6 + sign * mine, "mean_velocity": 0.1 + sign * mine}
                    fit["train_accuracy"] = trained
                    rows.append({"part": "flip", "model": model, "data": data, "seed": s, **fit})
                    if model == "lenet":
                        rows.append({"part": "data size", "model": model, "data": data, "seed": s, **fit})
            pair = {"data": "linear", "seed": s, "test_bottom": 0.7, "test_top": 0.7 + gap, "fit_top": trained}
            rows += [{"part": "rate", "model": "residual", "learning_rate": r, **pair} for r in (1.0, 0.001)]
            rows.append({"part": "few parameters", "model": "lenet", "learning_rate": 0.1, **pair})
        return pd.DataFrame(rows)

    judges = [claim.judge for claim in _geometry_training.PAPER.claims]
    assert [j(table(0.2, 0.1)).verdict for j in judges] == ["holds"] * 3
    assert [j(table(-0.2, -0.1)).verdict for j in judges] == ["fails"] * 3
    assert [j(table(0.2, 0.1, trained=0.5)).verdict for j in judges[1:]] == ["not shown"] * 2  # nothing was tested
