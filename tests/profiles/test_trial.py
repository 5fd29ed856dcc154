"""Networks trained on the pilot: known errors, who takes part, and what becomes of the order."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from torch import Tensor, nn

import priorscope as ps
from priorscope.probes import learning_curve
from priorscope.profiles import Candidate, CandidateProfile, _run_off
from priorscope.profiles._baseline import Baseline
from priorscope.profiles._compare import merit, over
from priorscope.profiles._page import profile_page
from priorscope.profiles._run_off import rivals, run_off
from priorscope.profiles._trial import Recipe, Trial, _best_rate, _parts, cost, trial
from priorscope.profiles._user_network import UserNetwork
from priorscope.profiles._verdict import rank
from priorscope.statistics import Interval

HORIZON = 400
QUICK = Recipe(steps=120)


def _data(n: int = 120, d: int = 5) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(0))


def _tried(model: Any, x: Tensor, y: Tensor, recipe: Recipe = QUICK) -> Trial:
    found = trial(Candidate("m", model, "fcn", ""), x, y, _curve(), recipe)
    assert found is not None
    return found


def _curve() -> Any:
    return SimpleNamespace(sizes=np.array([10, 1000]), error=np.array([1.0, 0.01]), pilot=120)


def test_linear_networks_err_as_least_squares_on_the_same_folds() -> None:
    x = _data()
    y = x[:, :1] - 0.5 * x[:, 1:2] + 0.3 * torch.randn(120, 1, generator=torch.Generator().manual_seed(1))
    found = _tried(UserNetwork.fit(nn.Linear(5, 1), x, outputs=1), x, y, Recipe(steps=1000))
    inputs, targets, known = x.numpy(), y.numpy(), np.empty(120)
    for rows, left in _parts(120, 4, seed=0):
        fitted = LinearRegression().fit(inputs[rows], targets[rows])
        known[left] = ((fitted.predict(inputs[left]) - targets[left]) ** 2).mean(1)
    assert found.error == pytest.approx(known.mean(), rel=0.01)
    assert np.corrcoef(found.losses, known)[0, 1] > 0.999  # sample by sample
    assert found.n == 90


def test_kernel_regression_beside_it_is_at_the_same_size() -> None:
    x = _data(160)
    curve = learning_curve(ps.data.from_arrays(x, x[:, 0].tanh(), test_fraction=0.0), ps.models.fcn(1), pilot=160)
    found = trial(Candidate("fcn-1", ps.models.fcn(1), "fcn", ""), x, x[:, :1].tanh(), curve, Recipe(steps=4))
    assert found is not None
    assert found.kernel_error == pytest.approx(float(curve.error[list(curve.sizes).index(120)]))
    assert found.width == 256


@given(n=st.integers(20, 90), folds=st.integers(2, 6), seed=st.integers(0, 9))
def test_every_sample_is_tested_once_and_never_by_a_network_that_saw_it(n: int, folds: int, seed: int) -> None:
    parts = _parts(n, folds, seed)
    assert torch.cat([left for _, left in parts]).sort().values.tolist() == list(range(n))
    assert all(torch.cat(part).sort().values.tolist() == list(range(n)) for part in parts)


@given(best=st.integers(0, 4), wall=st.integers(0, 5))
def test_rate_is_found_where_errors_have_one_valley(best: int, wall: int) -> None:
    def error(rate: float) -> float:
        return math.nan if rate > best + wall else abs(rate - best)  # diverges above some rate

    assert _best_rate([0, 1, 2, 3, 4], error) == best


def test_operations_are_counted() -> None:
    x = _data()
    recipe = Recipe(folds=3, steps=10, neurons=7)
    dense = Candidate("fcn-1", ps.models.fcn(1), "fcn", "")
    assert cost(dense, x, 2, recipe) == 3 * recipe.samples * 2 * (5 * 7 + 7 * 2)
    image = torch.zeros(4, 1, 6, 6)
    conv = Candidate("gap-1", ps.models.gap(1), "gap", "")
    each = [cost(conv, image, 1, replace(recipe, channels=c)) for c in (8, 16)]
    assert each[1] == 2 * each[0]


def test_batches_of_one_do_not_stop_batch_normalisation() -> None:
    x = _data(44)  # 33 to train on in each of four folds: a batch of 32 would leave one over
    network = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    found = _tried(UserNetwork.fit(network, x, outputs=1), x, x[:, :1])
    assert found.error < float(x[:, 0].var())
    assert found.width is None


def test_training_that_diverges_is_no_trial() -> None:
    class Explodes(nn.Linear):
        def forward(self, inputs: Tensor) -> Tensor:
            return super().forward(inputs) * (math.nan if self.training else 1.0)

    x = _data()
    assert (
        trial(Candidate("m", UserNetwork.fit(Explodes(5, 1), x, 1), "user", ""), x, x[:, :1], _curve(), QUICK) is None
    )


# ---- who takes part


def _made(name: str, value: float, *, apart: bool = False, model: Any = None, pilot: int = 120) -> CandidateProfile:
    """A candidate of which only the forecast is known, told apart from others or not."""

    def ratio_to(other: Any, n: float) -> Interval:
        r = value / other.at(n).value
        return Interval(r, 0.999 * r, 1.001 * r) if apart else Interval(r, 0.5 * r, 2 * r)

    ahead: Any = SimpleNamespace(
        at=lambda n: Interval(value, 0.9 * value, 1.1 * value),
        ratio_to=ratio_to,
        curve=_curve() if pilot == 120 else SimpleNamespace(pilot=pilot),
        cautions=(),
        level=0.9,
    )
    family = name.partition("-")[0]
    candidate = Candidate(name, ps.models.fcn(1) if model is None else model, family, "")
    rest: Any = SimpleNamespace(cumulative_power=None, reached=False)
    return CandidateProfile(candidate, ahead, rest, rest, {}, None, None, 0.0, 0.0)


MEAN = Baseline(1.0, None)


def test_close_forecasts_take_part_unless_told_apart() -> None:
    close = [_made("a", 0.30), _made("b", 0.32), _made("c", 0.344)]
    assert [c.name for c in rivals(close[::-1], HORIZON, MEAN, 1)] == ["a", "b", "c"]
    far = [_made("a", 0.30), _made("b", 0.32, apart=True), _made("c", 0.35)]
    assert rivals(far, HORIZON, MEAN, 1) == []
    many = [_made(str(k), 0.30 + 0.001 * k) for k in range(8)]
    assert [c.name for c in rivals(many, HORIZON, MEAN, 1)] == list("012345")


def test_those_that_cannot_be_trained_do_not_take_part() -> None:
    kernel_only = SimpleNamespace(kernel=None)
    assert [
        c.name
        for c in rivals([_made("a", 0.3), _made("b", 0.3, model=kernel_only), _made("c", 0.31)], HORIZON, MEAN, 1)
    ] == ["a", "c"]
    assert rivals([_made("a", 0.3, model=kernel_only), _made("b", 0.31), _made("c", 0.31)], HORIZON, MEAN, 1) == []
    narrow = UserNetwork.fit(nn.Linear(5, 1), _data(), outputs=3)  # one output for three targets
    assert rivals([_made("a", 0.3), _made("b", 0.31, model=narrow)], HORIZON, MEAN, 3) == []
    assert (
        rivals([_made("a", 0.3), _made("b", 0.31, pilot=64)], HORIZON, MEAN, 1) == []
    )  # seen on a part of the pilot only
    assert rivals([_made("a", 1.2), _made("b", 1.21)], HORIZON, MEAN, 1) == []  # learns nothing
    assert rivals([_made("a", 0.3, pilot=12), _made("b", 0.31, pilot=12)], HORIZON, MEAN, 1) == []  # too few samples


def test_what_the_budget_does_not_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _data()
    close = [_made("a", 0.30), _made("b", 0.31, model=ps.models.fcn(3)), _made("c", 0.32)]
    monkeypatch.setattr(_run_off, "_STEPS", QUICK)
    shallow = cost(close[0].candidate, x, 1, QUICK)
    monkeypatch.setattr(_run_off, "_BUDGET", 2.5 * shallow)
    found, notes = run_off(close, lambda c: x, x[:, :1], HORIZON, MEAN)
    assert [c.name for c in found if c.trial is not None] == ["a", "c"]
    assert notes == ["b: training it on the pilot would take too long; ranked by its forecast"]
    monkeypatch.setattr(_run_off, "_BUDGET", 0.5 * shallow)
    found, notes = run_off(close, lambda c: x, x[:, :1], HORIZON, MEAN)
    assert not any(c.trial for c in found)
    assert len(notes) == 3


def test_no_run_off_without_the_best_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were trained come before all others: a run-off of the rest would put the best forecast behind them."""
    x = _data()
    close = [_made("a", 0.30, model=ps.models.fcn(3)), _made("b", 0.31), _made("c", 0.32)]
    monkeypatch.setattr(_run_off, "_STEPS", QUICK)
    shallow, deep = (cost(c.candidate, x, 1, QUICK) for c in (close[1], close[0]))
    assert deep > 2.5 * shallow
    monkeypatch.setattr(_run_off, "_BUDGET", 2.5 * shallow)  # enough for b and c
    found, notes = run_off(close, lambda c: x, x[:, :1], HORIZON, MEAN)
    assert found == close
    assert notes == ["a: training it on the pilot would take too long; ranked by its forecast"]


