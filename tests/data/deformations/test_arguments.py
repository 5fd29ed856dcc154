"""Rules, cutoffs and seeds of deformations reach the fields; shapes are refused each for itself."""

from __future__ import annotations

import math

import pytest
import torch

from priorscope.data import deform
from priorscope.data.deformations import (
    displaced,
    fold_temperatures,
    mean_displacement,
    one_pixel,
    phase_grid,
    sample_fields,
)
from priorscope.data.deformations._fields import Fields
from priorscope.data.deformations._modes import kept_modes, mean_square_gradient

X = torch.rand(3, 1, 12, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("rule", ["padded", "strict"])
def test_deformed_images_are_displaced_by_fields_of_the_rule(rule):
    fields = sample_fields(3, 3, 1e-3, rule=rule, seed=4, dtype=torch.float64)
    found = deform(X, 1e-3, 3, rule=rule, seed=4, folds="allow")
    torch.testing.assert_close(found, displaced(X, fields.pixels(12)))
    table = phase_grid([0.0, 1e-3], [3], 12, n_fields=5, rule=rule)
    for kind in ("image", "centre"):
        assert table[kind].tolist() == pytest.approx(
            [mean_displacement(T, 3, 12, kind=kind, rule=rule) for T in (0.0, 1e-3)]
        )
    assert table["stretch"].iloc[0] == 0
    assert mean_square_gradient(2.0, 3, rule) == pytest.approx(math.pi**2 * len(kept_modes(3, rule)))


def test_rules_differ_and_the_limit_of_many_modes_is_linear_in_the_temperature():
    assert not torch.allclose(deform(X, 1e-3, 3, seed=4, rule="strict"), deform(X, 1e-3, 3, seed=4))
    assert mean_square_gradient(2.0, 5, kind="asymptotic") == pytest.approx(math.pi**3 / 8 * 25 * 2)
    assert mean_square_gradient(1.0, 60, "strict") == pytest.approx(
        mean_square_gradient(1.0, 60, kind="asymptotic"), rel=0.05
    )
    with pytest.raises(ValueError, match="kind must be"):
        mean_square_gradient(1.0, 3, kind="x")


def test_a_temperature_may_be_a_tensor_and_a_seed_a_generator():
    warm = torch.tensor(1e-3, dtype=torch.float64, requires_grad=True)
    moved = deform(X, warm, 3, seed=4)
    torch.testing.assert_close(moved.detach(), deform(X, 1e-3, 3, seed=4))
    (slope,) = torch.autograd.grad(moved.square().sum(), warm)
    step = 1e-8
    ahead, behind = (deform(X, 1e-3 + s, 3, seed=4).square().sum() for s in (step, -step))
    assert float(slope) == pytest.approx(float(ahead - behind) / (2 * step), rel=1e-3)
    by_generator = deform(X, 1e-3, 3, seed=torch.Generator().manual_seed(4))
    torch.testing.assert_close(by_generator, deform(X, 1e-3, 3, seed=4))
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="finite temperature >= 0"):
            sample_fields(2, 3, bad)


def test_a_finer_grid_sees_more_of_a_fold():
    coarse, fine = (
        fold_temperatures(3, n_fields=10, points=p) for p in (7, 61)
    )  # every point of the one is a point of the other
    assert (coarse.by_stretch >= fine.by_stretch - 1e-12).all()
    assert not torch.allclose(torch.as_tensor(coarse.by_stretch), torch.as_tensor(fine.by_stretch))


def test_sides_and_shapes():
    assert [one_pixel((1, n, n)).cutoff for n in (8, 9, 10, 11)] == [2, 2, 3, 3]
    assert [one_pixel(s) for s in ((1, 7, 7), (1, 10, 9), (10, 10), (1, 10, 10, 10))] == [None] * 4
    assert deform(torch.ones(3, 3), 0.0, 1).shape == (3, 3)
    with pytest.raises(ValueError, match="at least 3 × 3"):
        deform(torch.ones(2, 2), 0.0, 1)
    for shape in ((2, 2, 3), (2, 3, 3, 3), (2, 2, 3, 4)):
        with pytest.raises(ValueError, match="coefficients of fields"):
            Fields(torch.zeros(shape))
    for images, by in (
        (torch.zeros(1, 4, 4), torch.zeros(1, 2, 4)),
        (torch.zeros(2, 1, 4, 4), torch.zeros(1, 2, 4, 4)),
        (torch.zeros(1, 1, 4, 4), torch.zeros(1, 2, 4, 5)),
    ):
        with pytest.raises(ValueError, match="displaced needs images"):
            displaced(images, by)
