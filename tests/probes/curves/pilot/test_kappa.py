"""The effective regularisation of a pilot where it is known: samples that know nothing of each other."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.probes.curves.pilot import leave_one_out, nested_regression


@pytest.mark.parametrize("n", [6, 41])
def test_kappa_of_independent_samples_falls_like_one_over_their_number(n: int) -> None:
    """K = k I: 1/tr K_pp^-1 = k/p, so that leaving one of n out must give k/(n - 1), not k/n."""
    gram, y = 3.0 * np.eye(n), np.ones((n, 1))
    assert leave_one_out(gram, y).kappa[0] == pytest.approx(3.0 / (n - 1), rel=1e-12)
    assert leave_one_out(gram, y, ridge=2.0).kappa[0] == pytest.approx(5.0 / (n - 1), rel=1e-12)
    prefixes = nested_regression(gram, y, np.array([2, n - 1]), orderings=1)
    np.testing.assert_allclose(prefixes.kappa, [3.0 / 2, 3.0 / (n - 1)], rtol=1e-12)


def test_kappa_one_below_the_whole_is_near_that_of_the_prefixes() -> None:
    """For kappa ~ p^-1.3, n/(n - 1) times its value at n differs from its value at n - 1 by 0.3/n."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 3))
    gram = np.exp(-np.linalg.norm(x[:, None] - x[None], axis=-1))
    one_out = [1 / np.trace(np.linalg.inv(np.delete(np.delete(gram, i, 0), i, 1))) for i in range(80)]
    found = leave_one_out(gram, np.ones((80, 1))).kappa[0]
    assert found == pytest.approx(np.mean(one_out), rel=1 / 80)
    assert found != pytest.approx(1 / np.trace(np.linalg.inv(gram)), rel=1e-3)
