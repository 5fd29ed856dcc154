"""Kernels of the distance against scikit-learn, textbook closed forms, many digits and their own symmetries."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import torch
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.metrics.pairwise import laplacian_kernel

import priorscope as ps
from priorscope.contracts import is_kernel_model, is_network_family, settled
from priorscope.models.kernels.classical._distances import median_distance, squared_distances
from priorscope.models.kernels.classical._matern import matern_of, matern_slope_of

KERNELS = [ps.models.laplace, ps.models.gaussian, ps.models.matern]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((70, 5)), rng.standard_normal((40, 5))


def matrix(model, x1, x2=None):
    return model.kernel(torch.tensor(x1), None if x2 is None else torch.tensor(x2)).ntk.numpy()


@pytest.mark.parametrize("nu", [0.25, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 3.3, 7.5])
def test_matern_is_that_of_scikit_learn(rows, nu):
    a, b = rows
    wanted = Matern(length_scale=1.7, nu=nu)
    np.testing.assert_allclose(matrix(ps.models.matern(nu, 1.7), a, b), wanted(a, b), rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(matrix(ps.models.matern(nu, 1.7), a), wanted(a), rtol=1e-11, atol=1e-15)
    other = Matern(length_scale=1.8, nu=nu)
    assert np.abs(matrix(ps.models.matern(nu, 1.7), a, b) - other(a, b)).max() > 1e-3


def test_gaussian_and_the_ends_of_the_family(rows):
    a, b = rows
    np.testing.assert_allclose(matrix(ps.models.gaussian(1.3), a, b), RBF(1.3)(a, b), rtol=1e-12)
    line = a[:, :1]  # scikit-learn's Laplacian takes the sum of absolute differences: the distance in one dimension
    np.testing.assert_allclose(matrix(ps.models.laplace(0.7), line), laplacian_kernel(line, gamma=1 / 0.7), rtol=1e-12)
    assert (matrix(ps.models.matern(0.5, 1.3), a, b) == matrix(ps.models.laplace(1.3), a, b)).all()
    assert np.abs(matrix(ps.models.matern(50, 1.3), a, b) - RBF(1.3)(a, b)).max() < 0.01
    assert np.abs(matrix(ps.models.matern(5, 1.3), a, b) - RBF(1.3)(a, b)).max() > 0.01


@pytest.mark.parametrize("nu", [0.3, 1.2, 4.0, 12.5, 50.0])
def test_any_smoothness_against_many_digits(nu):
    distances = [0.0, 1e-9, 1e-4, 0.02, 0.3, 1.0, 4.0, 30.0]
    found = matrix(ps.models.matern(nu, 1.0), np.zeros((1, 1)), np.array(distances)[:, None])[0]
    with mp.workdps(60):
        for r, k in zip(distances, found):
            z = mp.sqrt(2 * mp.mpf(nu)) * mp.mpf(r)
            wanted = 1 if r == 0 else 2 ** (1 - mp.mpf(nu)) / mp.gamma(nu) * z**nu * mp.besselk(nu, z)
            assert k == pytest.approx(float(wanted), rel=2e-12, abs=1e-300)


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.5, 1.0, 1.2, 1.5, 2.5, 3.2, 12.5, 50.0, math.inf])
def test_kernel_and_slope_at_every_distance_against_many_digits(nu):
    """From 1e-12 to 1e12 bandwidths: scipy's Bessel function is NaN beyond 1e9, which once came out as a kernel of 1."""
    squared = 10.0 ** np.arange(-24, 25, 1.0)
    kernels, slopes = (f(torch.tensor(squared), nu).numpy() for f in (matern_of, matern_slope_of))
    with mp.workdps(60):
        for s, k, slope in zip(squared, kernels, slopes):
            r = mp.sqrt(mp.mpf(float(s)))
            if nu == math.inf:
                wanted, rise = mp.exp(-(r**2) / 2), -mp.exp(-(r**2) / 2)
            else:
                z, lead = mp.sqrt(2 * mp.mpf(nu)) * r, 2 ** (1 - mp.mpf(nu)) / mp.gamma(nu)
                wanted = lead * z**nu * mp.besselk(nu, z) if z < 2000 else mp.mpf(0)
                rise = -2 * nu * lead * z ** (nu - 1) * mp.besselk(nu - 1, z) if z < 2000 else mp.mpf(0)
            assert k == pytest.approx(float(wanted), rel=1e-12, abs=1e-290), (nu, s)
            assert slope == pytest.approx(float(rise), rel=1e-12, abs=1e-290), (nu, s)
    assert kernels[-1] == slopes[-1] == 0


