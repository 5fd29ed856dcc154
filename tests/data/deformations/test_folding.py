"""Both forms of Ξ, the scaling with temperature, measured medians, and the bounds on temperature."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from priorscope.data.deformations import (
    Fields,
    fold_temperatures,
    highest_temperature,
    is_admissible,
    jacobian,
    lowest_temperature,
    phase_grid,
    sample_fields,
    stretch,
    temperature_for,
)

# cutoff: median of max Ξ at T_max, strict and padded (simulated elsewhere, 120 to 400 fields)
MEDIANS = {2: (0.54, 1.13), 3: (0.72, 0.93), 5: (0.81, 0.94), 8: (0.80, 0.88), 10: (0.82, 0.88), 15: (0.82, 0.85)}


def test_stretch_is_the_form_with_invariants_and_an_eigenvalue():
    g = sample_fields(4, 5, seed=0, dtype=torch.float64).gradient(31)
    matrix = g.movedim((1, 2), (-2, -1))
    frobenius, trace = matrix.square().sum((-1, -2)), matrix.diagonal(dim1=-2, dim2=-1).sum(-1)
    second = (torch.sqrt(frobenius - 2 * torch.linalg.det(matrix)) + trace) / 2  # eq. 12 with the sign put right
    torch.testing.assert_close(stretch(g), second, rtol=0, atol=1e-10)
    largest = torch.linalg.eigvalsh((matrix + matrix.mT) / 2)[..., -1]
    torch.testing.assert_close(stretch(g), largest, rtol=0, atol=1e-12)
    assert (stretch(g) - stretch(-g)).abs().max() > 0.1  # the printed sign is that of the opposite field
    torch.testing.assert_close(jacobian(g), torch.linalg.det(torch.eye(2).double() - matrix), rtol=0, atol=1e-12)


def test_a_map_folds_where_the_fold_temperature_says():
    found = fold_temperatures(3, n_fields=6, seed=2)
    fields = sample_fields(6, 3, seed=2, dtype=torch.float64)
    for factor, folds in ((0.98, False), (1.02, True)):
        for i in range(6):
            at = Fields(fields.coefficients[i : i + 1] * (factor * found.by_jacobian[i]) ** 0.5)
            assert bool((jacobian(at.gradient(25)) <= 0).any()) is folds
            at = Fields(fields.coefficients[i : i + 1] * (factor * found.by_stretch[i]) ** 0.5)
            assert bool((stretch(at.gradient(25)) >= 1).any()) is folds
    assert (found.by_jacobian >= found.by_stretch).all()  # the sufficient condition is the stricter one


def test_largest_stretch_grows_like_the_root_of_the_temperature():
    found = fold_temperatures(4, n_fields=30)
    assert found.median_stretch(4e-3) == pytest.approx(2 * found.median_stretch(1e-3), rel=1e-12)
    fields = sample_fields(30, 4, 2e-3, seed=0, dtype=torch.float64)
    direct = stretch(fields.gradient(25)).amax((1, 2)).numpy()
    assert found.median_stretch(2e-3) == pytest.approx(np.median(direct), rel=1e-10)
    with pytest.raises(ValueError, match="by must be 'stretch' or 'jacobian'"):
        found.share(1e-3, by="eye")


@pytest.mark.parametrize("c", list(MEDIANS))
def test_medians_are_as_simulated(c):
    for rule, wanted in zip(("strict", "padded"), MEDIANS[c]):
        found = fold_temperatures(c, n_fields=400, rule=rule)
        assert found.median_stretch(highest_temperature(c)) == pytest.approx(wanted, rel=0.05)


def test_tables_of_temperatures():
    printed = {
        8: (4.53e-3, 1.81e-2, 1.24e-2, 7.35e-3),
        16: (1.13e-3, 4.53e-3, 3.09e-3, 1.84e-3),
        28: (3.70e-4, 1.48e-3, 1.01e-3, 6.00e-4),
        32: (2.83e-4, 1.13e-3, 7.73e-4, 4.59e-4),
        320: (2.83e-6, 1.13e-5, 7.73e-6, 4.59e-6),
    }
    for n, row in printed.items():
        ours = (lowest_temperature(3, n), *(temperature_for(1.0, c, n) for c in (3, 5, 15)))
        assert ours == pytest.approx(row, rel=5e-3)
    for c, top in {2: 4.65e-2, 3: 1.30e-2, 5: 3.21e-3, 10: 5.60e-4, 15: 2.12e-4, 30: 4.21e-5}.items():
        assert highest_temperature(c) == pytest.approx(top, rel=5e-3)
    assert lowest_temperature(1, 32) == highest_temperature(1) == math.inf


@pytest.mark.parametrize("n", [8, 16, 28, 32, 64, 320])
def test_there_are_admissible_temperatures_below_a_cutoff(n):
    for c in np.linspace(1.5, n, 40).tolist():
        assert (lowest_temperature(c, n) < highest_temperature(c)) is (c < 2 * n / math.pi)
        assert is_admissible(temperature_for(1.0, c, n), c, n) is (c < n / math.pi)
    assert not is_admissible(0.0, 3, n)


def test_the_grid_has_the_numbers_of_its_parts():
    found = phase_grid([1e-4, 1e-3], [2, 3], 32, n_fields=40, seed=1)
    assert len(found) == 4
    row = found[(found.cutoff == 3) & (found.temperature == 1e-3)].iloc[0]
    folds = fold_temperatures(3, n_fields=40, seed=1)
    assert row.bijective == folds.share(1e-3)
    assert row.stretch == folds.median_stretch(1e-3)
    assert row.admissible
    assert (found.one_to_one >= found.bijective).all()
