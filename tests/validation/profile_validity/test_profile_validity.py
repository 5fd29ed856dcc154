"""What a profile recommends against every predictor: measures by hand, proxies by their formulas, problems apart."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from priorscope.data import digits, from_arrays
from priorscope.models import GroupAveraged, fcn, from_factory, invariant
from priorscope.profiles import Kind, Metric, Row, profile
from priorscope.profiles._candidates import default_candidates, variations
from priorscope.validation.profile_validity import _profile_validity, _reference, _validity_measures
from priorscope.validation.profile_validity._problems import DEVELOPMENT, HELD_OUT, Problem, draw, published
from priorscope.validation.profile_validity._profile_validity import MODULES, PAPER, Test
from priorscope.validation.profile_validity._validity_measures import ENOUGH

RESERVED = {"penbased", "splice", "satimage", "letter", "spambase", "coil2000"}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.DataFrame([{**p, **PAPER.run(p)} for p in PAPER.points("tiny")[1:2]])


def test_a_run_at_the_smallest_scale(table: pd.DataFrame) -> None:
    row = table.iloc[0]
    assert {"kernel machine", "network", "classical model"} == set(row["kinds"])
    assert row["n"] == 4 * row["pilot"]
    for name in ("k-fold", "boosting", "naswot", "synflow"):
        assert row[name] in row["rows"]
    assert len(row["error"]) == len(row["rows"]) == len(row["first_half"])
    assert np.isfinite([*row["error"], *row["built"]]).all()
    assert [claim.judge(table).verdict for claim in PAPER.claims] == ["not shown"] * len(PAPER.claims)
    assert PAPER.chart is not None
    assert PAPER.chart(table).to_dict()


def rows(**changes: object) -> pd.DataFrame:
    """Twelve equal problems: a kernel machine that was picked, a network, another, and a classical model that is best."""
    one = {
        "problem": "made", "of": "table", "rows": ["a", "b", "c", "boosted trees"],
        "kinds": ["kernel machine", "network", "network", "classical model"],
        "estimate": [0.2, 0.3, 0.4, 0.5], "low": [0.15, 0.2, 0.3, 0.4], "high": [0.25, 0.4, 0.5, 0.6],
        "worse": [False, False, True, True], "measured": [0.3, 0.4, 0.5, 0.2], "metric": "misclassification",
        "first_half": [0.22, 0.30, 0.40, 0.20], "second_half": [0.22, 0.30, 0.26, 0.20], "error": [0.22, 0.30, 0.33, 0.20],
        "built": [0.20, 0.20, 0.20], "chosen": "a", "n_test": 1000, "profile_seconds": 9.0, "proxy_seconds": 0.1,
        "k-fold": "boosted trees", "boosting": "boosted trees", "naswot": "c", "synflow": "b",
    }  # fmt: skip
    return pd.DataFrame([{**one, **changes}] * 12)


def test_excess_by_hand() -> None:
    half = 0.5 / 500
    row = rows().iloc[0]
    every = np.arange(4)
    want = (0.22 + half) / (0.20 + half)
    assert _validity_measures.excess(row, (0.22, 0.22), every) == pytest.approx(want)
    # among networks the first half names b (then judged on the second) and the second names c (judged on the first)
    pair = math.sqrt((0.30 + half) / (0.30 + half) * (0.30 + half) / (0.40 + half))
    assert _validity_measures.excess(row, (0.30, 0.30), np.array([1, 2])) == pytest.approx(pair)
    exact = rows(metric="rmse").iloc[0]
    assert _validity_measures.excess(exact, (0.22, 0.22), every) == pytest.approx(1.1)


def test_measures_by_hand() -> None:
    table = rows()
    found = _validity_measures.excess_of_pick(table)
    assert found.interval.value == pytest.approx(0.221 / 0.201 - 1)
    assert "right on 12 of 12" in found.note
    assert _validity_measures.built_right(table).interval.value == 1
    assert _validity_measures.built_right(rows(built=[0.23, 0.23, 0.23])).interval.value == 0
    assert _validity_measures.network_right(table).interval.value == 1
    assert _validity_measures.apart(table).interval.value == 0.5  # c has more errors than a, boosted trees fewer
    against = _validity_measures.picks_against
    assert against("boosting")(table).interval.value == 0  # both right
    assert (
        against("boosting")(rows(first_half=[0.22, 0.3, 0.4, 0.28], second_half=[0.22, 0.3, 0.4, 0.28])).interval.value
        == 1
    )
    assert against("synflow", networks=True)(table).interval.value == 0
    with pytest.raises(Exception, match="12 are wanted"):
        _validity_measures.excess_of_pick(table[: ENOUGH - 1])


def test_coverage_allows_for_the_noise_of_the_test_set() -> None:
    """An error of 0.253 outside [0.15, 0.25] is within the noise of 1,000 samples, and not of 100,000; 0.32 is not."""
    measure = _validity_measures.coverage("kernel machine")
    assert measure(rows(error=[0.253, 0, 0, 0])).interval.value == 1
    assert measure(rows(error=[0.253, 0, 0, 0], n_test=100_000)).interval.value == 0
    assert measure(rows(error=[0.32, 0, 0, 0])).interval.value == 0
    assert "median of measured over forecast: +26 %" in measure(rows(error=[0.253, 0, 0, 0])).note
    two = _validity_measures.coverage("network")(rows(error=[0.2, 0.3, 0.9, 0.2]))
    assert two.interval.value == 0.5


def test_errors_on_halves_and_by_class() -> None:
    data = draw("dev banana", 40, 60, 6)
    labels = data.test_labels.numpy()
    plain, even = Test(data, Metric.MISCLASSIFICATION), Test(data, Metric.BALANCED_ERROR)
    assert plain.errors(labels) == (0, 0, 0)
    assert plain.errors(1 - labels) == (1, 1, 1)
    zeros = np.zeros_like(labels)
    assert plain.errors(zeros)[2] == pytest.approx(labels.mean())
    assert even.errors(zeros) == (0.5, 0.5, 0.5)
    a, b = plain.halves
    assert len(a) == len(b) == 30
    assert sorted([*a, *b]) == list(range(60))


def test_outputs_of_networks_are_held_against_the_shares_of_the_classes() -> None:
    """One training label in ten is 1: by balanced error an output stands for it above 2 · 0.1 - 1 = -0.8."""
    y = np.arange(40) % 10 == 0
    x = np.random.default_rng(0).normal(size=(40, 2))
    true = np.array([0, 1, 0, 1])
    data = from_arrays(x, y.astype(int), test=(x[:4], true), classes="classes")
    outputs = np.array([-0.9, -0.7, -0.85, -0.2])[None, :, None]
    assert Test(data, Metric.BALANCED_ERROR).of_outputs(outputs)[2] == 0
    assert Test(data, Metric.MISCLASSIFICATION).of_outputs(outputs)[2] == 0.5  # both of class 1 are missed
    both = np.concatenate([outputs, -outputs])
    assert Test(data, Metric.BALANCED_ERROR).of_outputs(both)[2] == 0.25  # 0, and half of class 0 and 1 together


def test_naswot_of_an_averaged_network_by_hand() -> None:
    """Two samples of one pixel row, mirrored: the code of a sample is its own and its mirror image's."""
    net = GroupAveraged(nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(2, 1)), "mirror", (1, 1, 2))
    x = torch.tensor([[1.0, -1.0], [1.0, 1.0]]).reshape(2, 1, 1, 2)
    # codes (1,0 | 0,1) and (1,1 | 1,1): N = 4, Hamming distance 2
    assert _reference.naswot(net, x) == pytest.approx(math.log(4 * 4 - 2 * 2))


