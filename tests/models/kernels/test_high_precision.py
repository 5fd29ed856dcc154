"""Both paths against arithmetic of sixty digits, over sixteen decades of input scale and to depth 100: right, or refused."""

import sys
import warnings
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import torch

from priorscope import models as M
from priorscope.models.nonlinearities import Quadrature, nonlinearity

sys.path.insert(0, str(Path(__file__).parent))
from high_precision import CASES, fcn

SCALES = (1e-8, 1e-3, 1.0, 1e3, 1e8)
NETS = ((1, 1.5, 0.1), (3, 1.5, 0.0), (100, 0.5, 0.0), (100, 1.5, 0.1))  # depth, weight and bias variance
POLYNOMIALS = {"quadratic", "cubic", "polynomial", "hermite"}  # on the reference only
RECTIFIERS = {"relu", "leaky", "ab", "abs"}


def error(kernel, exact):
    """Of the off-diagonal relative to the diagonal's size, of the diagonal relative to itself."""
    size = mp.sqrt(abs(exact[1] * exact[2]))
    values = zip((kernel[0, 1], kernel[0, 0], kernel[1, 1]), exact, (size, *exact[1:]))
    return max(float(abs(mp.mpf(float(v)) - e) / s) if s else abs(float(v)) for v, e, s in values)


def judge(name, x, depth, w, b, path, second=None):
    """How far a kernel is off, (nngp, ntk), and how far it may be; None when it was refused."""
    phi, theirs = CASES[name]
    arch = M.fcn(depth, activation=phi, weight_variance=w, bias_variance=b)
    try:
        kernel = arch.kernel(torch.from_numpy(x), second, path=path)
    except ValueError as refused:
        if any(word in str(refused) for word in ("Multiply", "Divide", "Standardise")):  # it says what to do
            return None
        raise
    nngp, ntk = fcn(theirs, depth, w, b, x)
    # Where inputs have become alike, an angle below 1.2e-7 counts as zero: a rectifier's slope is then off by 2/π of it.
    alike = abs(1 - nngp[0] / mp.sqrt(nngp[1] * nngp[2])) < 1e-9 if nngp[1] and nngp[2] else False
    return error(kernel.nngp, nngp), error(kernel.ntk, ntk), 1e-7 if alike and name in RECTIFIERS else 1e-10


@pytest.mark.parametrize("path", ["reference", "fused"])
@pytest.mark.parametrize("name", CASES)
def test_kernels_are_right_at_all_scales_and_depths(name, path):
    right = 0
    for scale in SCALES:
        for depth, w, b in NETS:
            if name in POLYNOMIALS and (path == "fused" or depth > 3):
                continue
            x = scale * np.random.default_rng(3).standard_normal((2, 5))
            found = judge(name, x, depth, w, b, path)
            if found is not None:
                nngp, ntk, allowed = found
                assert nngp < 1e-10, (scale, depth, w, b)
                assert ntk < allowed, (scale, depth, w, b)
                right += 1
    assert right >= (0 if name in POLYNOMIALS and path == "fused" else 6 if name in POLYNOMIALS else 8)


@pytest.mark.parametrize("name", ["erf", "gelu", "rbf", "gaussian", "sine", "cosine", "relu", "sign"])
@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_equal_inputs_of_two_batches_are_equal_at_all_scales(name, scale):
    """Products of matrices round otherwise than single ones: that must not count as a difference of the inputs."""
    x = scale * np.random.default_rng(4).standard_normal((2, 40))
    for path in ("reference", "fused"):
        found = judge(name, x, 3, 1.5, 0.1, path, torch.from_numpy(x.copy()))
        assert found is not None
        assert max(found[:2]) < 1e-10


