"""Claims as data, and the one rule: hand-made intervals on both sides of every bound."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import (
    Check,
    Claim,
    Measured,
    NotMeasured,
    above,
    at_least,
    at_most,
    below,
    between,
    claimed,
    falling,
    judge_claim,
    judge_interval,
    near,
    rising,
)
from priorscope.statistics import Interval, exact, fit_power_law

TABLE = pd.DataFrame({"x": [1.0, 2.0], "seed": [0, 1]})


def claim(*checks, **rest):
    return Claim("X.1", "Sec. 1", "it is so", checks=checks, **rest)


def fixed(name, interval, expect):
    return Check(name, lambda table: interval, expect)


@pytest.mark.parametrize(
    ("expect", "words", "inside", "across", "outside"),
    [
        (near(-0.5, within=0.1), "-0.5 ± 0.1", (-0.58, -0.41), (-0.62, -0.45), (-0.8, -0.61)),
        (between(2, 3), "between 2 and 3", (2.0, 3.0), (1.9, 2.5), (3.1, 4.0)),
        (below(1), "below 1", (0.2, 0.9), (0.2, 1.0), (1.0, 1.2)),
        (above(1), "above 1", (1.1, 1.2), (1.0, 1.2), (0.2, 1.0)),
        (at_most(1), "at most 1", (0.2, 1.0), (1.0, 1.2), (1.1, 1.2)),
        (at_least(1), "at least 1", (1.0, 1.2), (0.2, 1.0), (0.2, 0.9)),
        (rising(), "rising (above 0)", (1e-300, 1.0), (0.0, 1.0), (-1.0, 0.0)),
        (falling(), "falling (below 0)", (-1.0, -1e-300), (-1.0, 0.0), (0.0, 1.0)),
    ],
)
def test_inside_holds_outside_fails_across_is_not_shown(expect, words, inside, across, outside):
    assert str(expect) == words
    for ends, verdict in ((inside, "holds"), (across, "not shown"), (outside, "fails")):
        assert judge_interval(Interval(sum(ends) / 2, *ends), expect) == verdict
    around = Interval(0.0, -1e9, 1e9)
    assert judge_interval(around, expect) == "not shown"


def test_the_point_alone_never_decides():
    assert judge_interval(Interval(-0.5, -0.7, -0.3), near(-0.5, within=0.1)) == "not shown"
    assert judge_interval(Interval(5.0, -0.1, 10.0), rising()) == "not shown"


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((-0.55, -0.45), "holds"),
        ((-0.5, -0.45), "holds"),  # the value itself is enough
        ((-0.49, -0.45), "holds with changes"),  # about so: -0.5 is excluded
        ((-0.59, -0.51), "holds with changes"),
        ((-0.49, -0.39), "not shown"),
        ((-0.39, -0.2), "fails"),
    ],
)
def test_a_tolerance_does_not_stand_for_the_value_of_the_source(ends, verdict):
    expect = claimed(-0.5, within=0.1)
    assert judge_interval(Interval(sum(ends) / 2, *ends), expect) == verdict
    assert (
        judge_interval(Interval(sum(ends) / 2, *ends), near(-0.5, within=0.1)).split(" with")[0]
        == verdict.split(" with")[0]
    )
    found = judge_claim(
        claim(fixed("a", exact(-0.5), expect), fixed("b", Interval(sum(ends) / 2, *ends), expect)), TABLE
    )
    assert found.verdict == verdict
    assert ("excludes the source's value" in found.note) == (verdict == "holds with changes")


def test_a_range_of_the_source_is_met_anywhere():
    expect = claimed(2.8, 2.9, within=0.3)
    assert [judge_interval(exact(x), expect) for x in (2.8, 2.85, 2.9)] == ["holds"] * 3
    assert [judge_interval(exact(x), expect) for x in (2.6, 3.1)] == ["holds with changes"] * 2
    assert [judge_interval(exact(x), expect) for x in (2.4, 3.3)] == ["fails"] * 2
    with pytest.raises(ValueError, match="within >= 0; got -1"):
        claimed(1, within=-1)
    with pytest.raises(ValueError, match="value ≤ upper"):
        claimed(2, 1, within=1)


def steps(x: float, n: int) -> float:
    """The float n units in the last place above x (below for negative n)."""
    for _ in range(abs(n)):
        x = math.nextafter(x, math.copysign(math.inf, n))
    return x


def test_a_value_within_rounding_of_a_bound_lies_on_it_and_no_further():
    # 0.5 is a power of two: above it the spacing is eps / 2, so that 8 eps * 0.5 are 8 steps up
    assert judge_interval(exact(steps(0.5, 8)), at_most(0.5)) == "holds"
    assert judge_interval(exact(steps(0.5, 9)), at_most(0.5)) == "fails"
    assert judge_interval(exact(steps(0.5, 8)), above(0.5)) == "fails"
    assert judge_interval(exact(steps(0.5, 9)), above(0.5)) == "holds"
    assert judge_interval(exact(steps(0.5, -16)), at_least(0.5)) == "holds"  # below it the spacing is half as large
    assert judge_interval(exact(steps(0.5, -17)), at_least(0.5)) == "fails"
    assert judge_interval(exact(steps(0.5, -16)), below(0.5)) == "fails"
    assert judge_interval(exact(steps(0.5, -17)), below(0.5)) == "holds"


def test_means_of_correlations_on_the_bound_are_not_lost_to_rounding():
    """Four rank correlations whose mean is a half add up to a half less 6e-17."""
    rounded = -np.mean([1.0, 0.4, 0.4, 0.2])
    assert rounded != -0.5
    assert abs(rounded + 0.5) < 1e-15
    assert judge_interval(exact(rounded), at_most(-0.5)) == "holds"
    assert judge_interval(exact(-rounded), at_most(-0.5)) == "fails"
    assert judge_interval(exact(rounded + 1e-9), at_most(-0.5)) == "fails"  # and this is no rounding


def test_bounds_that_were_computed_carry_rounding_too():
    expect = near(0.3, within=0.3)  # the lower bound is 0, from numbers of size 0.3
    assert judge_interval(exact(-5e-17), expect) == "holds"
    assert judge_interval(exact(-1e-12), expect) == "fails"
    assert judge_interval(exact(-5e-17), at_least(0)) == "fails"  # a bound given as 0 is 0


def test_any_failure_fails_all_must_hold_and_changes_are_told():
    good, bad, open_ = (
        fixed(n, i, at_most(1)) for n, i in (("a", exact(0)), ("b", exact(2)), ("c", Interval(1, 0, 2)))
    )
    assert judge_claim(claim(good), TABLE).verdict == "holds"
    assert judge_claim(claim(good, open_), TABLE).verdict == "not shown"
    assert judge_claim(claim(good, open_, bad), TABLE).verdict == "fails"
    changed = claim(good, changes="for odd degrees only")
    verdict = judge_claim(changed, TABLE)
    assert (verdict.verdict, verdict.note) == ("holds with changes", "changed: for odd degrees only")
    assert judge_claim(dataclasses.replace(changed, checks=(bad,)), TABLE).verdict == "fails"
    three = judge_claim(claim(open_, good, bad), TABLE)
    assert (three.measured, three.low, three.high) == (1.0, 0.0, 2.0)  # those of the first
    assert [(c.name, c.verdict, c.expected) for c in three.checks] == [
        ("c", "not shown", "at most 1"),
        ("a", "holds", "at most 1"),
        ("b", "fails", "at most 1"),
    ]


def test_what_cannot_be_measured_is_not_shown_with_its_reason():
    def few(table):
        raise NotMeasured("fewer than three widths fit")

    verdict = judge_claim(claim(Check("slope", few, rising())), TABLE)
    assert (verdict.verdict, verdict.note, verdict.measured) == ("not shown", "fewer than three widths fit", None)
    also = judge_claim(claim(Check("slope", few, rising()), fixed("b", exact(2), at_most(1))), TABLE)
    assert (also.verdict, also.note) == ("fails", "slope: fewer than three widths fit")


@pytest.mark.parametrize("ends", [(math.nan,) * 3, (1.0, -math.inf, 2.0), (1.0, 0.5, math.inf), (1.0, math.nan, 2.0)])
def test_what_is_not_finite_is_not_shown(ends):
    verdict = judge_claim(claim(fixed("a", Interval(*ends), at_most(5))), TABLE)
    assert verdict.verdict == "not shown"
    assert verdict.note.startswith("not finite: ")


def test_notes_travel_and_wrong_returns_are_refused():
    noted = claim(fixed("a", Measured(exact(1), "largest of 2"), at_most(1)))
    assert judge_claim(noted, TABLE).note == "largest of 2"
    assert noted.judge(TABLE) == judge_claim(noted, TABLE)
    with pytest.raises(TypeError, match="must give an Interval"):
        judge_claim(claim(fixed("a", 1.0, at_most(1))), TABLE)
    with pytest.raises(ValueError, match="low ≤ high"):
        judge_claim(claim(fixed("a", Interval(1, 2, 0), at_most(1))), TABLE)


def test_a_claim_is_checked_when_it_is_made():
    one = {"measure": lambda table: exact(1), "expect": at_most(1)}
    assert Claim("X.1", "s", "says", **one).expects == "at most 1"
    a = fixed("a", exact(0), at_most(1))
    for wrong in ({}, {"measure": one["measure"]}, {"expect": one["expect"]}, {**one, "checks": (a,)}):
        with pytest.raises(ValueError, match="needs either checks, or one measure"):
            Claim("X.1", "s", "says", **wrong)
    with pytest.raises(ValueError, match="need different names; got a, a"):
        claim(a, a)
    with pytest.raises(ValueError, match="a claim's id is a word"):
        Claim("S 1", "s", "says", **one)
    with pytest.raises(ValueError, match="low ≤ high"):
        between(2, 1)
    with pytest.raises(ValueError, match="finite within >= 0; got -0.1"):
        near(1, within=-0.1)
    with pytest.raises(ValueError, match="at_most needs a finite x; got nan"):
        at_most(math.nan)


def test_a_value_that_is_nan_is_not_judged():
    with pytest.raises(ValueError, match="cannot be NaN; got NaN between 0.01 and 0.02"):
        judge_interval(Interval(math.nan, 0.01, 0.02), at_most(1))
    assert judge_interval(Interval(0.015, 0.01, 0.02), at_most(1)) == "holds"


def test_the_fingerprint_is_of_words_and_expectations():
    a, b = fixed("a", exact(0), at_most(1)), fixed("b", exact(0), near(1, within=0.5))
    base = claim(a, b)
    assert base.expects == "a: at most 1; b: 1 ± 0.5"
    assert base.fingerprint == claim(fixed("a", exact(7), at_most(1)), b).fingerprint  # what is measured is not in it
    assert base.fingerprint == dataclasses.replace(base, source="Sec. 2").fingerprint
    others = [
        dataclasses.replace(base, says="it is not so"),
        dataclasses.replace(base, changes="at large widths"),
        claim(a),
        claim(b, a),
        claim(dataclasses.replace(a, name="c"), b),
        claim(dataclasses.replace(a, expect=at_most(1.000000001)), b),  # the same words at six digits
        claim(dataclasses.replace(a, expect=below(1)), b),
    ]
    assert len({c.fingerprint for c in (base, *others)}) == 1 + len(others)


def test_a_power_law_gives_its_interval():
    fit = fit_power_law([1, 2, 4], [[8.0, 4.1, 2.0], [8.0, 3.9, 2.1]])
    assert fit.interval == Interval(fit.exponent, fit.low, fit.high)


def test_what_is_claimed_is_as_large_as_its_larger_end():
    """The allowance for rounding is in proportion to it, whatever the sign."""
    assert claimed(-3.0, -1.0, within=0.1).scale == 3
    assert claimed(1.0, 3.0, within=0.1).scale == 3
    assert claimed(0.0, within=0.2).scale == 0.2


INF = float("inf")


@pytest.mark.parametrize(
    ("interval", "verdicts"),
    [
        ((0.5, -INF, INF), ["not shown"] * 5),  # one seed tells nothing; the rounding of an infinite end is no rounding
        ((0.5, -INF, 0.8), ["not shown", "not shown", "holds", "not shown", "not shown"]),
        ((0.5, 0.2, INF), ["not shown", "holds", "not shown", "holds", "not shown"]),
        ((3.0, 2.5, INF), ["fails", "holds", "fails", "holds", "fails"]),
        ((-3.0, -INF, -2.0), ["fails", "fails", "holds", "fails", "fails"]),
        ((INF, INF, INF), ["fails", "holds", "fails", "holds", "fails"]),
    ],
)
def test_an_end_that_is_not_known_lies_beyond_every_bound(interval, verdicts):
    expected = (between(0, 1), above(0), below(1), at_least(0), claimed(0.5, within=0.3))
    assert [judge_interval(Interval(*interval), expect) for expect in expected] == verdicts


def test_what_fails_below_the_sources_size_is_not_reached():
    bad = fixed("a", exact(2), at_most(1))
    short = {"steps": (800, 97_500), "seeds": (4, 16)}
    far = dataclasses.replace(claim(bad, fixed("b", exact(0), at_most(1))), reach=("steps", "n_train"))
    verdict = judge_claim(far, TABLE, short)
    assert (verdict.verdict, verdict.note) == ("not reached", "short of the source: steps 800 of 97500")
    assert [check.verdict for check in verdict.checks] == ["not reached", "holds"]
    for other in (None, {}, {"seeds": (4, 16)}):  # at the source's size, or short only of what cannot change it
        assert judge_claim(far, TABLE, other).verdict == "fails"
    assert judge_claim(claim(bad), TABLE, short).verdict == "fails"  # the claim names nothing that could change it
    assert (
        judge_claim(dataclasses.replace(far, checks=(fixed("a", exact(0), at_most(1)),)), TABLE, short).verdict
        == "holds"
    )
    assert far.fingerprint != dataclasses.replace(far, reach=()).fingerprint


@pytest.mark.parametrize(
    ("accuracy", "trained"), [((0.33, 0.3, 0.36), False), ((0.92, 0.88, 0.96), False), ((0.97, 0.95, 0.99), True)]
)
def test_untrained_networks_decide_nothing(accuracy, trained):
    level = fixed("training accuracy", Interval(*accuracy), at_least(0.9))
    for value, word in ((0, "holds"), (2, "fails")):
        one = dataclasses.replace(claim(fixed("a", exact(value), at_most(1))), trained=level)
        verdict = judge_claim(one, TABLE, {"steps": (1, 2)})
        assert verdict.verdict == (word if trained else "not trained")
        assert verdict.note.startswith(
            f"training accuracy {accuracy[0]:g} [{accuracy[1]:g}, {accuracy[2]:g}], at least 0.9 presumed"
        )
    assert one.fingerprint != dataclasses.replace(one, trained=None).fingerprint


def test_an_undecided_interval_without_the_sources_value_is_not_reached():
    law = fixed("exponent", Interval(-0.58, -0.64, -0.52), claimed(-0.5, within=0.1))
    far = dataclasses.replace(claim(law), reach=("width",))
    assert judge_claim(far, TABLE, draws=8).verdict == "not shown"  # at the source's size more draws decide
    found = judge_claim(far, TABLE, {"width": (128, 2048)}, draws=8)
    assert (found.verdict, found.checks[0].more) == ("not reached", None)
    for other in (Interval(-0.55, -0.65, -0.45), Interval(-0.58, -0.64, -0.49)):  # with the source's value in it
        wide = dataclasses.replace(far, checks=(fixed("exponent", other, claimed(-0.5, within=0.1)),))
        assert judge_claim(wide, TABLE, {"width": (128, 2048)}).verdict == "not shown"
    one_sided = dataclasses.replace(far, checks=(fixed("gain", Interval(-0.1, -0.3, 0.1), above(0)),))
    assert judge_claim(one_sided, TABLE, {"width": (128, 2048)}).verdict == "not shown"
