"""The paper at tiny scale, exact statements of its networks, and claims that know theory from its opposite."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.inference import GradientFlow
from priorscope.lab import judge_claim
from priorscope.models import DenseStack
from priorscope.papers.lazy_feature._lazy_feature import PAPER
from priorscope.papers.lazy_feature._measures import crossover
from priorscope.papers.lazy_feature._runs import deviation, split, top_share
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
    fitted = SimpleNamespace(trajectory=SimpleNamespace(loss=loss, times=times), predict=lambda x: x, seconds=0.0)
    assert float(half_times(fitted)[0]) == pytest.approx(10**1.5)
    assert crossover(np.array([0.1, 10.0]), np.array([[10.0], [0.1]])) == pytest.approx(1)
    kernel = torch.diag(torch.tensor([3.0, 2.0, 1.0]))[None]
    assert float(top_share(kernel, torch.tensor([[1.0], [0.0], [1.0]]))[0]) == pytest.approx(0.5)


def test_deviations_of_seeds_average_to_their_variance():
    outputs = torch.randn(2, 5, 30, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(deviation(outputs).mean(1), outputs.var(1).mean(1))


def verdict(id_: str, table: pd.DataFrame) -> str:
    return judge_claim(CLAIMS[id_], table).verdict


def known(a=lambda L: 2 * L / (L + 1), star=4.0) -> pd.DataFrame:
    """Sweeps that follow theory: exponents of both regimes, times in proportion, variance one over the width."""
    at = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e4])
    rows = []
    seeds = 1 + 0.01 * np.arange(-1, 2)
    for depth, width in ((2, 16), (2, 64), (2, 256), (1, 64), (3, 64)):
        change = np.where(at < star, (at / star) ** -a(depth), (at / star) ** -1)[:, None] * seeds
        rows.append(
            {"part": "sweep", "depth": depth, "width": width, "rescaled": at.tolist(), "kernel_change": change}
            | {"weight_change": (at ** -(1 / (depth + 1)))[:, None] * seeds, "half_time": 6 * at[:, None] * seeds}
            | {"deviation": np.ones((8, 1)) * seeds / width, "feature_row": 2}
            | {"end_error": 0.1 * seeds, "error": np.full((8, 3), 0.1), "lazy_distance": 1e-4 * seeds}
            | {"end_distance": 0.2 * seeds, "start_distance": 0.4 * seeds}
        )
    for width in (32, 128, 512):
        inner, outer = seeds / width, seeds / width**0.5
        start = {"part": "init", "depth": 3, "width": width, "noise": outer, "speed": np.stack([outer] * 3)}
        rows.append(start | {"weight_speed": np.stack([outer, inner, inner, outer])})
        few = seeds[:2] if width > 100 else seeds  # wide networks have fewer seeds
        rows.append({"part": "unit", "depth": 2, "width": width, "change": few / width})
    offset = {"error_raw": 0.3 * seeds, "error_centred": 0.1 * seeds, "finished_raw": np.ones(3)}
    return pd.DataFrame([*rows, {"part": "offset", "alpha": 10.0} | offset])


def test_claims_know_theory_from_its_opposite():
    right = known()
    for id_ in sorted(set(CLAIMS) - {"L.16"}):
        assert verdict(id_, right) == "holds", (id_, judge_claim(CLAIMS[id_], right))
    assert verdict("L.6", known(a=lambda L: 1.0)) == "fails"
    assert verdict("L.5", known(star=400.0)) == "fails"
    assert verdict("L.5", known(star=1e6)) == "not shown"
    assert verdict("L.7", right.assign(weight_change=right.kernel_change)) == "fails"
    assert verdict("L.7", right[right.depth != 3]) == "not shown"
    assert verdict("L.8", right.assign(half_time=[np.ones((8, 3))] * len(right))) == "fails"
    narrow = [d if p != "sweep" else d * h for d, h, p in zip(right.deviation, right.width, right.part)]
    assert verdict("L.1", right.assign(deviation=narrow)) == "fails"
    assert verdict("L.4", right.assign(noise=[1 + 0.01 * np.arange(3)] * len(right))) == "fails"
    assert verdict("L.9", right.assign(weight_speed=[np.ones((4, 3))] * len(right))) == "fails"
    assert verdict("L.10", right.assign(lazy_distance=[np.ones(3)] * len(right))) == "fails"
    assert verdict("L.11", right.assign(end_error=right.end_error + 0.05)) == "fails"
    assert verdict("L.11", right.assign(end_distance=right.start_distance * 2)) == "fails"
    assert verdict("L.13", right.assign(error_raw=right.error_centred)) == "fails"


def test_tiny_runs_are_measured_and_drawn(as_recorded):
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    as_recorded(PAPER, table)
    assert verdict("L.10", table) == "holds"
    assert verdict("L.16", table) == "holds"
    assert verdict("L.16", table.assign(share_end=table.share_start, share_start=table.share_end)) == "fails"
    assert PAPER.chart is not None
    assert "concat" in PAPER.chart(table).to_dict()