@pytest.mark.parametrize("scale", 10.0 ** np.arange(-8, 9, 4))
@pytest.mark.parametrize("bandwidth", [1e-8, 1.0, 1e8])
def test_units_of_inputs_and_bandwidth_cancel(rows, scale, bandwidth):
    """k depends on the distance over the bandwidth alone: against the direct sum in numpy, wherever it does not underflow."""
    a, b = scale * rows[0][:20], scale * rows[1][:20]
    r = np.sqrt((((a[:, None] - b[None]) / bandwidth) ** 2).sum(-1))
    for model, wanted in (
        (ps.models.laplace(bandwidth), np.exp(-r)),
        (ps.models.matern(1.5, bandwidth), (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r)),
        (ps.models.gaussian(bandwidth), np.exp(-(r**2) / 2)),
    ):
        np.testing.assert_allclose(matrix(model, a, b), wanted, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("make", [ps.models.laplace, ps.models.gaussian, lambda b: ps.models.matern(1.2, b)])
def test_distances_that_overflow_are_refused(make):
    x = torch.tensor([[0.0, 1.0], [1.0, -1.0], [0.3, 0.9]], dtype=torch.float64)
    for scale, bandwidth in ((1e160, 1.0), (1e100, 1e-300), (1e160, "median"), (1.7e308, 1.0)):
        with pytest.raises(ValueError, match="squares fit into double precision.*Rescale"):
            make(bandwidth).kernel(scale * x)
    with pytest.raises(ValueError, match="3 inputs within 1e-160 of each other"):
        make("median").kernel(1e-200 * x)
    assert make(1e100).kernel(1e100 * x).ntk[0, 1] == pytest.approx(make(1.0).kernel(x).ntk[0, 1].item(), rel=1e-12)


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("n", [9, 1500])
def test_symmetric_to_the_last_bit_and_one_for_equal_inputs(make, n):
    x = torch.randn(n, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 1e4
    x[-1] = x[0]
    K = make(2.0 if make is not ps.models.matern else 1.5).kernel(x).ntk
    assert bool((K.mT == K).all())
    assert bool((K.diagonal() == 1).all())
    assert K[0, -1] == 1
    torch.testing.assert_close(K[0], K[-1], rtol=1e-11, atol=0)
    assert float(K[0, 1]) < 1


def test_distances_keep_their_digits_far_from_the_origin():
    rng = np.random.default_rng(2)
    x = 1e6 + rng.standard_normal((50, 4)) * np.array([1.0, 1e-3, 1e-6, 1e-6])
    x[1] = x[0] + 1e-7
    direct = ((x[:, None] - x[None]) ** 2).sum(-1)
    np.testing.assert_allclose(squared_distances(torch.tensor(x), torch.tensor(x)).numpy(), direct, rtol=2e-13)
    plain = (x**2).sum(1)[:, None] + (x**2).sum(1) - 2 * x @ x.T  # what the textbook product gives
    assert np.abs(plain - direct).max() > 1e-4


def test_the_median_is_that_of_distinct_pairs_and_of_a_thousand_rows_at_most():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((101, 2))
    gaps = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))[np.tril_indices(101, -1)]
    assert median_distance(torch.tensor(x)) == pytest.approx(np.sort(gaps)[(len(gaps) - 1) // 2])
    many = torch.tensor(rng.standard_normal((5000, 2)))
    assert median_distance(many) == pytest.approx(median_distance(many[:1000]), rel=0.1)
    assert median_distance(torch.tensor([[0.0], [0.0], [0.0], [2.0]]).double()) == 2.0  # repeated inputs do not count
    with pytest.raises(ValueError, match="equal inputs. Give bandwidth as a number"):
        ps.models.laplace().kernel(torch.ones(3, 2))


def test_the_median_of_the_training_inputs_is_kept_for_predictions():
    rng = np.random.default_rng(4)
    x, far = torch.tensor(rng.standard_normal((40, 3))), torch.tensor(5 * rng.standard_normal((30, 3)))
    y = x[:, :1].sin()
    data = ps.data.from_arrays(x, y, dtype=torch.float64, test_fraction=0.0)
    sigma = median_distance(x)
    for inference in (
        ps.inference.KernelRegression(),
        ps.inference.GaussianProcess(),
        ps.inference.InfiniteEnsemble(ridge=1e-3),
    ):
        found = inference.fit(ps.models.laplace(), data)
        wanted = inference.fit(ps.models.laplace(sigma), data)
        torch.testing.assert_close(found.predict(far), wanted.predict(far), rtol=1e-12, atol=1e-12)
        if hasattr(found, "covariance"):
            torch.testing.assert_close(found.covariance(far), wanted.covariance(far), rtol=1e-12, atol=1e-12)
    assert median_distance(far) > 2 * sigma  # so that the wrong inputs would show
    assert settled(ps.models.fcn(1), x) == ps.models.fcn(1)


def test_it_is_a_kernel_model_for_everybody():
    model = ps.models.laplace()
    assert is_kernel_model(model)
    assert not is_network_family(model)
    assert [ps.models.load(name).name for name in ("laplace", "gaussian", "matern")] == [
        "laplace",
        "gaussian",
        "matern-1.5",
    ]
    assert ps.models.load("matern", nu=2.5, bandwidth=3.0) == ps.models.matern(2.5, 3.0)
    data = ps.data.digits(classes="parity").subset(150, seed=0)
    outcome = ps.System(data, model, ps.inference.KernelRegression()).run()
    assert outcome.test_accuracy > 0.85
    result = ps.forecast(data, model, 600, pilot=120, orderings=6)
    assert 0 < result.error[0] < 0.5
    assert ps.probes.spectrum(model.kernel(data.inputs).ntk).eigenvalues[0] > 0
    X, y = data.inputs.flatten(1).numpy(), data.targets[:, 0].numpy()
    fitted = ps.sklearn.NTKClassifier(ps.models.gaussian(), ridge=1e-3).fit(X[:100], y[:100])
    assert fitted.score(X[100:], y[100:]) > 0.8


def test_single_precision_inputs_give_a_kernel_of_double_precision():
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(5))
    K = ps.models.laplace(1.0).kernel(x)
    assert K.ntk.dtype is torch.float64
    assert K.nngp is K.ntk
    assert ps.models.laplace(1.0).kernel(x, kinds="ntk").nngp is None
    assert ps.models.laplace(1.0).kernel(x, dtype=torch.float32).ntk.dtype is torch.float32
    assert bool((ps.models.laplace(1.0).kernel_diagonal(x).nngp == K.ntk.diagonal()).all())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ps.models.laplace(0.0), "needs a finite bandwidth > 0, or 'median'"),
        (lambda: ps.models.laplace("mean"), "or 'median'; got 'mean'"),
        (lambda: ps.models.matern(-1.0), "nu > 0; got -1.0"),
        (lambda: ps.models.matern(51.0), "Use gaussian"),
        (lambda: ps.models.laplace(1.0).kernel(torch.tensor([[math.nan]])), "without NaN"),
        (lambda: ps.models.laplace(1.0).kernel(torch.zeros(2, 3), torch.zeros(2, 4)), "inputs of one size; got 3"),
        (lambda: ps.models.laplace(1.0).kernel(np.zeros((2, 3))), "as a tensor"),
        (lambda: ps.models.laplace(1.0).kernel(torch.zeros(2, 3), kinds="both"), "kinds must be"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
