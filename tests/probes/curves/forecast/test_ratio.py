"""The ratio of two forecasts from one pilot: exact where it must be, narrower than two intervals, right about known orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

import priorscope as ps


def _kernel(scale: float):
    return lambda a, b: torch.exp(-torch.cdist(a, b) / scale)


def _draw(n: int, seed: int) -> ps.data.Dataset:
    x = torch.randn(n, 2, generator=torch.Generator().manual_seed(seed))
    return ps.data.from_arrays(x, x[:, 0] + 0.5 * x[:, 1].abs(), test_fraction=0.0)


@pytest.fixture(scope="module")
def data() -> ps.data.Dataset:
    return _draw(150, 0)


def test_a_forecast_over_itself_is_one(data: ps.data.Dataset) -> None:
    found = ps.forecast(data, _kernel(2), n=600, pilot=150)
    ratio = found.ratio_to(found, 600)
    assert ratio.value == 1
    assert ratio.low < 1 < ratio.high
    assert math.log(ratio.high / ratio.low) < 0.5 * math.log(found.at(600).high / found.at(600).low)


def test_pairing_tells_apart_what_two_intervals_do_not(data: ps.data.Dataset) -> None:
    near, far = (ps.forecast(data, _kernel(s), n=600, pilot=150, ridge="tuned") for s in (2, 1))
    ratio, back = far.ratio_to(near, 600), near.ratio_to(far, 600)
    assert ratio.value == pytest.approx(far.at(600).value / near.at(600).value)
    assert far.at(600).low < near.at(600).high  # each by itself: not told apart
    assert ratio.low > 1
    assert back.value == pytest.approx(1 / ratio.value)
    np.testing.assert_allclose([back.low, back.high], [1 / ratio.high, 1 / ratio.low], rtol=0.1)
    more = _draw(600, 1)  # the control: how it came out on four times as many samples
    wide, narrow = (ps.probes.learning_curve(more, _kernel(s), pilot=None, ridge="tuned").error[-1] for s in (2, 1))
    assert ratio.contains(narrow / wide)


def test_pilots_of_two_sizes_are_independent(data: ps.data.Dataset) -> None:
    first, second = (ps.forecast(data, _kernel(2), n=300, pilot=n) for n in (150, 100))
    z = norm.ppf(0.95)
    widths = [math.log(f.at(300).high / f.at(300).low) / 2 / z for f in (first, second)]
    ratio = first.ratio_to(second, 300)
    assert math.log(ratio.high / ratio.value) == pytest.approx(z * math.hypot(*widths))


def test_noise_tells_no_kernel_from_its_double() -> None:
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(120, 3, generator=generator), torch.randn(120, generator=generator)
    data = ps.data.from_arrays(x, y, test_fraction=0.0)
    one, other = (ps.forecast(data, _kernel(s), n=480, ridge="tuned") for s in (1.0, 1.1))
    assert other.ratio_to(one, 480).contains(1.0)
