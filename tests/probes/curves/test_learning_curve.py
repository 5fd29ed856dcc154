"""The measured curve: what it is made of, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import priorscope as ps


def test_curve_agrees_with_training_at_that_size() -> None:
    data = ps.data.digits("parity")
    curves = [ps.probes.learning_curve(data, ps.models.fcn(1), pilot=160, seed=seed) for seed in range(4)]
    n = int(curves[0].sizes[-4])
    K = ps.models.fcn(1).kernel(data.inputs, kinds=("ntk",)).ntk.double().numpy()
    y, rng, errors = data.targets.double().numpy(), np.random.default_rng(0), []
    for _ in range(10):
        train, test = np.split(rng.permutation(len(K)), [n])
        guess = K[np.ix_(test, train)] @ np.linalg.solve(K[np.ix_(train, train)], y[train])
        errors.append(((guess - y[test]) ** 2).mean())
    measured = np.array([c.error[-4] for c in curves])
    noise = np.hypot(measured.std(ddof=1) / 2, np.std(errors) / 10**0.5)
    assert abs(measured.mean() - np.mean(errors)) < 4 * noise
    assert abs(curves[0].error[0] - np.mean(errors)) > 4 * noise  # another size is another error
    curve = curves[0]
    assert (curve.low <= curve.error).all()
    assert (curve.error <= curve.high).all()
    assert set(curve.table()) == {"n", "error", "low", "high", "misclassified"}
    assert curve.chart().to_dict()


def test_messages() -> None:
    with pytest.raises(ValueError, match="ridge >= 0"):
        ps.probes.learning_curve(ps.data.digits(), ps.models.fcn(1), ridge=-1.0)