def test_a_network_that_fails_in_training_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn(nn.Linear):
        def forward(self, inputs: Tensor) -> Tensor:
            if self.training:
                raise RuntimeError("no training here")
            return super().forward(inputs)

    monkeypatch.setattr(_run_off, "_STEPS", QUICK)
    x = _data()
    close = [_made("a", 0.30), _made("b", 0.31, model=UserNetwork.fit(Stubborn(5, 1), x, 1)), _made("c", 0.32)]
    found, notes = run_off(close, lambda c: x, x[:, :1], HORIZON, MEAN)
    assert [c.name for c in found if c.trial is not None] == ["a", "c"]
    assert notes == ["b: could not be trained on the pilot (no training here); ranked by its forecast"]


# ---- what becomes of the order


def _with(c: CandidateProfile, error: float, noise: float = 0.0) -> CandidateProfile:
    losses = error * (1 + noise * np.random.default_rng(int(1e6 * error)).uniform(-1, 1, 120))
    return replace(c, trial=Trial(90, 0.2, 0.01, 256, losses / losses.mean() * error, 0.0))


def test_networks_on_the_pilot_decide_between_close_forecasts() -> None:
    a, b, c = _with(_made("a-1", 0.30), 0.5), _with(_made("b-1", 0.31), 0.4), _made("c-1", 0.305)
    order = rank([a, b, c], HORIZON, [], MEAN)
    assert [x.name for x in order] == ["b-1", "a-1", "c-1"]  # those tried come first
    assert order[0].verdict == "best in trial"
    assert order[1].ratio is not None
    assert order[1].ratio.value == pytest.approx(0.5 / 0.4)
    assert rank([_made("a-1", 0.30), _made("b-1", 0.31), c], HORIZON, [], MEAN)[0].verdict == "lowest forecast"


