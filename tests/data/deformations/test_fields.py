"""Mode sums against the printed table and by hand, fields against the double sum, averages against many draws."""

from __future__ import annotations

import math

import pytest
import torch

from priorscope.data.deformations import (
    Fields,
    kept_modes,
    mean_displacement,
    mean_square_gradient,
    mode_sum,
    sample_fields,
    temperature_for,
)

# rule, cutoff, modes, S, δ² / n²T over the image and at the centre, ‖∇τ‖² / T exact and asymptotic
TABLE = [
    ("strict", 2, 1, 0.5000, 0.2500, 1.0000, 4.9, 15.5),
    ("strict", 3, 4, 1.0250, 0.5125, 1.0000, 19.7, 34.9),
    ("strict", 4, 8, 1.3788, 0.6894, 1.4000, 39.5, 62.0),
    ("strict", 5, 15, 1.7320, 0.8660, 1.5111, 74.0, 96.9),
    ("strict", 10, 69, 2.7200, 1.3600, 2.1393, 340.5, 387.6),
    ("strict", 15, 162, 3.3218, 1.6609, 2.4394, 799.4, 872.1),
    ("strict", 30, 675, 4.3749, 2.1874, 2.9995, 3331.0, 3488.2),
    ("strict", 100, 7754, 6.2451, 3.1225, 3.9403, 38264.5, 38757.8),
    ("padded", 1, 1, 0.5000, 0.2500, 1.0000, 4.9, 3.9),
    ("padded", 2, 3, 0.9000, 0.4500, 1.0000, 14.8, 15.5),
    ("padded", 3, 6, 1.2250, 0.6125, 1.4000, 29.6, 34.9),
    ("padded", 5, 19, 1.8779, 0.9390, 1.6650, 93.8, 96.9),
    ("padded", 15, 172, 3.3652, 1.6826, 2.4742, 848.8, 872.1),
    ("padded", 30, 703, 4.4055, 2.2027, 3.0082, 3469.2, 3488.2),
]


@pytest.mark.parametrize(("rule", "c", "n", "s", "image", "centre", "exact", "limit"), TABLE)
def test_mode_sums_are_those_of_the_table(rule, c, n, s, image, centre, exact, limit):
    assert len(kept_modes(c, rule)) == n
    assert mode_sum(c, rule) == pytest.approx(s, abs=6e-5)
    assert mean_displacement(1.0, c, 7, kind="image", rule=rule) ** 2 / 49 == pytest.approx(image, abs=6e-5)
    assert mean_displacement(1.0, c, 7, kind="centre", rule=rule) ** 2 / 49 == pytest.approx(centre, abs=6e-5)
    assert mean_square_gradient(1.0, c, rule) == pytest.approx(exact, abs=0.06)
    assert mean_square_gradient(1.0, c, rule, kind="asymptotic") == pytest.approx(limit, abs=0.06)


def test_modes_by_hand():
    assert sorted(map(tuple, kept_modes(3, "strict").tolist())) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert (1, 3) in set(map(tuple, kept_modes(3).tolist()))  # √10 < 3.5
    assert (2, 3) not in set(map(tuple, kept_modes(3).tolist()))  # √13 > 3.5
    with pytest.raises(ValueError, match="no mode has i² \\+ j² <= 1².*Use rule='padded'"):
        kept_modes(1, "strict")
    with pytest.raises(ValueError, match="rule must be 'padded' or 'strict'; got 'loose'"):
        kept_modes(3, "loose")
    with pytest.raises(ValueError, match="cutoff >= 1"):
        kept_modes(0.5)


def test_fields_are_the_double_sum_of_the_paper():
    fields = sample_fields(2, 4, 0.3, seed=1, dtype=torch.float64)
    u = torch.linspace(0, 1, 9, dtype=torch.float64)
    for component in range(2):
        slow = torch.zeros(2, 9, 9, dtype=torch.float64)
        for i in range(1, 5):
            for j in range(1, 5):
                wave = torch.sin(i * math.pi * u)[None, :] * torch.sin(j * math.pi * u)[:, None]  # rows are v
                slow += fields.coefficients[:, component, i - 1, j - 1, None, None] * wave
        torch.testing.assert_close(fields.values(9)[:, component], slow, atol=1e-14, rtol=0)
        assert (fields.values(9)[:, component] - slow.mT).abs().max() > 1e-2  # u and v cannot be exchanged
    torch.testing.assert_close(fields.pixels(9), 9 * fields.values(9), rtol=1e-14, atol=1e-14)


