"""The risk of random features against the recorded closed form, limits, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.probes import random_features_risk, simulate_random_features


def test_the_ridgeless_closed_form_of_chi():
    """χ at zero ridge has a formula of its own."""
    from priorscope.probes.limits.random_features._risk import _overlap

    for psi1, psi2, z2 in ((0.75, 3.0, 2.75), (4.5, 3.0, 2.75), (2.0, 9.0, 0.3)):
        psi = min(psi1, psi2)
        q = psi * z2 - z2 - 1
        assert -_overlap(psi1, psi2, z2, 0.0) == pytest.approx(
            -(np.sqrt(q * q + 4 * z2 * psi) + q) / (2 * z2), rel=1e-10
        )


def test_recorded_values_peak_and_descent():
    """ReLU, n/d = 3, noise 1/4: values of an independent prototype."""
    wanted = {0.25: 0.82, 0.5: 0.87, 0.75: 1.55, 0.9: 3.88, 1.1: 4.06, 1.5: 0.90, 2: 0.50, 4: 0.24, 8: 0.165}
    for ratio, value in wanted.items():
        assert random_features_risk(3 * ratio, 3.0, noise=0.25).single == pytest.approx(value, rel=0.02)
    assert random_features_risk(3.0, 3.0, noise=0.25).single > 1e4


def test_the_ensemble_is_flat_beyond_the_threshold():
    values = [random_features_risk(3 * r, 3.0, noise=0.25).ensemble for r in (1.01, 1.5, 4, 100)]
    np.testing.assert_allclose(values, values[0], rtol=1e-3)
    assert random_features_risk(1.5, 3.0, noise=0.25).ensemble > 1.2 * values[0]
    wide = random_features_risk(3000.0, 3.0, noise=0.25)
    assert wide.single == pytest.approx(wide.ensemble, rel=0.01)  # a kernel has no initialisation
    some = random_features_risk(6.0, 3.0, noise=0.25)
    assert some.of(1) == some.single
    assert some.of(1e9) == pytest.approx(some.ensemble)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("features", [60, 360])
def test_simulation_agrees(ridge, features):
    theory = random_features_risk(features / 60, 3.0, noise=0.25, ridge=ridge)
    runs = np.array(
        [simulate_random_features(60, 180, features, members=6, ridge=ridge, n_test=600, seed=s) for s in range(8)]
    )
    noise = runs.std(0, ddof=1) / len(runs) ** 0.5
    wanted = np.array([theory.single, theory.of(6)])
    assert (abs(runs.mean(0) - wanted) < 4 * noise + 0.04 * wanted).all()  # corrections of order 1/d at d = 60
    assert abs(runs.mean(0)[0] - theory.ensemble) > 4 * noise[0]


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="psi1 > 0"):
        random_features_risk(0.0, 3.0)
    with pytest.raises(ValueError, match="a linear and a nonlinear part"):
        random_features_risk(1.0, 3.0, activation="abs")
    with pytest.raises(ValueError, match="a linear and a nonlinear part"):
        random_features_risk(1.0, 3.0, activation="linear")
