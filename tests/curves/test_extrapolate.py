"""What an extrapolation says: ends, bounds, cautions and refusals."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import priorscope as ps
from priorscope.curves import KINDS, Curve, CurveCautionKind, extrapolate_many, luck_correlation

SIZES = np.array([64.0, 128.0, 256.0, 512.0, 1024.0])


def falling(c=0.05, a=2.0, alpha=0.5):
    return c + a * SIZES**-alpha


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_ends_keep_their_order_and_never_rise(kind):
    found = ps.extrapolate(SIZES, falling(), to=10_000, tests=2000, kind=kind)
    curve = found.curve(to=1e6)
    assert (curve["low"] <= curve["error"]).all()
    assert (curve["error"] <= curve["high"]).all()
    beyond = curve[curve["n"] >= 1024]
    assert (np.diff(beyond["error"]) <= 1e-9).all()
    assert (beyond["high"] <= found.at(1024).high + 1e-12).all()
    assert found.at(1024).contains(falling()[-1])
    assert 0 <= found.floor.low <= found.floor.value <= found.floor.high <= 1


def test_exact_losses_give_back_their_law():
    found = ps.extrapolate(SIZES, falling(c=1.0, a=20.0), to=16_384)
    true = 1.0 + 20.0 * 16_384**-0.5
    assert found.estimate.contains(true)
    assert not found.estimate.contains(2 * true)


def test_the_unit_of_a_loss_does_not_matter():
    one = ps.extrapolate(SIZES, falling(), to=9000, kind="network").estimate
    thousand = ps.extrapolate(SIZES, 1000 * falling(), to=9000, kind="network").estimate
    for end in ("low", "value", "high"):
        assert getattr(thousand, end) / 1000 == pytest.approx(getattr(one, end), rel=1e-6)


def test_order_of_the_points_does_not_matter():
    mixed = np.array([3, 0, 4, 2, 1])
    one = ps.extrapolate(SIZES, falling(), to=9000, tests=500)
    other = ps.extrapolate(SIZES[mixed], falling()[mixed], to=9000, tests=500)
    assert one.estimate == other.estimate
    assert one.errors.tolist() == other.errors.tolist()


def test_more_test_rows_narrow():
    few, many = (ps.extrapolate(SIZES, falling(), to=4096, tests=m).estimate for m in (200, 20_000))
    assert np.log(many.high / many.low) < 0.8 * np.log(few.high / few.low)


def test_samples_needed_and_gains_agree_with_the_curve():
    found = ps.extrapolate(SIZES, falling(), to=4096, tests=5000, kind="tree")
    needed = found.needed(0.09)
    assert found.at(needed.value).value == pytest.approx(0.09, rel=0.01)
    assert needed.low < needed.value < needed.high
    assert needed.reachable
    unreachable = found.needed(0.001)
    assert not unreachable.reachable
    assert "not reachable" in str(unreachable)
    assert 0 <= found.gain(2).low <= found.gain(2).value < found.gain(10).value
    assert found.worth(1024).value == pytest.approx(found.gain(2).value)
    with pytest.raises(ValueError, match="more samples than the 1,024 measured"):
        found.gain(0.5)


def test_points_that_rise_are_told():
    kinds = [c.kind for c in ps.extrapolate(SIZES, falling()[::-1], to=9000, tests=5000).cautions]
    assert CurveCautionKind.RISES in kinds
    assert not ps.extrapolate(SIZES, falling(), to=9000, tests=5000).cautions


def test_few_points_far_targets_and_few_mistakes_are_told():
    one = ps.extrapolate([100], [0.2], to=100_000, tests=50)
    assert [c.kind for c in one.cautions] == [CurveCautionKind.FEW, CurveCautionKind.FAR]
    assert one.estimate.high > 2 * one.estimate.low
    perfect = ps.extrapolate(SIZES, np.zeros(5), to=9000, tests=300)
    assert [c.kind for c in perfect.cautions] == [CurveCautionKind.NO_MISTAKES]
    assert 0 < perfect.estimate.value < perfect.estimate.high < 0.01


NOISES = ({"tests": 300}, {"tests": 1}, {"errors_se": 0.02}, {"errors_se": 0.0}, {})


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("sizes", [[2], [64], [10**6], [64, 64], [64, 128], [2, 4, 8, 16], [64, 91, 128, 4096, 65536]])
def test_finite_errors_of_at_least_zero_are_always_answered(sizes, noise):
    last, k = float(sizes[-1]), len(sizes)
    shapes = {
        "zero": np.zeros(k),
        "one": np.ones(k),
        "equal": np.full(k, 0.5),
        "rising": np.linspace(0.1, 0.9, k),
        "dropping": np.append(np.ones(k - 1), 0.0),
        "tiny": np.full(k, 1e-9),
    }
    curves = {name: Curve(sizes, errors, **noise) for name, errors in shapes.items()}
    with np.errstate(all="raise", under="ignore"):
        for to in (1.0, last, 10 * last, 1e9):
            found = extrapolate_many(curves, to=to)
            for one in found.each.values():
                ends = one.estimate
                assert 0 <= ends.low <= ends.value <= ends.high < np.inf
                assert to < last or ends.high <= one.at(last).high * (1 + 1e-12)
                assert "tests" not in noise or ends.high <= 1
            assert to != last or found.estimates["zero"].value < found.estimates["equal"].value
            assert np.isfinite(found.best_error().high)


def test_a_loss_below_its_standard_error_and_a_loss_of_zero_are_told():
    found = ps.extrapolate(SIZES, np.append(falling()[:-1], 0.0), to=4096)
    assert [c.kind for c in found.cautions] == [CurveCautionKind.NO_MISTAKES]
    assert "exactly zero" in found.warnings[0]
    within = ps.extrapolate([500], [1e-9], to=500, errors_se=0.02).estimate
    assert within.low < 0.01 < within.high < 0.1  # half of the standard error, give or take two of them


@pytest.mark.parametrize(
    ("sizes", "errors", "options", "words"),
    [
        ([64, 128], [0.3, -0.1], {"tests": 9}, "errors of at least 0"),
        ([64, 128], [30.0, 20.0], {"tests": 100}, "Give 0.12 rather than 12 %"),
        ([64, 128], [0.3], {}, "2 of them as there are sizes"),
        ([], [], {}, "finite numbers in sizes"),
        ([0, 128], [0.3, 0.2], {}, "at least 1 training sample"),
        ([64, np.nan], [0.3, 0.2], {}, "finite numbers in sizes"),
        ([64, 128], [0.3, 0.2], {"kind": "forest"}, "knows the kinds linear, tree"),
        ([64, 128], [0.3, 0.2], {"tests": 9, "errors_se": 0.1}, "not both"),
        ([64, 128], [0.3, 0.2], {"errors_se": -0.1}, "standard errors of at least 0"),
        ([64, 128], [0.3, 0.2], {"repeats": 0}, "repeats of at least 1"),
        ([64, 128], [0.3, 0.2], {"to": np.inf}, "finite number"),
        ([64, 128], [0.3, 0.2], {"level": 1.5}, "level"),
    ],
)
def test_what_cannot_be_extrapolated_is_refused(sizes, errors, options, words):
    with pytest.raises(ValueError, match=words):
        ps.extrapolate(sizes, errors, **{"to": 1000, **options})


def test_several_predictors_share_the_luck_of_their_test_rows():
    curve = Curve(SIZES, falling(), tests=300)
    close = Curve(SIZES, falling() * 1.02, tests=300)
    apart = extrapolate_many({"a": curve, "b": close}, to=1024)
    alike = extrapolate_many({"a": curve, "b": close}, to=1024, correlation=[[1.0, 0.99], [0.99, 1.0]])
    assert alike.regret().sum() < apart.regret().sum()
    assert apart.estimates == alike.estimates
    assert apart.probability_best().sum() == pytest.approx(1)
    assert apart.best_error().value < min(e.value for e in apart.estimates.values())  # the luckier of two
    far = extrapolate_many({"a": curve, "c": Curve(SIZES, falling() * 2, tests=300)}, to=1024)
    assert far.probability_within(0.1)["c"] < 0.02
    assert far.probability_within(0.1, least=1.0)["c"] == 1
    with pytest.raises(ValueError, match=r"correlation \(2, 2\)"):
        extrapolate_many({"a": curve, "b": close}, to=1024, correlation=[[1.0]])
    with pytest.raises(ValueError, match="at least one curve"):
        extrapolate_many({}, to=1024)
    with pytest.raises(ValueError, match="two rows or more"):
        luck_correlation([[1, 0]])


def test_steeper_curves_overtake():
    slow, fast = Curve(SIZES, 0.4 * SIZES**-0.1, tests=10**5), Curve(SIZES, 7.5 * SIZES**-0.5, tests=10**5)
    both = extrapolate_many({"slow": slow, "fast": fast}, to=5000)
    true = (7.5 / 0.4) ** 2.5  # where both laws meet: 0.4 n^-0.1 = 7.5 n^-0.5
    assert 0.6 * true < both.crossing("fast", "slow") < 1.7 * true
    assert both.crossing("slow", "fast") == 1024


def known(n, c, alpha):
    return c + 0.3 * (n / 64) ** -alpha


def test_simulated_curves_of_known_laws_are_covered():
    """Rows of one test set, each wrong where its own number lies below the error: the luck of all sizes is shared."""
    rng, sizes, covered, wide = np.random.default_rng(0), SIZES[:4], [], []
    for c in (0.0, 0.03, 0.1):
        for alpha in (0.25, 0.5, 0.9):
            for _ in range(6):
                hard = rng.uniform(size=1000)
                law = partial(known, c=c, alpha=alpha)
                seen = [(hard < law(n) * np.exp(0.02 * rng.standard_normal())).mean() for n in sizes]
                found = ps.extrapolate(sizes, seen, to=4096, tests=1000)
                covered.append(found.estimate.contains(law(4096)))
                wide.append(found.estimate.high / max(found.estimate.low, 1e-9))
    assert np.mean(covered) > 0.83  # 54 curves: two standard errors below 0.9
    assert np.median(wide) < 4  # and not because everything lies within
    shifted = ps.extrapolate(sizes, [2 * law(n) / 2.4 for n in sizes], to=4096, tests=1000)
    assert not shifted.estimate.contains(3 * law(4096))
