"""A planted symmetry is found, the averaged architecture is offered, and its saving is told with where the curves cross."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.curves import Needed
from priorscope.data.groups import Move
from priorscope.judge import METRICS
from priorscope.probes import LabelMove
from priorscope.profiles._invariants import invariants, shared_groups
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._built_in import BUILT_IN, BuiltIn, _saving
from priorscope.statistics import Interval

WRONG = METRICS["misclassification"]


def symmetry(move, kept):
    return LabelMove(Move(move), agreement=0.9 if kept else 0.5, baseline=0.9, chance=0.5, gain=1.0)


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ((), []),
        (("mirror",), ["mirror"]),
        (("reversal",), ["mirror"]),
        (("upside down",), []),
        (("mirror", "upside down"), ["flips"]),
        (("quarter turn",), ["p4"]),
        (("quarter turn", "mirror"), ["p4m"]),
        (("quarter turn", "upside down", "sign flip"), ["p4m", "sign"]),
        (("shift by 1", "sign flip"), ["sign"]),
    ],
)
def test_the_largest_group_whose_moves_all_keep_the_labels(kept, wanted):
    moves = ("mirror", "upside down", "quarter turn", "sign flip", "shift by 1", "reversal")
    assert shared_groups([symmetry(move, move in kept) for move in moves]) == wanted


@pytest.fixture(scope="module")
def turned():
    """Four random pictures in two classes, each turned by a random number of quarters, with noise; and their profile."""
    source = torch.Generator().manual_seed(0)
    pictures = torch.randn(4, 1, 4, 4, generator=source)
    which = torch.randint(4, (300,), generator=source)
    turns = torch.randint(4, (300,), generator=source).tolist()
    x = torch.stack([pictures[i].rot90(k, (-2, -1)) for i, k in zip(which, turns)])
    x = x + 1.3 * torch.randn(x.shape, generator=source)
    return ps.profile(x.numpy(), (which % 2).numpy(), candidates=["fcn-1"], deep=False, budget=20)


def test_a_planted_symmetry_becomes_a_contender_that_saves_samples(turned):
    race = turned.race
    offered = invariants(race)
    assert [c.name for c in offered] in (["fcn-1/p4"], ["fcn-1/p4m"])
    race.enter(offered)
    after = turned.continue_(20)
    assert after.best.name == offered[0].name
    scene = Scene.of(race, after.rows, 80, None)
    assert BUILT_IN.fits(scene)
    found = BUILT_IN.measure(scene)
    assert isinstance(found, BuiltIn)
    assert found.savings[0].times.low > 1
    assert found.spoken() == found.sentences()[:1]
    assert found.sentences()[0].startswith("Building quarter turns")
    assert found.plain()["savings"][0]["averaged"] == offered[0].name
    made = after.build().fit(race.problem.x.reshape(-1, 1, 4, 4)[:200], race.problem.y[:200])
    said = made.predict(race.problem.x.reshape(-1, 1, 4, 4)[200:])
    moved = made.predict(np.rot90(race.problem.x.reshape(-1, 1, 4, 4)[200:], axes=(-2, -1)).copy())
    assert (said == moved).all()  # what is built has the symmetry


def test_nothing_is_offered_where_labels_do_not_share_a_move():
    x = torch.randn(90, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0, 0, 0] > 0).long()  # one corner decides
    rep = ps.profile(x.numpy(), y.numpy(), candidates=["fcn-1"], deep=False, budget=2)
    assert invariants(rep.race) == []
    assert not BUILT_IN.fits(Scene.of(rep.race, rep.rows, 80, None))


@dataclass
class Falls:
    """A curve :math:`c/n` with a band."""

    c: float
    low: float
    high: float
    sizes: np.ndarray

    def at(self, n):
        return Interval(self.c / n, self.low / n, self.high / n)

    @property
    def ahead(self):
        return self

    def needed(self, error):
        return Needed(error, max(self.c / error, 20.0), max(self.low / error, 20.0), max(self.high / error, 20.0), 1.0)


def test_the_saving_is_where_the_curves_cross(turned):
    """Errors 4/n and 1/n by hand: the averaged one reaches the plain one's error at 400 samples with 100, so 4 times fewer."""

    def row(c, low, high):
        return replace(turned.rows[0], curve=Falls(c, low, high, np.array([20, 2000])))

    plain, averaged = row(4, 4, 4), row(1, 0.5, 2)
    found = _saving(plain, averaged, "turns", 400)
    assert (found.times.value, found.times.low, found.times.high) == pytest.approx((4, 2, 8), rel=1e-6)
    back = _saving(averaged, plain, "turns", 400)
    assert back.times.value == pytest.approx(0.25, rel=1e-6)
    assert "is not forecast to save samples" in back.sentence(WRONG)
    assert BuiltIn(WRONG, (back,)).spoken() == []
    least = _saving(plain, row(0.001, 0.001, 0.001), "turns", 400)
    assert least.least
    assert "save 20 times the samples (at least 20)" in least.sentence(WRONG)
    wide = _saving(plain, row(1, 0.5, 5), "turns", 400)
    assert "may save 4 times the samples, though its 90 % band admits none" in wide.sentence(WRONG)
    assert BuiltIn(WRONG, (wide,)).spoken() == []
