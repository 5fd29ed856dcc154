"""Spectra with known eigenvalues, tails and targets."""

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes import spectrum


def rotated(eigenvalues, seed=0):
    n = len(eigenvalues)
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    return (q * eigenvalues) @ q.T, q


def test_eigenvalues_tail_and_power_of_a_known_matrix():
    lam = np.arange(1, 301.0) ** -1.5
    gram, modes = rotated(lam * 300)
    target = 3 * modes[:, 0] + 4 * modes[:, 6]
    result = spectrum(torch.as_tensor(gram), target)
    np.testing.assert_allclose(result.eigenvalues, lam, rtol=1e-9)
    assert result.tail.exponent == pytest.approx(-1.5, abs=1e-6)
    assert result.tail.fit_range == pytest.approx((10.0, 75.0))
    np.testing.assert_allclose(result.cumulative_power[[0, 5, 6]], [0.36, 0.36, 1.0], atol=1e-10)
    assert result.effective_rank.value == pytest.approx(lam.sum() ** 2 / (lam**2).sum())
    by_hand = target @ gram @ target / (np.linalg.norm(gram) * target @ target)
    assert result.alignment == pytest.approx(by_hand)
    assert {"rank", "eigenvalue", "relative", "cumulative_power"} <= set(result.table())
    assert "layer" in str(result.chart().to_dict())


def test_the_interval_over_draws_covers_the_exponent_and_not_another():
    noise = np.random.default_rng(1)
    draws = np.stack(
        [rotated(np.arange(1, 201.0) ** -1.2 * noise.lognormal(0, 0.2, 200), seed=s)[0] for s in range(10)]
    )
    tail = spectrum(draws).tail
    assert tail.low < -1.2 < tail.high
    assert not tail.low < -1.0 < tail.high


def test_a_system_is_its_tangent_kernel_and_targets():
    x = torch.randn(20, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    arch = ps.models.fcn(depth=1)
    system = ps.System(ps.data.from_arrays(x, x[:, 0]), arch, ps.inference.KernelRegression())
    x = system.data.inputs.double()
    direct = spectrum(arch.kernel(x).ntk, x[:, 0])
    np.testing.assert_allclose(spectrum(system).eigenvalues, direct.eigenvalues, rtol=1e-6)
    assert spectrum(system).alignment == pytest.approx(direct.alignment)


def test_round_off_below_zero_is_repaired_and_reported():
    gram, _ = rotated(np.array([1.0, 0.5, 0.1, -1e-9]))
    result = spectrum(gram)
    assert result.eigenvalues.min() == 0
    assert result.repair == pytest.approx(1e-9 / 4, rel=1e-3)
    assert result.tail is None  # too few ranks to fit


@pytest.mark.parametrize(
    ("gram", "targets", "message"),
    [
        (np.ones((2, 3)), None, "square Gram"),
        (np.full((2, 2), np.nan), None, "finite"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), None, "symmetric"),
        (np.zeros((3, 3)), None, "ignores its input"),
        (np.eye(3), np.ones(2), "one target per sample"),
        (np.eye(3), np.zeros(3), "not all zero"),
    ],
)
def test_bad_input_is_named(gram, targets, message):
    with pytest.raises(ValueError, match=message):
        spectrum(gram, targets)


def test_a_model_without_data_is_told_what_is_missing():
    with pytest.raises(TypeError, match="kernel as a System .data, model, inference. or an array"):
        ps.probes.spectrum(ps.models.laplace())
    data = ps.data.digits().subset(30, seed=0)
    of_system = ps.probes.spectrum(ps.System(data, ps.models.laplace(), ps.inference.KernelRegression()))
    of_matrix = ps.probes.spectrum(ps.models.laplace().kernel(data.inputs).ntk)
    assert of_system.effective_rank.value == pytest.approx(of_matrix.effective_rank.value)


def test_targets_lie_along_the_modes_of_the_first_draw():
    rng = np.random.default_rng(0)
    grams = np.stack([g @ g.T for g in rng.normal(size=(3, 12, 12))])
    y = rng.normal(size=12)
    several, first = spectrum(grams, y), spectrum(grams[0], y)
    np.testing.assert_allclose(several.power, first.power)
    wanted = y @ grams[0] @ y / (np.linalg.norm(grams[0]) * (y @ y))  # Cristianini et al. 2001
    assert several.alignment == pytest.approx(first.alignment)
    assert several.alignment == pytest.approx(wanted)
    assert several.alignment != pytest.approx(spectrum(grams[2], y).alignment, rel=1e-3)
