"""The self-consistent learning curve where it is a quadratic equation: all modes alike."""

import math

import numpy as np
import pytest

from priorscope.probes import spectral_curve


@pytest.mark.parametrize("ridge", [0.0, 0.3, 7.0])
@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_equal_modes_by_hand(lam, ridge):
    """n = Mλ/(λ+κ) + r/κ is n κ² + (nλ - Mλ - r) κ - rλ = 0; g and E follow."""
    M, power = 10, 0.7
    for n in (3.0, 8.0):
        half = (n * lam - M * lam - ridge) / 2
        kappa = (-half + math.sqrt(half**2 + n * ridge * lam)) / n
        learnt = lam / (lam + kappa)
        wanted = M * power * (1 - learnt) ** 2 / (1 - M * learnt**2 / n)
        curve = spectral_curve([lam], [power], [n], multiplicities=[M], ridge=ridge)
        assert curve.kappa[0] == pytest.approx(kappa, rel=1e-8)
        assert curve.errors[0] == pytest.approx(wanted, rel=1e-7)
        assert curve.tails[0] == pytest.approx((M - n) * power)


def test_tails_are_those_of_the_smallest_eigenvalues_in_any_order():
    lam, power = np.array([0.1, 1.0, 0.01, 0.5]), np.array([3.0, 1.0, 4.0, 2.0])
    curve = spectral_curve(lam, power, [1.0, 2.5], multiplicities=[1, 1, 5, 1])
    assert curve.tails.tolist() == pytest.approx([2 + 3 + 5 * 4, 0.5 * 3 + 5 * 4])
    assert curve.table().n.tolist() == [1.0, 2.5]
    assert spectral_curve([1.0, 0.5], [1.0, 1.0], [5], ridge=0.1).errors[0] > 0  # a ridge needs no more modes
    with pytest.raises(ValueError, match="one power .and multiplicity. per eigenvalue; got 2, 1 and 2"):
        spectral_curve([1.0, 0.5], [1.0], [1])
