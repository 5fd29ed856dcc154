"""Words of the verdict: how sure the first place is, and whether anything is learnt at all."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.profiles import Candidate, CandidateProfile, Profile
from priorscope.profiles._baseline import Baseline, baseline_of
from priorscope.profiles._page import profile_page
from priorscope.profiles._verdict import rank
from priorscope.statistics import Interval


def _made(name: str, low: float, value: float, high: float, wrong: tuple[float, float] | None = None) -> Any:
    """A candidate of which only the forecast is known; its family and depth stand in the name."""
    ahead = SimpleNamespace(
        at=lambda n: Interval(value, low, high),
        ratio_to=lambda other, n: _ratio(Interval(value, low, high), other.at(n)),
        misclassification=lambda n: Interval(sum(wrong) / 2, *wrong) if wrong else None,
        cautions=(),
    )
    family, _, depth = name.partition("-")
    candidate = Candidate(name, None, family, f"words of {name}", {"depth": int(depth)} if depth else {})
    spectrum: Any = SimpleNamespace(cumulative_power=None)
    needed: Any = SimpleNamespace(reached=False)
    return CandidateProfile(candidate, ahead, spectrum, needed, {}, None, None, 0.0, 0.0)  # type: ignore[arg-type]


def _ratio(mine: Interval, other: Interval) -> Interval:
    return Interval(mine.value / other.value, mine.low / other.high, mine.high / other.low)


def _verdict(candidates: list[Any], baseline: Baseline) -> tuple[str, dict[str, str]]:
    ranked = rank(candidates, 400, [], baseline)
    task = "regression" if baseline.wrong is None else "classification"
    result = Profile("d", task, 1000, 100, 400, 0.1, baseline, ranked, (), (), (), 0.0, 0.0)
    return result.verdict()[0], {c.name: c.verdict for c in ranked}


FAR = Baseline(1.0, None)


def test_fits_best_only_where_clear_of_every_other_family() -> None:
    head, verdicts = _verdict([_made("gap-1", 0.1, 0.15, 0.2), _made("fcn-1", 0.21, 0.3, 0.4)], FAR)
    assert head == "gap-1 fits this data best: words of gap-1."
    assert verdicts == {"gap-1": "best fit", "fcn-1": "worse"}
    head, verdicts = _verdict([_made("gap-1", 0.1, 0.15, 0.2), _made("fcn-1", 0.19, 0.3, 0.4)], FAR)
    assert head == "gap-1 has the lowest forecast, but is not told apart from any other."
    assert verdicts == {"gap-1": "lowest forecast", "fcn-1": "not told apart"}
    # a relation that overlaps does not spoil it, though it is named; where there are only relations it does
    three = [_made("gap-1", 0.1, 0.15, 0.2), _made("gap-3", 0.15, 0.2, 0.25), _made("fcn-1", 0.21, 0.3, 0.4)]
    assert _verdict(three, FAR)[0].startswith("gap-1 fits this data best")
    assert _verdict(three[:2], FAR)[0].startswith("gap-1 has the lowest forecast")
    # two models of the user are no relations
    own = [_made("user", 0.1, 0.15, 0.2), _made("fcn-1", 0.21, 0.3, 0.4)]
    other = CandidateProfile(**{**vars(own[0]), "candidate": Candidate("other", None, "user", "")})
    assert "not told apart from other" in _verdict([*own, other], FAR)[0]
    assert _verdict(own[:1], FAR)[0].startswith("user is the only candidate")


def test_worse_by_less_than_a_tenth_is_a_little_worse() -> None:
    head, verdicts = _verdict([_made("vec-3", 0.149, 0.150, 0.151), _made("vec-1", 0.154, 0.155, 0.156)], FAR)
    assert verdicts == {"vec-3": "lowest forecast", "vec-1": "a little worse"}
    assert "vec-1 (a little worse)" in head
    _, verdicts = _verdict([_made("vec-3", 0.149, 0.150, 0.151), _made("vec-1", 0.169, 0.170, 0.171)], FAR)
    assert verdicts == {"vec-3": "best fit", "vec-1": "worse"}


@pytest.mark.parametrize(
    "ends, wrong, says",
    [
        ((0.9, 1.1, 1.3), None, "No candidate is forecast to learn anything from 400 samples"),
        ((0.7, 0.95, 1.3), None, "No candidate is sure to learn anything from 400 samples"),
        ((0.5, 0.7, 0.9), None, "fcn-1 is the only candidate"),
        ((0.9, 1.1, 1.3), (0.1, 0.3), "fcn-1 is the only candidate"),  # classes are told apart all the same
        ((0.9, 1.1, 1.3), (0.3, 0.6), "No candidate is forecast to learn anything"),
    ],
)
def test_nothing_is_learnt_where_the_mean_does_as_well(ends: Any, wrong: Any, says: str) -> None:
    head, _ = _verdict([_made("fcn-1", *ends, wrong=wrong)], Baseline(1.0, None if wrong is None else 0.5))
    assert head.startswith(says)


def test_baseline_is_the_error_of_the_mean_and_of_the_commonest_class() -> None:
    y = np.random.default_rng(0).standard_normal((50, 2))
    left_out = [(y[i] - np.delete(y, i, 0).mean(0)) ** 2 for i in range(50)]
    assert math.isclose(baseline_of(y).squared, np.mean(left_out) * 49 / 50, rel_tol=1e-12)
    assert baseline_of(y, np.array([0] * 30 + [1] * 20)).wrong == pytest.approx(0.4)


def test_noise_is_called_noise_and_warnings_reach_table_and_page() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(120, 6, generator=generator)
    noise = torch.randn(120, generator=generator)
    found = ps.profile(ps.data.from_arrays(x, noise, test_fraction=0.0), candidates=[ps.models.fcn(1)], deep=False)
    assert found.verdict()[0].startswith("No candidate is")
    assert "looks like noise" in " ".join(found.warnings)
    assert not any(c.learns for c in found.candidates if c.verdict == "learns nothing")
    page = profile_page(found)
    assert 'class="verdict open"' in page
    for c, told in zip(found.candidates, found.table()["warnings"], strict=True):
        assert c.forecast.warnings
        assert all(w in told for w in c.forecast.warnings)
        assert all(w in page for w in c.forecast.warnings)
    found = ps.profile(ps.data.from_arrays(x, x[:, 0], test_fraction=0.0), candidates=[ps.models.fcn(1)], deep=False)
    assert not found.verdict()[0].startswith("No candidate is")