def test_gradients_are_those_of_the_fields():
    fields = sample_fields(1, 3, seed=0, dtype=torch.float64)
    fine = fields.values(801)[0]
    h = 1 / 800
    along = (fine[:, :, 2:] - fine[:, :, :-2]) / (2 * h)
    down = (fine[:, 2:] - fine[:, :-2]) / (2 * h)
    exact = fields.gradient(801)[0]
    assert (exact[:, 0, :, 1:-1] - along).abs().max() < 1e-3  # h² × third derivatives
    assert (exact[:, 1, 1:-1] - down).abs().max() < 1e-3
    assert (exact[:, 1, :, 1:-1] - along).abs().max() > 0.1


def test_the_frame_stays_where_it_is():
    for dtype in (torch.float32, torch.float64):
        values = sample_fields(5, 6, 10.0, seed=0, dtype=dtype).values(17)
        frame = torch.cat([values[..., 0, :], values[..., -1, :], values[..., 0], values[..., -1]])
        assert (frame == 0).all()
        assert values.abs().max() > 0.1


@pytest.mark.parametrize(("rule", "c"), [("strict", 3), ("padded", 5)])
def test_averages_over_many_fields(rule, c):
    T, n = 2e-3, 17
    fields = sample_fields(20_000, c, T, rule=rule, seed=3, dtype=torch.float64)
    squares = fields.square_gradient()
    noise = squares.std() / len(squares) ** 0.5
    assert (squares.mean() - mean_square_gradient(T, c, rule)).abs() < 3 * noise
    assert (squares.mean() - mean_square_gradient(T, c + 1, rule)).abs() > 3 * noise  # it can fail
    moved = fields.pixels(n).square().sum(1)  # |displacement|² at every pixel
    centre = moved[:, n // 2, n // 2]
    expected = mean_displacement(T, c, n, kind="centre", rule=rule) ** 2
    assert (centre.mean() - expected).abs() < 3 * centre.std() / len(centre) ** 0.5
    image = moved[:, :-1, :-1].mean((1, 2))  # the mean over a whole period is exact for modes below n − 1
    expected = mean_displacement(T, c, n, kind="image", rule=rule) ** 2
    assert (image.mean() - expected).abs() < 3 * image.std() / len(image) ** 0.5


def test_the_norm_of_the_gradient_is_the_integral():
    fields = sample_fields(3, 3, seed=0, dtype=torch.float64)
    g = fields.gradient(201).square().sum((1, 2))
    weights = torch.ones(201, dtype=torch.float64)
    weights[[0, -1]] = 0.5  # trapezia, exact for these waves
    integral = (g * weights * weights[:, None]).sum((1, 2)) / 200**2
    torch.testing.assert_close(fields.square_gradient(), integral, rtol=1e-12, atol=0)


def test_temperature_and_displacement_are_inverse_and_agree_at_large_cutoff():
    for kind in ("asymptotic", "image", "centre"):
        T = temperature_for(1.3, 4, 20, kind=kind, rule="strict")
        assert mean_displacement(T, 4, 20, kind=kind, rule="strict") == pytest.approx(1.3)
    grown = mean_displacement(1, 1000, 1, kind="image") ** 2 - mean_displacement(1, 250, 1, kind="image") ** 2
    assert grown == pytest.approx(math.pi / 4 * math.log(4), rel=5e-3)  # eq. 3 lacks a constant, which cancels
    with pytest.raises(ValueError, match="ln\\(cutoff\\), which is 0 at cutoff 1.*kind='image'"):
        temperature_for(1.0, 1, 32)
    with pytest.raises(ValueError, match="kind must be"):
        mean_displacement(1.0, 3, 32, kind="corner")


def test_seeds_generators_and_bad_temperatures():
    a, b = (sample_fields(3, 3, 1.0, seed=5).coefficients for _ in range(2))
    assert torch.equal(a, b)
    g = torch.Generator().manual_seed(5)
    assert torch.equal(sample_fields(3, 3, 1.0, seed=g).coefficients, a)
    assert not torch.equal(sample_fields(3, 3, 1.0, seed=g).coefficients, a)  # the generator has moved on
    torch.manual_seed(5)
    assert torch.equal(sample_fields(3, 3, 1.0).coefficients, a)
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite temperature >= 0"):
            sample_fields(1, 3, bad)
    with pytest.raises(ValueError, match="coefficients of fields have shape \\(N, 2, m, m\\)"):
        Fields(torch.zeros(2, 3, 3))
