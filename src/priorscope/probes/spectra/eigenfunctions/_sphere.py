"""Circle and sphere: Fourier modes and spherical harmonics, eigenvalues by Funk and Hecke."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from priorscope.checks import POSITIVE, each, whole
from priorscope.contracts import KernelModel, guarded
from priorscope.probes.spectra.eigenfunctions._modes import Array, Modes, in_order
from priorscope.probes.spectra.eigenfunctions._profile import Profile, as_profile, legendre, polar_rule
from priorscope.probes.spectra.eigenfunctions._real_harmonics import harmonics
from priorscope.probes.spectra.sphere._harmonic_moments import harmonic_count

MOST_MODES = 20_000


@guarded(degree_max=whole(0), radius=POSITIVE)
def circle_modes(kernel: KernelModel | Profile, degree_max: int, *, radius: float = 1.0, kind: str = "ntk") -> Modes:
    r"""Fourier modes 1, √2 cos mθ, √2 sin mθ of a rotation-invariant kernel on the circle.

    .. math:: \sigma_m = \frac{1}{\pi}\int_0^\pi \kappa(\cos\theta)\cos(m\theta)\, d\theta

    The theorem of Funk and Hecke in two dimensions: a Fourier coefficient of the kernel (Müller 1966, "Spherical harmonics").

    Args:
        kernel: a function of the cosine, or an ``Architecture`` (its kernel ``kind`` at inputs of norm ``radius``).
        degree_max: highest frequency.

    Example:
        >>> circle_modes(lambda t: 1 + t, degree_max=1).eigenvalues.round(6).tolist()
        [1.0, 0.5, 0.5]
    """
    return sphere_modes(kernel, 2, degree_max, radius=radius, kind=kind)


@guarded(dim=whole(), degree_max=whole(0), radius=POSITIVE)
def sphere_modes(
    kernel: KernelModel | Profile, dim: int, degree_max: int, *, radius: float = 1.0, kind: str = "ntk"
) -> Modes:
    r"""Spherical harmonics of a rotation-invariant kernel on the sphere in ``dim`` dimensions.

    .. math:: \sigma_l = E[\kappa(t) P_l(t)], \quad t = x \cdot x'

    with multiplicity N(d, l), by the theorem of Funk and Hecke (Müller 1966, "Spherical harmonics"); :math:`\sum_l \sigma_l
    N(d, l) P_l = \kappa`.

    Args:
        kernel: a function of the cosine, or an ``Architecture`` (its kernel ``kind`` at inputs of norm ``radius``).
        dim: dimension of the space around, 2 (the circle) or more.
        degree_max: highest degree.

    Example:
        >>> sphere_modes(lambda t: 3 * t, dim=3, degree_max=1).eigenvalues.round(6).tolist()
        [1.0, 1.0, 1.0, 0.0]
    """
    return product_modes(as_profile(kernel, dim, radius, kind), (dim,), degree_max)


@guarded(dims=each(whole()), degree_max=whole(0))
def product_modes(kernel: Callable[..., ArrayLike], dims: tuple[int, ...], degree_max: int) -> Modes:
    r"""Products of harmonics, on a product of spheres, of a kernel that depends on one cosine per factor.

    .. math:: \sigma_{l_1 \dots l_q} = E\Big[\kappa(t_1, \dots, t_q) \prod_i P_{l_i}(t_i)\Big]

    Derived here: the theorem of Funk and Hecke for one factor after another.

    Args:
        kernel: a function of as many arrays of cosines as there are factors.
        dims: dimension of the space around each sphere; points are concatenated coordinates, each part of any norm.
        degree_max: highest total degree.

    Example:
        >>> modes = product_modes(lambda s, t: s * t, (2, 3), degree_max=2)
        >>> modes.degrees[0], modes.eigenvalues[:7].round(4).tolist()  # 1/2 x 1/3, times 2 x 3 modes
        ((1, 1), [0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.0])
    """
    if min(dims) < 2:
        raise ValueError(f"spheres need dimensions >= 2; got {dims}.")
    nodes = {1: 400, 2: 200}.get(len(dims), 60)
    rules = [polar_rule(dim, nodes) for dim in dims]
    values = np.asarray(kernel(*np.meshgrid(*(t for t, _ in rules), indexing="ij")), dtype=np.float64)
    if values.shape != (nodes,) * len(dims) or not np.isfinite(values).all():
        raise ValueError(f"the kernel must give one finite value per set of {len(dims)} cosines; got {values.shape}.")
    for (t, weights), dim in zip(rules, dims):  # each axis of nodes becomes one of degrees
        values = np.tensordot(values, legendre(t, dim, degree_max) * weights, axes=(0, 1))
    counts = [[harmonic_count(dim, l) for l in range(degree_max + 1)] for dim in dims]
    levels = []
    for degrees in np.ndindex(*(degree_max + 1,) * len(dims)):
        if sum(degrees) <= degree_max:
            levels.append((degrees, float(values[degrees]), prod(c[l] for c, l in zip(counts, degrees))))
    total = sum(count for *_, count in levels)
    if total > MOST_MODES:
        raise ValueError(f"degree_max={degree_max} has {total} modes, more than {MOST_MODES}; take a lower degree.")

    def evaluate(x: Array) -> Array:
        if x.shape[1] != sum(dims):
            raise ValueError(f"points must have {sum(dims)} coordinates; got {x.shape[1]}.")
        parts = np.split(x, np.cumsum(dims)[:-1], axis=1)
        units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
        bases = [harmonics(unit, degree_max) for unit in units]
        columns = []
        for degrees, *_ in levels:
            block = bases[0][degrees[0]]
            for basis, l in zip(bases[1:], degrees[1:]):
                block = (block[:, :, None] * basis[l][:, None, :]).reshape(len(x), -1)
            columns.append(block)
        return np.concatenate(columns, 1)

    return in_order("spheres" if len(dims) > 1 else "sphere", levels, evaluate)