def test_naswot_by_hand() -> None:
    """Two hidden units whose signs are (1, 1), (1, 0) and (0, 0) for three inputs: K = [[2, 1, 0], [1, 2, 1], [0, 1, 2]]."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0], [1.0]]))
        net[0].bias.copy_(torch.tensor([0.0, -1.0]))
    x = torch.tensor([[2.0], [0.5], [-1.0]])
    assert _reference.naswot(net, x) == pytest.approx(math.log(4.0))


def test_synflow_by_hand() -> None:
    """Of the output |w2| |w1| with two layers of one weight each θ dR/dθ is the output itself: the sum is twice it."""
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU(), nn.Linear(1, 1, bias=False))
    with torch.no_grad():
        net[0].weight.fill_(-3.0)
        net[2].weight.fill_(0.5)
    assert _reference.synflow(net, (1,)) == pytest.approx(math.log(3.0))


def test_training_ends_where_the_held_out_error_stops_falling() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(100, 3, generator=g)
    y = x[:, :1] - 0.5 * x[:, 1:2]

    def make(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return nn.Linear(3, 1)

    rate, steps = _reference.best_training(make, x, y, (1e-5, 0.03), centre=False)
    assert rate == 0.03  # the other hardly moves
    assert 64 * 5 / 4 <= steps <= _reference.MOST * 5 / 4
    found = _reference.predictions(make, x, y, x, rate, steps, 2, centre=False)
    assert found.shape == (2, 100, 1)
    assert ((found - y.numpy()) ** 2).mean() < 1e-3


def test_held_out_problems_are_many_real_and_no_development_problems() -> None:
    assert len(HELD_OUT) >= 24
    assert sum(p.real for p in HELD_OUT.values()) >= 12

    def content(problem: Problem) -> tuple[str, str]:
        return problem.make.__name__, str(sorted(problem.options.items()))

    assert not {content(p) for p in HELD_OUT.values()} & {content(p) for p in DEVELOPMENT.values()}
    assert not {p.seed for p in HELD_OUT.values()} & {p.seed for p in DEVELOPMENT.values()}
    assert not {p.options.get("name") for p in (HELD_OUT | DEVELOPMENT).values()} & RESERVED
    assert {p["problem"] for p in PAPER.points("tiny")} <= set(DEVELOPMENT)
    assert {p["problem"] for p in PAPER.points("small")} == set(HELD_OUT)


def test_splits_do_not_share_samples() -> None:
    first = draw("dev Friedman", 40, 20, 8)
    assert (len(first.train), len(first.test), first.task) == (40, 20, "regression")
    assert not torch.isin(first.train.targets, first.test.targets).any()
    assert draw("dev pattern", 20, 10, 8).task == "classification"


def test_variations_change_the_nonlinearity_only() -> None:
    lap = next(c for c in default_candidates((1, 8, 8))[0] if c.family == "lap")
    found = variations(lap)
    assert [c.name for c in found] == ["lap-3-erf", "lap-3-gelu"]
    assert [len(c.model.layers) for c in found] == [len(lap.model.layers)] * 2
    assert variations(found[0]) == []


def test_data_that_end_early_are_judged_by_the_samples_there_are():
    """The same miss is inside the noise of 100 test samples and outside that of 100,000, whichever was asked for."""
    measure = _validity_measures.coverage("kernel machine")
    many, few = ({"error": [0.253, 0, 0, 0], "n_test": 100_000, **more} for more in ({}, {"tested": 100}))
    assert measure(rows(**few)).interval.value > measure(rows(**many)).interval.value == 0


def test_problems_without_networks_are_left_out_of_claims_about_them_and_named() -> None:
    none = rows(problem="flat", kinds=["kernel machine"] * 3 + ["classical model"], naswot="", synflow="")
    both = pd.concat([rows(), none], ignore_index=True)
    found = _validity_measures.network_right(both)
    assert found.interval.value == 1
    assert found.note.startswith("12 of 12 problems")
    assert "no networks on flat" in found.note
    assert "12 against" in _validity_measures.picks_against("synflow", networks=True)(both).note
    assert "of 24 problems" in _validity_measures.picks_against("boosting")(both).note
    with pytest.raises(Exception, match="0 problems, 12 are wanted"):
        _validity_measures.network_right(none)
    assert _profile_validity._proxies([], torch.zeros(3, 2)) == {"naswot": "", "synflow": ""}


def test_modules_in_order_by_hand() -> None:
    """Six problems with one pair right and one wrong each: a half, and tables play no part."""
    six = rows(of="modules", rows=["x", "y", "z"], worse=[False, True, True], error=[0.2, 0.3, 0.1])[:6]
    found = _validity_measures.modules_in_order(pd.concat([rows(), six], ignore_index=True))
    assert found.interval.value == 0.5
    assert "6 of 12 pairs told apart, of 12, on 6 of 6 problems" in found.note
    with pytest.raises(Exception, match="too few"):
        _validity_measures.modules_in_order(six[:5])
    with pytest.raises(Exception, match="12 are wanted"):
        _validity_measures.excess_of_pick(six)


def test_networks_averaged_over_a_group_are_judged_at_the_depth_of_what_is_averaged() -> None:
    row = profile_of_one(invariant(fcn(3), "sign"))
    make, depth = _profile_validity._factory(row, (4,), 1)
    assert depth == 3
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    network = make(0)
    torch.testing.assert_close(network(x), network(-x))
    plain, _ = _profile_validity._factory(profile_of_one(fcn(3)), (4,), 1)
    assert not torch.allclose(plain(0)(x), plain(0)(-x))  # the control


def profile_of_one(model: object) -> Row:
    """The network row of a profile with one candidate."""
    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(1))
    found = profile(x, (x[:, 0] * x[:, 1]).numpy(), candidates=[model], deep=False)
    return next(row for row in found.rows if row.kind is Kind.NETWORK)


def test_networks_of_the_judge_do_not_depend_on_the_unit_of_the_target() -> None:
    """Kilometres above the sea or metres below it: errors in their unit. They depended on it in version 7."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(160, 3, generator=g)
    y = x[:, 0] + 0.3 * torch.randn(160, generator=g)

    def error(shift: float, unit: float) -> float:
        far = (shift + unit * y).numpy()
        data = from_arrays(x[:100], far[:100], test=(x[100:], far[100:]))
        test = Test(data, Metric.RMSE)
        make = lambda seed: fcn(1).network((3,), width=16, outputs=1, seed=seed)  # noqa: E731
        return _profile_validity._trained(make, (0.01, 0.1), data, test, 1, centre=True)[2]

    near = error(0.0, 1.0)
    assert near < 0.6
    assert error(-4000.0, 1000.0) == pytest.approx(1000 * near, rel=0.02)


