"""Nyström against exact eigenfunctions, and its own errors against the true ones."""

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.probes import circle_modes, nystrom, sphere_modes


@pytest.mark.parametrize(("dim", "degree", "k"), [(2, 4, 8), (3, 2, 4)])
def test_extended_modes_lie_in_the_exact_eigenspaces_and_errors_are_honest(dim, degree, k):
    arch = ps.models.fcn(depth=1, bias_variance=0.1)
    exact = circle_modes(arch, 12) if dim == 2 else sphere_modes(arch, dim, 6)
    x, fresh = (ps.data.sphere(n, dim, seed=n, dtype=torch.float64) for n in (600, 1500))
    found = nystrom(arch, x, k)
    true = np.abs(found.eigenvalues - exact.eigenvalues[:k])
    assert (true < 4 * found.eigenvalue_errors + 1e-4).all()
    assert (found.eigenvalue_errors < 0.35 * found.eigenvalues).all()  # honest, not empty
    phi, basis = found(fresh), exact(fresh.numpy())
    for c in range(found.clusters[-1] + 1):
        columns = found.clusters == c
        space = basis[:, np.isin(exact.eigenvalues.round(9), exact.eigenvalues[:k][columns].round(9))]
        inside = space @ np.linalg.lstsq(space, phi[:, columns], rcond=None)[0]
        outside = np.sqrt(((phi[:, columns] - inside) ** 2).mean(0))
        assert (outside < 3 * found.mode_errors[columns] + 0.02).all()
    last = basis[:, np.isclose(exact.eigenvalues, exact.eigenvalues[k - 1])]
    stray = phi[:, :1] - last @ np.linalg.lstsq(last, phi[:, :1], rcond=None)[0]
    assert (stray**2).mean() > 0.5  # the first mode is not in the last space: the test can fail


def test_errors_fall_with_the_sample_and_a_table_and_chart_come_out():
    arch = ps.models.fcn(depth=1)
    small, large = (nystrom(arch, ps.data.sphere(n, 4, seed=3, dtype=torch.float64), 5) for n in (100, 900))
    assert large.eigenvalue_errors.mean() < 0.6 * small.eigenvalue_errors.mean()  # a third, if like the root of n
    assert len(large.table()) == 5
    assert "layer" in large.chart().to_dict()


def test_bad_input_is_named():
    x = torch.randn(40, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="k <= n/4"):
        nystrom(lambda a, b: a @ b.T, x, 11)
    with pytest.raises(ValueError, match="eigenvalues above round-off"):
        nystrom(lambda a, b: a @ b.T, x, 5)
    with pytest.raises(ValueError, match="finite"):
        nystrom(lambda a, b: a @ b.T * float("nan"), x, 2)
    with pytest.raises(TypeError, match="kernel as a model with a kernel or a function; got 1"):
        nystrom(1.0, x, 2)
