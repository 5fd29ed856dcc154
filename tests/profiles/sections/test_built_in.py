"""A planted symmetry is found, the averaged architecture is offered, and its saving is told with where the curves cross."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.data.groups import Move
from priorscope.probes import LabelMove
from priorscope.profiles import Metric
from priorscope.profiles.sections._built_in import BuiltIn, Saving, _saving
from priorscope.profiles.sources._invariants import shared_groups
from priorscope.statistics import Interval


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
    return ps.profile(x.numpy(), (which % 2).numpy(), trials=False, deep=False, classical=False)


def test_a_planted_symmetry_becomes_a_candidate_that_saves_samples(turned):
    found = turned.findings["built_in"]
    assert isinstance(found, BuiltIn)
    averaged = found.savings[0].averaged
    assert averaged.partition("/")[2] in ("p4", "p4m")
    assert turned.rows[0].name == averaged  # and it is the best of all
    assert found.savings[0].times.low > 1
    assert found.sentences()[0].startswith("Building quarter turns")
    assert found.spoken() == found.sentences()[:1]
    assert found.spoken()[0] in turned.verdict()
    assert found.plain()["savings"][0]["averaged"] == averaged
    assert averaged in turned.code("kernel")
    assert turned.build("kernel").members[0][0] == averaged
    assert averaged in "".join(str(cell) for cell in found.page(None).tables[0].rows[0]["cells"])


def test_nothing_is_offered_where_labels_do_not_share_a_move():
    x = torch.randn(90, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0, 0, 0] > 0).long()  # one corner decides
    rep = ps.profile(x.numpy(), y.numpy(), trials=False, deep=False, classical=False)
    assert "built_in" not in rep.findings
    assert not any("/" in row.name for row in rep.rows)


def test_the_saving_is_where_the_curves_cross(turned):
    """Errors 4/n and 1/n by hand: the averaged one reaches the plain one's error at 400 samples with 100, so 4 times fewer."""
    grid = np.geomspace(20, 2000, 41)
    curve = replace(turned.rows[0].curve, grid=grid, ahead=4 / grid, ahead_low=4 / grid, ahead_high=4 / grid)
    fast = replace(curve, ahead=1 / grid, ahead_low=0.5 / grid, ahead_high=2 / grid)
    plain, averaged = (replace(turned.rows[0], curve=c) for c in (curve, fast))
    found = _saving(plain, averaged, "turns", 400)
    assert found.times.value == pytest.approx(4, rel=1e-6)
    assert (found.times.low, found.times.high) == pytest.approx((2, 8), rel=1e-6)
    back = _saving(averaged, plain, "turns", 400)
    assert back.times.value == pytest.approx(0.25, rel=1e-6)
    assert "is not forecast to save samples" in back.sentence(Metric.MISCLASSIFICATION)
    assert BuiltIn(Metric.MISCLASSIFICATION, (back,)).spoken() == []
    below = replace(fast, ahead=0.001 / grid, ahead_low=0.001 / grid, ahead_high=0.001 / grid)
    least = _saving(plain, replace(averaged, curve=below), "turns", 400)
    assert least.least
    assert "save 20 times the samples (at least 20)" in least.sentence(Metric.MISCLASSIFICATION)
    wide = _saving(plain, replace(averaged, curve=replace(fast, ahead_high=5 / grid)), "turns", 400)
    assert "may save 4 times the samples, though its 90 % band admits none" in wide.sentence(Metric.MISCLASSIFICATION)
    assert BuiltIn(Metric.MISCLASSIFICATION, (wide,)).spoken() == []
    assert isinstance(least, Saving)
    assert isinstance(least.times, Interval)