@pytest.mark.parametrize("name", list(MODULES))
def test_modules_of_users_take_images_and_tables_and_follow_their_seed(name: str) -> None:
    for shape in ((2, 5, 5), (4,)):
        x = torch.randn(6, *shape, generator=torch.Generator().manual_seed(0))
        one, same, other = (from_factory(MODULES[name], shape, 3, seed).eval() for seed in (0, 0, 1))
        assert one(x).shape == (6, 3)
        torch.testing.assert_close(one(x), same(x))
        assert not torch.allclose(one(x), other(x))


@pytest.mark.slow
def test_a_run_with_modules_of_the_user() -> None:
    point = next(p for p in PAPER.points("tiny") if p["of"] == "modules")
    found = PAPER.run(point)
    assert sorted(found["rows"]) == sorted(MODULES)
    assert set(found["kinds"]) == {"network"}
    assert np.isfinite(found["error"]).all()


def test_classes_of_images_are_counted_in_the_order_given() -> None:
    x, named = published(300, torch.Generator().manual_seed(0), 8, name="digits", classes=[7, 1])
    whole = digits()
    every = torch.cat([whole.inputs, whole.test.inputs]).flatten(1)
    label = torch.cat([whole.train_labels, whole.test_labels])
    true = label[torch.cdist(x.flatten(1), every).argmin(1)]
    assert set(true.tolist()) == {1, 7}
    assert (named == (true == 1).long()).all()