def test_a_candidate_below_the_pick_by_forecast_is_never_called_worse() -> None:
    pick, other = _with(_made("a-1", 0.33), 0.3), _with(_made("b-1", 0.30), 0.6)
    left = _made("c-1", 0.31, apart=True)
    order = rank([pick, other, left], HORIZON, [], MEAN)
    assert [c.name for c in order] == ["a-1", "b-1", "c-1"]
    assert order[2].ratio is not None
    assert order[2].ratio.high < 1
    assert order[2].verdict == "not told apart"


@given(st.floats(0.05, 2.0), st.floats(0.05, 2.0), st.floats(0.0, 0.9))
def test_ratio_turned_round_is_one_over_it(first: float, second: float, noise: float) -> None:
    a, b = _with(_made("a", 0.3), first, noise), _with(_made("b", 0.32), second, noise)
    there, back = over(a, b, HORIZON), over(b, a, HORIZON)
    assert there.value * back.value == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1)
    assert there.value == pytest.approx(merit(a, HORIZON) / merit(b, HORIZON))
    assert math.log(there.high / there.low) >= 2 * 1.64 * 0.15


def test_an_error_of_zero_is_the_lowest() -> None:
    none = _with(_made("a", 0.3), 0.3)
    none = replace(none, trial=replace(none.trial, losses=np.zeros(120)))  # type: ignore[type-var]
    assert over(_with(_made("b", 0.3), 0.3), none, HORIZON).low > 1


def test_few_samples_widen_the_ratio() -> None:
    quiet, loud = _with(_made("a", 0.3), 0.3), _with(_made("b", 0.3), 0.3)
    heavy = np.zeros(120)
    heavy[:6] = 6.0  # a few samples make the whole error
    loud = replace(loud, trial=replace(loud.trial, losses=heavy))  # type: ignore[type-var]
    wide, narrow = over(loud, quiet, HORIZON), over(quiet, quiet, HORIZON)
    assert wide.high / wide.low > 2 * narrow.high / narrow.low


# ---- the whole


def test_profile_trains_close_candidates_and_tells(capsys: pytest.CaptureFixture[str]) -> None:
    x = _data(140)
    y = (x[:, 0] * x[:, 1] + x[:, 2]).tanh()
    data = ps.data.from_arrays(x, y, test_fraction=0.0)
    candidates = [ps.models.fcn(1, bias_variance=0.1), ps.models.fcn(1, bias_variance=0.12), ps.models.fcn(6)]
    lines: list[str] = []
    report = ps.profile(data, candidates=candidates, deep=False, progress=lines.append)
    tried = [c for c in report.candidates if c.trial is not None]
    assert len(tried) == 2
    assert report.candidates[:2] == tuple(tried)
    assert sum("trained on the pilot" in line for line in lines) == 2
    table = report.table()
    assert table["trained on pilot"].notna().sum() == 2
    told = json.loads(report.to_json())["candidates"][0]["trained_on_the_pilot"]
    assert told["error"] == pytest.approx(tried[0].trial.error if tried[0].trial else 0)
    page = profile_page(report)
    assert "Networks were trained on the pilot only" in page
    assert "trained on the pilot" in " ".join(report.verdict())
    plain = ps.profile(data, candidates=candidates, deep=False, trials=False)
    assert not any(c.trial for c in plain.candidates)
    assert "No network was trained to the end" in profile_page(plain)
    assert "trained on pilot" not in plain.table()
