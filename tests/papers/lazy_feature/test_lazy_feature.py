"""The paper at tiny scale, its network's exact statements, and judges that know theory from its opposite."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.inference import GradientFlow
from priorscope.models import DenseStack
from priorscope.papers.lazy_feature._claims import crossover
from priorscope.papers.lazy_feature._lazy_feature import PAPER
from priorscope.papers.lazy_feature._runs import split, top_share
from priorscope.probes import frozen_flow, half_times

CLAIMS = {claim.id: claim for claim in PAPER.claims}


@pytest.fixture(scope="module")
def lazy():
    """One seed at rescaled output scales 1e4 and 1e5, and the frozen kernel of the same weights."""
    train, test = split(20, 60, 0)
    stack = DenseStack(64, 12, 2, [3, 3])
    flow = GradientFlow(loss="soft-hinge", stop="fitted", max_turn=1e-3, time=1e9, record=1)
    fitted = flow.with_alpha([1e4 / 12**0.5, 1e5 / 12**0.5]).fit(stack, train)
    frozen = frozen_flow(stack.gram(stack.stacked, train.inputs)[0], train.targets, flow)
    return (
        fitted,
        frozen,
        fitted.predict(test.inputs),
        frozen.predict(stack.gram(stack.stacked, test.inputs, train.inputs)[0]),
    )


def test_t6_the_lazy_limit_does_not_depend_on_alpha(lazy):
    fitted, _, F, _ = lazy
    assert bool(fitted.finished.all())
    assert float((F[0] - F[1]).norm() / F[1].norm()) < 1e-2
    assert float(fitted.times[0] / fitted.times[1]) == pytest.approx(1, abs=1e-2)


def test_t7_the_lazy_network_is_its_frozen_kernel(lazy):
    fitted, frozen, F, expected = lazy
    assert frozen.finished
    assert float((F[1] - expected).norm() / expected.norm()) < 1e-3
    assert float((2 * F[1] - expected).norm() / expected.norm()) > 0.5
    assert frozen.time == pytest.approx(float(fitted.times[1]), rel=1e-2)


def test_frozen_flow_says_what_it_needs():
    with pytest.raises(ValueError, match=r"square kernel \(P, P\)"):
        frozen_flow(torch.ones(2, 3), torch.ones(2, 1))


def test_half_time_crossover_and_label_share_by_hand():
    loss, times = torch.tensor([[4.0], [4.0], [3.0], [1.0]]), torch.tensor([0.0, 1.0, 10.0, 100.0])
    fitted = type("F", (), {"trajectory": type("T", (), {"loss": loss, "times": times})})
    assert float(half_times(fitted)[0]) == pytest.approx(10**1.5)
    assert crossover(np.array([0.1, 10.0]), np.array([[10.0], [0.1]])) == pytest.approx(1)
    kernel = torch.diag(torch.tensor([3.0, 2.0, 1.0]))[None]
    assert float(top_share(kernel, torch.tensor([[1.0], [0.0], [1.0]]))[0]) == pytest.approx(0.5)


def known(a=lambda L: 2 * L / (L + 1), star=4.0) -> pd.DataFrame:
    """Sweeps that follow theory: exponents of both regimes, times in proportion, variance one over the width."""
    at = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e4])
    rows = []
    rng = np.random.default_rng(0)
    for depth, width in ((2, 16), (2, 64), (2, 256), (1, 64), (3, 64)):
        change = np.where(at < star, (at / star) ** -a(depth), (at / star) ** -1)[:, None] * np.ones(3)
        outputs = rng.standard_normal((3, 4000)) * width**-0.5
        rows.append(
            {"part": "sweep", "depth": depth, "width": width, "rescaled": at.tolist(), "kernel_change": change}
            | {
                "weight_change": (at ** -(1 / (depth + 1)))[:, None] * np.ones(3),
                "half_time": 6 * at[:, None] * np.ones(3),
            }
            | {"outputs_feature": outputs, "outputs_lazy": outputs, "feature_row": 2}
        )
    return pd.DataFrame(rows)


def test_judges_know_theory_from_its_opposite():
    right = known()
    for id_ in ("L.1", "L.5", "L.6", "L.7", "L.8"):
        assert CLAIMS[id_].judge(right).verdict == "holds", (id_, CLAIMS[id_].judge(right))
    assert CLAIMS["L.6"].judge(known(a=lambda L: 1.0)).verdict == "fails"
    assert CLAIMS["L.5"].judge(known(star=400.0)).verdict == "fails"
    assert CLAIMS["L.7"].judge(right.assign(weight_change=right.kernel_change)).verdict == "fails"
    assert CLAIMS["L.8"].judge(right.assign(half_time=[np.ones((8, 3))] * len(right))).verdict == "fails"
    wide = [o * h for o, h in zip(right.outputs_lazy, right.width)]
    assert CLAIMS["L.1"].judge(right.assign(outputs_lazy=wide)).verdict == "fails"


def test_tiny_runs_judge_and_draw():
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    verdicts = {id_: claim.judge(table) for id_, claim in CLAIMS.items()}
    assert verdicts["L.10"].verdict == "holds", verdicts["L.10"]
    assert verdicts["L.16"].verdict == "holds", verdicts["L.16"]
    swapped = table.assign(share_end=table.share_start, share_start=table.share_end)
    assert CLAIMS["L.16"].judge(swapped).verdict == "fails"
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()
