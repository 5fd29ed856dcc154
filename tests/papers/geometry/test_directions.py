"""Circles, directions and simplicity: tiny runs, and judges on made-up tables."""

import numpy as np
import pandas as pd
import pytest

from priorscope.papers.geometry import _circles, _directions, _simplicity


@pytest.mark.parametrize("module", [_circles, _directions, _simplicity])
def test_tiny_scale_runs_and_draws(module):
    paper = module.PAPER
    table = pd.DataFrame([{**p, **paper.run(p)} for p in paper.points("tiny")])
    assert {claim.judge(table).verdict for claim in paper.claims} == {"not run"}
    assert paper.chart(table).to_dict()["$schema"]
    assert len(paper.points("small")) >= 15


def test_circles_judge():
    def table(resnet):
        rows = [
            {"model": "mlp", "seed": s, "test_top": 0.99, "test_mixed": 0.98, "test_bottom": 0.99} for s in range(5)
        ]
        rows += [
            dict(zip(("model", "seed", "test_top", "test_mixed", "test_bottom"), ("resnet", s, *resnet)))
            for s in range(5)
        ]
        return pd.DataFrame(rows).assign(train_top=1.0, train_mixed=1.0, train_bottom=1.0)

    judge = _circles.PAPER.claims[0].judge
    assert judge(table((0.99, 0.52, 0.5))).verdict == "holds"
    assert judge(table((0.99, 0.8, 0.7))).verdict == "holds with changes"
    assert judge(table((0.9, 0.9, 0.9))).verdict == "fails"
    other = table((0.95, 0.96, 0.96)).query("model == 'resnet'").assign(model="residual")  # two networks that disagree
    assert judge(pd.concat([table((0.99, 0.8, 0.7)), other])).verdict == "not shown"


def test_directions_judge_needs_the_ordering_too():
    ranks = np.arange(0, 60, 6)

    def table(decay):
        rows = []
        for model in ("mlp", "lenet", "resnet"):
            for kind in ("linear", "quadratic", "sinusoidal"):
                fall = 0.0 if model == "mlp" else decay[kind]
                rows += [
                    {
                        "model": model,
                        "kind": kind,
                        "seed": s,
                        "rank": ranks,
                        "accuracy": 0.5 + 0.5 * np.exp(-fall * ranks),
                    }
                    for s in range(5)
                ]
        return pd.DataFrame(rows)

    judge = _directions.PAPER.claims[0].judge
    assert judge(table({"linear": 0.01, "quadratic": 0.1, "sinusoidal": 0.1})).verdict == "holds"
    assert judge(table({"linear": 0.1, "quadratic": 0.01, "sinusoidal": 0.1})).verdict == "fails"
    assert judge(table({"linear": 0.0, "quadratic": 0.1, "sinusoidal": 0.1})).verdict == "fails"


def test_simplicity_judge():
    ranks = np.arange(2, 62, 10)

    def table(last):
        linear = np.linspace(1, last, len(ranks))
        return pd.DataFrame(
            [
                {"model": m, "seed": s, "rank": ranks, "linear": linear + 0.001 * s, "circle": 1.5 - linear}
                for m in ("mlp", "lenet", "resnet")
                for s in range(5)
            ]
        )

    judge = _simplicity.PAPER.claims[0].judge
    assert judge(table(0.5)).verdict == "holds"
    assert judge(table(0.95)).verdict == "fails"
