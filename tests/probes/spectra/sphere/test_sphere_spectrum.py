"""The exact spectrum against the integral operator itself, the trace, sampled zonal projections and Gram matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes import KernelSeries, kernel_series, sphere_spectrum
from priorscope.probes.spectra.sphere._harmonic_moments import harmonic_count


def _sphere_quadrature(d0: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that integrate every polynomial up to a degree on the unit sphere in R^1, R^2, R^3."""
    if d0 == 1:
        return np.array([[1.0], [-1.0]]), np.full(2, 0.5)
    angle = 2 * np.pi * np.arange(degree + 1) / (degree + 1)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    if d0 == 2:
        return ring, np.full(degree + 1, 1 / (degree + 1))
    height, weight = np.polynomial.legendre.leggauss(degree // 2 + 1)
    points = [[*(np.sqrt(1 - z * z) * r), z] for z in height for r in ring]
    return np.array(points), np.repeat(weight / 2, degree + 1) / (degree + 1)


def _operator_spectrum(readout: str, series: KernelSeries, d0: int, p: int, s: int) -> np.ndarray:
    """Eigenvalues of the integral operator by an exact product quadrature (k is a polynomial)."""
    one, w1 = _sphere_quadrature(d0, 2 * (len(series.coefficients) - 1))
    index = np.array(list(product(range(len(one)), repeat=p)))
    x, w = one[index], w1[index].prod(1)  # (n, p, d0), (n,)
    cosines = np.einsum("npi,mqi->pqnm", x, x)
    k = lambda u: np.polynomial.polynomial.polyval(u, series.coefficients)  # noqa: E731
    if readout == "fcn":
        kernel = k(np.mean([cosines[i, i] for i in range(p)], 0))
    else:
        pairs = [(i, i) for i in range(p)] if readout == "vec" else list(product(range(p), repeat=2))
        window = lambda i, j: k(np.mean([cosines[(i + b) % p, (j + b) % p] for b in range(s)], 0))  # noqa: E731
        kernel = np.mean([window(i, j) for i, j in pairs], 0)
    root = np.sqrt(w)
    return np.linalg.eigvalsh(root[:, None] * kernel * root)[::-1]


CASES = [(1, 6, 2), (1, 4, 4), (2, 3, 2), (2, 2, 2), (2, 4, 3), (3, 2, 1)]  # (d0, p, s); some wrap around the circle


@pytest.mark.parametrize("readout", ["fcn", "vec", "gap"])
@pytest.mark.parametrize(("d0", "p", "s"), CASES)
def test_matches_the_integral_operator(readout: str, d0: int, p: int, s: int) -> None:
    a = np.array([0.3, 0.5, 0.2, 0.4] if p * d0 < 8 else [0.3, 0.5, 0.2])
    series = KernelSeries(a, total=float(a.sum()))
    dense = _operator_spectrum(readout, series, d0, p, s)
    exact = sphere_spectrum((readout, series), d0, p, s, order=len(a) - 1)
    count = int(exact.multiplicities[exact.eigenvalues > 1e-12].sum())
    np.testing.assert_allclose(exact.expanded(len(dense))[:count], dense[:count], atol=1e-10)
    assert abs(dense[count:]).max(initial=0.0) < 1e-10  # nothing is left out: multiplicities are right
    assert abs(exact.remainder) < 1e-12  # the trace identity, exact for a polynomial


def test_the_paper_formula_for_windows_fails_where_patches_wrap() -> None:
    wrapped = {f.degrees: f.windows for f in sphere_spectrum(("vec", KernelSeries(np.ones(3), 3.0)), 2, 4, 3).families}
    assert wrapped[(1, 1)] == 2  # every pair on a circle of 4 lies in two windows of 3; span 3 alone would give 1
    table = sphere_spectrum(("vec", KernelSeries(np.ones(3), 3.0)), 2, 9, 3).table()
    by_windows = Counter({int(w): int(n) for w, n in table[table.degrees == "1,1"][["windows", "vectors"]].values})
    assert by_windows == {2: 9, 1: 9}


@pytest.mark.parametrize("activation", [torch.relu, torch.erf])
@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_series_is_the_kernel_of_the_architecture(
    activation: Callable[[torch.Tensor], torch.Tensor], bias: float
) -> None:
    arch = ps.models.fcn(
        depth=1, activation="relu" if activation is torch.relu else activation, weight_variance=1.5, bias_variance=bias
    )
    x = ps.probes.sphere_inputs(6, d0=2, p=3, seed=1).flatten(1)
    kernel = arch.kernel(x, kinds=("nngp", "ntk"), path="reference")
    u = (x @ x.mT / 6).numpy()
    for kind in ("nngp", "ntk"):
        series = kernel_series(activation, kind=kind, weight_variance=1.5, bias_variance=bias, terms=800)
        ours = np.polynomial.polynomial.polyval(u, series.coefficients)
        off = ~np.eye(6, dtype=bool)
        np.testing.assert_allclose(ours[off], getattr(kernel, kind).numpy()[off], atol=1e-6)
        np.testing.assert_allclose(series.total, getattr(kernel, kind).diagonal().numpy(), rtol=1e-7)


@pytest.mark.parametrize("name", ["fcn", "vec", "gap"])
def test_relu_eigenvalues_by_zonal_projection_of_sampled_kernels(name: str) -> None:
    """E[K(ξ, η) Z_r(ξ, η)] = Σ λ·multiplicity over an order, Z_r the reproducing kernel of r⃗ = r at one sphere."""
    d0, p, n = 3, 4, 300
    arch = getattr(ps.models, name)(depth=1)
    exact = sphere_spectrum(arch, d0, p, order=2)
    x, y = ps.probes.sphere_inputs(n, d0, p, seed=1), ps.probes.sphere_inputs(n, d0, p, seed=2)
    kernel = arch.kernel(x, y, kinds=("ntk",)).ntk.double()
    shifts = range(p) if name == "gap" else [0]  # GAP's eigenfunctions are shift averages: project on all shifts
    for degree, legendre in ((1, lambda t: t), (2, lambda t: (3 * t * t - 1) / 2)):
        family = next(i for i, f in enumerate(exact.families) if f.degrees == (degree,))
        zonal = sum(
            legendre(x[:, :, i] @ y[:, :, (i + j) % p].mT / d0) for i in range(p) for j in shifts
        ) * harmonic_count(d0, degree)
        terms = kernel * zonal
        value = float(terms.mean())
        noise = float((terms.mean(1).var() / n + terms.mean(0).var() / n) ** 0.5)
        wanted = exact.eigenvalues[family] * exact.multiplicities[family] * (p if name == "gap" else 1)
        assert abs(value - wanted) < 5 * noise
        assert noise < 0.25 * wanted  # control: a factor of 2 would be seen


def test_trace_is_approached_and_the_truncation_bound_is_small() -> None:
    gaps = [sphere_spectrum(ps.models.vec(depth=1), 3, 8, order=r).remainder for r in (2, 4, 6, 8)]
    assert gaps == sorted(gaps, reverse=True)
    assert 0 < gaps[-1] < 0.05 * 4
    short, long = (sphere_spectrum(ps.models.vec(depth=1), 3, 8, order=2, terms=t) for t in (128, 1024))
    assert np.abs(short.eigenvalues - long.eigenvalues).max() <= short.truncation
    assert long.truncation < 1e-9


@pytest.mark.parametrize(("d0", "p", "s"), [(2, 4, 3), (3, 3, 3), (2, 6, 5), (3, 6, 3)])
def test_the_trace_of_gap_is_the_mean_of_its_diagonal(d0: int, p: int, s: int) -> None:
    arch = ps.models.gap(depth=1, kernel_size=s)
    x = ps.probes.sphere_inputs(60_000, d0, p, seed=3)
    diagonal = arch.kernel_diagonal(x, kinds=("ntk",)).ntk
    noise = float(diagonal.std()) / len(x) ** 0.5
    spectrum = sphere_spectrum(arch, d0, p, order=1)
    assert abs(float(diagonal.mean()) - spectrum.trace) < 5 * noise
    assert 5 * noise < 0.007 * spectrum.trace  # control: an error of 0.7 % would be seen


def test_scaling_of_dimensions_and_samples() -> None:
    need = {
        name: sphere_spectrum(getattr(ps.models, name)(depth=1), 3, 24, order=2).samples_needed()[2]
        for name in ("fcn", "vec", "gap")
    }
    assert need["fcn"] > 3 * need["vec"] > 9 * need["gap"]  # locality first, pooling second
    spectrum = sphere_spectrum(ps.models.gap(depth=1), 3, 24, order=2)
    curve = spectrum.learning_curve({1: 0.5, 2: 0.5}, [1, need["gap"] / 4, need["gap"] * 20])
    assert curve[0] > curve[1] > 10 * curve[2]
    assert spectrum.learning_curve({5: 1.0}, [100])[0] >= 1  # beyond the computed order nothing is learned


def test_gram_matrix_shows_the_exact_eigenvalues() -> None:
    arch = ps.models.gap(depth=1)
    exact = sphere_spectrum(arch, 3, 6, order=4)
    gram = ps.probes.gram_spectrum(arch, 3, 6, 250)
    table = ps.probes.compare_with_gram(exact, gram, most=0.1)
    assert len(table) >= 3
    assert (table.ratio - 1).abs().max() < 0.15
    other = sphere_spectrum(ps.models.fcn(depth=1), 3, 6, order=4)  # control: another architecture's spectrum
    wrong = ps.probes.compare_with_gram(other, gram, most=0.1)
    assert (wrong.ratio - 1).abs().max() > 0.15


def test_chart_and_errors() -> None:
    spectrum = sphere_spectrum(ps.models.fcn(depth=1), 2, 3, order=3)
    assert spectrum.chart().to_dict()["mark"]["type"] == "rule"
    with pytest.raises(ValueError, match="one hidden layer"):
        sphere_spectrum(ps.models.fcn(depth=2), 2, 3)
    with pytest.raises(ValueError, match="kernel_size = 3"):
        sphere_spectrum(ps.models.vec(depth=1), 2, 8, s=5)
    with pytest.raises(ValueError, match="between 1 and p"):
        sphere_spectrum(ps.models.vec(depth=1), 2, 2)
    with pytest.raises(ValueError, match="'fcn', 'vec' or 'gap'"):
        sphere_spectrum(("mlp", KernelSeries(np.ones(2), 2.0)), 2, 2)
    with pytest.raises(ValueError, match="up to p = 16"):
        sphere_spectrum(("vec", KernelSeries(np.ones(3), 3.0)), 2, 20, 15)
    with pytest.raises(ValueError, match="d0 >= 1; got 0"):
        sphere_spectrum(ps.models.fcn(depth=1), 0, 3)


def test_layers_of_ones_own_are_not_read_as_ours():
    """A subclass whose variance is another was read by its parent's fields."""

    class Dense(ps.models.Dense):
        def propagate(self, cov, need):
            return ps.models.Dense(2 * self.weight_variance, self.bias_variance).propagate(cov, need)

    plain = ps.models.fcn(depth=1)
    own = ps.models.Architecture("own", (*(Dense(1.0) if type(a) is ps.models.Dense else a for a in plain.layers),))
    assert ps.probes.sphere_spectrum(plain, 4, 1).trace > 0
    with pytest.raises(ValueError, match="needs one hidden layer"):
        ps.probes.sphere_spectrum(own, 4, 1)