def test_nearly_equal_inputs_at_a_scale_where_their_difference_is_lost_are_refused():
    x = 1e8 * torch.randn(2, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[1] = x[0] * (1 + 1e-9)
    for phi in ("erf", "rbf", "gaussian", "sine"):
        for path in ("reference", "fused"):
            with pytest.raises(ValueError, match="nearly equal inputs at variance.*Standardise"):
                M.fcn(1, activation=phi).kernel(x, path=path)
    M.fcn(1, activation="relu").kernel(x)  # whose kernel does not depend on it


def test_small_inputs_beside_a_bias_are_refused_only_where_the_network_enlarges_their_differences():
    x = 1e-6 * torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    nets = {phi: M.fcn(100, activation=phi, weight_variance=1.5, bias_variance=0.1) for phi in ("sign", "relu")}
    with pytest.raises(ValueError, match="lower bias_variance"):
        nets["sign"].kernel(x)
    M.fcn(100, activation="sign", weight_variance=1.5).kernel(x)
    nets["relu"].kernel(x)
    with pytest.raises(ValueError, match="lower bias_variance"):
        nets["relu"].kernel(1e-3 * x)
    nets["relu"].kernel(0 * x)


def test_a_wrong_digit_is_seen():
    """The control: a weight variance off by 1e-9 of itself."""
    x = np.random.default_rng(3).standard_normal((2, 5))
    kernel = M.fcn(3, activation="erf", weight_variance=1.5 * (1 + 1e-9)).kernel(torch.from_numpy(x))
    assert error(kernel.nngp, fcn(CASES["erf"][1], 3, 1.5, 0.0, x)[0]) > 1e-10


def trapezoid(fn, k12, k11, k22):
    """E[fn(u) fn(v)] by the trapezoidal rule in the plane, which converges exponentially for analytic functions."""
    step = 1 / 24
    z = np.arange(-9.5, 9.5 + step, step)
    weight = np.exp(-z * z / 2)
    weight /= weight.sum()
    c = k12 / np.sqrt(k11 * k22)
    u = np.sqrt(k11) * z
    v = np.sqrt(k22) * (c * z[:, None] + np.sqrt(1 - c * c) * z[None])
    return float(weight @ (fn(torch.from_numpy(u))[:, None] * fn(torch.from_numpy(v))).numpy() @ weight)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "silu", "softplus"])
def test_functions_without_closed_form_are_right_to_1e_10(name):
    """Against the trapezoidal rule in the plane, a second algorithm; both maps."""
    phi = nonlinearity(name)
    slope = lambda x: torch.func.jvp(phi, (x,), (torch.ones_like(x),))[1]  # noqa: E731
    for k11, k22, c in ((1.0, 1.0, 0.5), (4.0, 0.3, -0.8), (4.0, 4.0, 0.99), (8.0, 2.0, 0.7), (1e-8, 2.0, 0.4)):
        k = [torch.tensor(v, dtype=torch.float64) for v in (c * (k11 * k22) ** 0.5, k11, k22)]
        for value, fn in ((phi.covariance(*k), phi), (phi.derivative_covariance(*k), slope)):
            exact = trapezoid(fn, *map(float, k))
            scale = (trapezoid(fn, k11 * (1 - 1e-12), k11, k11) * trapezoid(fn, k22 * (1 - 1e-12), k22, k22)) ** 0.5
            assert abs(float(value) - exact) < 1e-10 * scale, (k11, k22, c)


def test_tanh_by_nested_integration_of_many_digits():
    """Which quadrature of tanh is right: the integral to 20 digits, the inner one split where tanh turns.

    neural-tangents 0.6.5 gives 0.28647701262 with 64 nodes along each axis, 2.3e-7 of it off, and 4e-11 off with 128.
    """
    k, c = mp.mpf(2), mp.mpf("0.6")
    with mp.workdps(20):
        root, gauss = mp.sqrt(1 - c * c), {"method": "gauss-legendre", "maxdegree": 4}

        def inner(a):
            edges = sorted({mp.mpf(-9), mp.mpf(-3), max(-c * a / root, mp.mpf(-8)), mp.mpf(3), mp.mpf(9)})
            return mp.quad(lambda b: mp.tanh(mp.sqrt(k) * (c * a + root * b)) * mp.npdf(b), edges, **gauss)

        exact = 2 * mp.quad(lambda a: mp.tanh(mp.sqrt(k) * a) * mp.npdf(a) * inner(a), [0, 1, 2.5, 5, 9], **gauss)
    value = nonlinearity("tanh").covariance(*(torch.tensor(v, dtype=torch.float64) for v in (1.2, 2.0, 2.0)))
    assert abs(float(value) - float(exact)) < 1e-12
    assert 1e-8 < abs(0.28647701261973396 - float(exact)) < 1e-6
    assert abs(trapezoid(torch.tanh, 1.2, 2.0, 2.0) - float(exact)) < 1e-12


def test_the_quadrature_tells_its_error_or_refuses():
    x = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match="standardise the inputs"):
        M.fcn(1, activation="tanh").kernel(5 * x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that of the values, before the derivative is refused
        with pytest.raises(ValueError, match="standardise the inputs"):
            M.fcn(1, activation="tanh").kernel(1e3 * x)
    one = torch.ones((), dtype=torch.float64)
    with pytest.warns(UserWarning, match="accept it with tolerance="):
        Quadrature(torch.sign).covariance(0.5 * one, one, one)
    value = Quadrature(torch.sign, tolerance=0.1).covariance(0.5 * one, one, one)
    assert abs(float(value) - 1 / 3) < 0.02  # 2/π arcsin(1/2)
