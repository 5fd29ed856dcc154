"""Teacher and student against sampled fields, dense regression, the theorem and numbers of many digits."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.contracts import kernel_matrix
from priorscope.probes import lattice_error, power_law_spectrum, teacher_exponent, teacher_points, torus_spectrum
from priorscope.probes.curves.teacher._lattice import leading_error
from priorscope.probes.curves.teacher._teacher_student import expected_errors

laplace, gaussian, matern = ps.models.laplace, ps.models.gaussian, ps.models.matern


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_table_of_exponents(d):
    beta = lambda t, s: teacher_exponent(t, s, d).beta  # noqa: E731
    assert beta(laplace(), laplace()) == pytest.approx(1 / d)
    assert beta(gaussian(), laplace()) == pytest.approx(2 + 2 / d)
    assert beta(laplace(), gaussian()) == pytest.approx(1 / d)
    assert math.isinf(beta(gaussian(), gaussian()))
    for nu in (0.25, 1.0, 3.0, 9.0):
        assert beta(matern(nu), laplace()) == pytest.approx(min(2 * nu, 2 * d + 2) / d)
        assert beta(matern(nu), matern(1.5)) == pytest.approx(min(2 * nu, 2 * d + 6) / d)


def test_who_limits_smoothness_and_hilbert_space():
    assert teacher_exponent(laplace(), laplace(), 3).limited_by == "teacher"
    assert teacher_exponent(gaussian(), laplace(), 3).limited_by == "student"
    assert teacher_exponent(5.0, 2.0, 1).limited_by == "both"
    assert teacher_exponent(matern(2.5), laplace(), 4).smoothness == 2
    assert not teacher_exponent(laplace(), laplace(), 4).in_rkhs
    assert teacher_exponent(9.5, 5.0, 4).in_rkhs
    assert not teacher_exponent(9.0, 5.0, 4).in_rkhs
    assert not teacher_exponent(gaussian(), gaussian(), 4).in_rkhs
    with pytest.raises(ValueError, match=r"must fall faster than \|w\|\^-3"):
        teacher_exponent(3.0, 5.0, 3)


@pytest.mark.parametrize(("a", "b", "d"), [(2, 2, 1), (3, 3, 2), (9, 2.5, 2), (4, 4, 3), (40, 4, 3), (3.5, 8, 3)])
def test_the_spectral_exponent_is_the_same(a, b, d):
    assert ps.probes.spectral_beta(1 + d / b, a / b - 1) == pytest.approx(teacher_exponent(a, b, d).beta)


@pytest.mark.parametrize(("a", "b"), [(2, 2), (3, 2), (4, 2), (6, 2), (8, 2), (2, 4), (4, 4)])
def test_local_slopes_on_the_lattice(a, b):
    errors = [lattice_error(power_law_spectrum(a), power_law_spectrum(b), n) for n in (512, 1024)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(teacher_exponent(float(a), float(b), 1).beta, abs=0.02)


def test_the_marginal_case_has_a_logarithm_and_a_plane_its_slope():
    slope = lambda a, b, d, n, cut=20.0: np.log2(  # noqa: E731
        lattice_error(power_law_spectrum(a, cut), power_law_spectrum(b, cut), n, d)
        / lattice_error(power_law_spectrum(a, cut), power_law_spectrum(b, cut), 2 * n, d)
    )
    assert 3.7 < slope(5, 2, 1, 512) < 3.9  # alpha_T - d = 2 alpha_S: four with a logarithm
    assert slope(4, 3, 2, 16, cut=4.0) / 2 == pytest.approx(1.0, abs=0.02)


def test_the_leading_order_needs_the_square_that_the_paper_left_out():
    exact = lattice_error(power_law_spectrum(8), power_law_spectrum(2), 1024, aliases=2048)
    assert leading_error(8, 2, 1024) == pytest.approx(exact, rel=0.005)
    assert leading_error(8, 2, 1024, printed=True) < 0.2 * exact
    assert leading_error(2, 4, 1024) == pytest.approx(lattice_error(*map(power_law_spectrum, (2, 4)), 1024), rel=0.3)


@pytest.mark.parametrize(("dim", "side", "aliases"), [(1, 12, 8), (2, 4, 4)])
@pytest.mark.parametrize("pair", [(laplace(1.0), laplace(2.0)), (matern(1.5, 1.0), laplace(0.7))])
def test_the_lattice_formula_is_dense_regression(dim, side, aliases, pair):
    """On the fine lattice everything is finite: the formula against the matrices."""
    fine, coarse = teacher_points("lattice", dim, (side * aliases) ** dim), teacher_points("lattice", dim, side**dim)
    dense = expected_errors(*pair, coarse, fine, [side**dim])[0]
    spectra = [torus_spectrum(kernel, side * aliases, dim) for kernel in pair]
    assert lattice_error(*spectra, side, dim) == pytest.approx(dense, rel=1e-8)


@pytest.mark.parametrize("domain", ["sphere", "torus", "lattice"])
def test_the_expectation_is_the_mean_over_sampled_fields(domain):
    teacher, student, n = matern(1.5, 1.0), laplace(1.0), 36
    train = teacher_points(domain, 2, n, seed=0)
    test = teacher_points("sphere" if domain == "sphere" else "torus", 2, 20, seed=1)
    exact = expected_errors(teacher, student, train, test, [n])[0]
    field = ps.probes.gaussian_field(teacher, torch.cat([train, test]), draws=4000, seed=2)
    fitted = ps.inference.KernelRegression().fit(student, SimpleNamespace(inputs=train, targets=field[:n]))
    errors = (fitted.predict(test) - field[n:]).square().mean(0)
    noise = float(errors.std() / len(errors) ** 0.5)
    assert abs(float(errors.mean()) - exact) < 4 * noise
    assert abs(float(errors.mean()) - 1.2 * exact) > 4 * noise


def test_a_smooth_field_is_drawn_in_spite_of_rounding_and_a_covariance_below_zero_is_refused():
    points = teacher_points("torus", 1, 200, seed=0)
    smooth = gaussian(1.0)
    assert float(torch.linalg.eigvalsh(kernel_matrix(smooth, points).double())[0]) < 0  # by rounding alone
    field = ps.probes.gaussian_field(smooth, points, draws=4000, seed=0)
    noise = 2**0.5 / 4000**0.5  # of a mean of squares of standard normals
    assert abs(float(field[0].square().mean()) - 1) < 5 * noise

    two = torch.eye(2, dtype=torch.float64)

    class Negative:
        def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
            K = torch.eye(2, dtype=torch.float64) - 0.6  # eigenvalues 1 and -0.2
            return SimpleNamespace(nngp=K, ntk=K)

    with pytest.raises(ValueError, match="smallest eigenvalue is -0.2"):
        ps.probes.gaussian_field(Negative(), two)


def test_prefixes_are_students_of_their_own():
    train, test = teacher_points("sphere", 2, 60, seed=3), teacher_points("sphere", 2, 15, seed=4)
    together = expected_errors(gaussian(1.0), laplace(1.0), train, test, [20, 60], ridge=0.1)
    for n, found in zip((20, 60), together):
        K, T = (kernel_matrix(k, train[:n]).numpy() for k in (laplace(1.0), gaussian(1.0)))
        k, t = (kernel_matrix(m, train[:n], test).numpy() for m in (laplace(1.0), gaussian(1.0)))
        a = np.linalg.solve(K + 0.1 * np.eye(n), k)
        assert found == pytest.approx((1 - 2 * (a * t).sum(0) + (a * (T @ a)).sum(0)).mean(), rel=1e-9)
    same = expected_errors(laplace(1.0), laplace(1.0), train, test, [60])[0]
    nearly = expected_errors(laplace(1.0), laplace(1.0 + 1e-12), train, test, [60])[0]
    assert same == pytest.approx(nearly, rel=1e-6)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_random_points_on_spheres_follow_the_theorem(d):
    found = ps.probes.teacher_student(
        laplace(float(d)), laplace(float(d)), d, [64, 128, 256, 512, 1024], draws=3, n_test=200
    )
    assert found.exponent(n_min=128).exponent == pytest.approx(-1 / d, rel=0.1)
    assert len(found.table()) == 15
    found.chart().to_dict()
    assert found.theory.beta == pytest.approx(1 / d)


def test_matern_teachers_on_the_circle():
    for nu in (0.25, 0.75, 1.5, 2.5, 4.0):
        spectra = [torus_spectrum(kernel, 2**14) for kernel in (matern(nu, 2.0), laplace(2.0))]
        errors = [lattice_error(*spectra, n) for n in (256, 512)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(min(2 * nu, 4), abs=0.06), nu


def test_the_spectral_curve_of_the_circle():
    """Recorded numbers of the self-consistent equation for Laplace on the circle, and its two failures."""
    lam = np.maximum(torus_spectrum(laplace(1.0), 2**16), 0)
    sizes = [16, 64, 256, 512]
    curve = ps.probes.spectral_curve(lam, lam, sizes)
    np.testing.assert_allclose(curve.errors, [0.189, 0.0490, 0.01227, 0.00614], rtol=0.01)
    np.testing.assert_allclose(curve.tails, [0.0795, 0.0199, 0.00497, 0.00249], rtol=0.01)
    smooth = np.maximum(torus_spectrum(gaussian(1.0), 2**16), 1e-40)
    limited = ps.probes.spectral_curve(lam, smooth, sizes)
    slope = np.log(limited.errors[-1] / limited.errors[-2]) / np.log(2)
    assert slope == pytest.approx(-4, abs=0.05)
    assert limited.tails[-1] < 1e-3 * limited.errors[-1]  # eq. 12 fails where the student limits
    nothing = ps.probes.spectral_curve(lam, lam, [1e-6])
    assert nothing.errors[0] == pytest.approx(lam.sum(), rel=1e-4)  # no sample, nothing learned
    with pytest.raises(ValueError, match="Give more modes"):
        ps.probes.spectral_curve([1.0, 0.5], [1.0, 1.0], [2])
    once = ps.probes.spectral_curve([1.0, 0.1], [1.0, 1.0], [3.0], multiplicities=[2, 5])
    spelled = ps.probes.spectral_curve([1.0] * 2 + [0.1] * 5, [1.0] * 7, [3.0])
    assert (once.errors[0], once.tails[0]) == pytest.approx((spelled.errors[0], spelled.tails[0]))


def test_many_digits_agree_where_double_precision_can_and_go_on_where_it_cannot():
    x, test = teacher_points("sphere", 2, 40, seed=5), teacher_points("sphere", 2, 6, seed=6)
    plain = expected_errors(matern(0.8, 1.0), laplace(1.0), x, test, [20, 40])
    many, pivot = ps.probes.error_in_many_digits(matern(0.8, 1.0), laplace(1.0), x, test, [20, 40], bits=128)
    np.testing.assert_allclose(many, plain, rtol=1e-9)
    assert 0.01 < pivot < 1
    ring, test = teacher_points("sphere", 1, 24, seed=5), teacher_points("sphere", 1, 6, seed=6)
    kernel = gaussian(1.0)
    with pytest.raises(ValueError, match="double precision"):
        expected_errors(laplace(1.0), kernel, ring, test, [24])
    smooth, pivot = ps.probes.error_in_many_digits(kernel, kernel, ring, test, [12, 24], bits=400)
    assert pivot < 1e-16
    assert 0 < smooth[1] < 1e-4 * smooth[0]
    with pytest.raises(ValueError, match="Give about"):
        ps.probes.error_in_many_digits(kernel, kernel, ring, test, [24], bits=80)
    again = ps.probes.error_in_many_digits(kernel, kernel, ring, test, [12, 24], bits=500)[0]
    np.testing.assert_allclose(again, smooth, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: teacher_points("cube", 2, 4), "a domain is one of"),
        (lambda: teacher_points("lattice", 2, 10), "Take 9"),
        (lambda: ps.probes.teacher_student(laplace(), laplace(1.0), 1, [4]), "bandwidth as a number"),
        (lambda: lattice_error(np.ones(10), np.ones(10), 4), "no multiple of side"),
        (lambda: ps.probes.spectral_beta(1.5, -0.6), "needs q > theta - 2"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def dense_error(teacher, student, train, test, ridge=0.0):
    """The variance of Z(x) - a·Z, one place at a time."""
    K = student.kernel(train).ntk.double() + ridge * torch.eye(len(train), dtype=torch.float64)
    found = []
    for x in test.split(1):
        a = torch.linalg.solve(K, student.kernel(train, x).ntk.double())[:, 0]
        k = teacher.kernel(train, x).ntk.double()[:, 0]
        found.append(float(1 - 2 * a @ k + a @ teacher.kernel(train).ntk.double() @ a))
    return np.mean(found)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("same", [True, False])
def test_every_number_of_points_is_a_regression_of_its_own(ridge, same):
    teacher = ps.models.laplace(1.5)
    student = teacher if same else ps.models.matern(1.5, bandwidth=0.7)
    train, test = teacher_points("sphere", 2, 14, seed=1), teacher_points("sphere", 2, 5, seed=2)
    found = expected_errors(teacher, student, train, test, [3, 8], ridge)
    wanted = [dense_error(teacher, student, train[:p], test, ridge) for p in (3, 8)]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_errors_on_each_domain_are_those_of_its_points():
    kernels = ps.models.laplace(1.5), ps.models.laplace(0.8)
    lattice = ps.probes.teacher_student(*kernels, 1, (4, 8), domain="lattice", draws=2, n_test=6, seed=3)
    for draw in range(2):
        test = teacher_points("torus", 1, 6, seed=2 * (3 * 2 + draw) + 1)
        wanted = [dense_error(*kernels, teacher_points("lattice", 1, n), test) for n in (4, 8)]
        np.testing.assert_allclose(lattice.errors[draw], wanted, rtol=1e-8)
    for domain in ("sphere", "torus"):
        found = ps.probes.teacher_student(*kernels, 2, (8, 4), domain=domain, draws=1, n_test=6, ridge=0.1, seed=3)
        train, test = teacher_points(domain, 2, 8, seed=6), teacher_points(domain, 2, 6, seed=7)
        np.testing.assert_allclose(
            found.errors[0], [dense_error(*kernels, train[:p], test, 0.1) for p in (4, 8)], rtol=1e-8
        )
        assert found.sizes.tolist() == [4, 8]
        assert found.theory is None  # with a ridge there is no exponent to compare with
    with pytest.raises(ValueError, match="is no multiple of side = 5"):
        lattice_error(np.ones(16), np.ones(16), 5)
