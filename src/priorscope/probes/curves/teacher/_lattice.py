"""The exact error on a regular lattice: regression mode by mode, with the frequencies that the lattice cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from priorscope.checks import POSITIVE, checked, number, whole
from priorscope.contracts import KernelModel, guarded, kernel_matrix

__all__ = ["lattice_error", "leading_error", "power_law_spectrum", "torus_spectrum"]

Array = NDArray[np.float64]
LogSpectrum = Callable[[Array], Array]


@guarded(alpha=POSITIVE, cut=POSITIVE)
def power_law_spectrum(alpha: float, cut: float = 20.0) -> LogSpectrum:
    r"""The logarithm of :math:`(c^2 + \omega^2)^{-\alpha/2}` as a function of ω: flat below the frequency ``cut``, a power above.

    The spectral density of a Matérn kernel (Rasmussen & Williams 2006, eq. 4.15).

    Example:
        >>> float(np.exp(power_law_spectrum(2.0, cut=3.0)(np.array(4.0))).round(12))
        0.04
    """
    return lambda w: -alpha / 2 * np.log(cut**2 + w**2)


@guarded(side=whole(2), dim=whole(most=3), aliases=whole(2))
def lattice_error(
    teacher: LogSpectrum | Array, student: LogSpectrum | Array, side: int, dim: int = 1, *, aliases: int | None = None
) -> float:
    r"""The expected error of regression on the lattice of ``side`` points per axis of a periodic cube of length 1, exactly.

    .. math:: E = \sum_{w\in B}\Big\{K_T^* - 2\frac{[K_TK_S]^*}{K_S^*} + K_T^*\frac{[K_S^2]^*}{(K_S^*)^2}\Big\}

    with :math:`F^*(w) = \sum_m F(w + 2\pi m\,n^{1/d})` over the frequencies that look alike on the lattice (Spigler,
    Geiger & Wyart 2020, eq. 39). It is summed here as :math:`\sum_m K_{T,m}(1-p_m)^2 + p_m^2\sum_{j\ne m}K_{T,j}` with shares
    :math:`p_m = K_{S,m}/K_S^*`, whose terms are all positive, so that Gaussian students lose no digit.

    Args: ``teacher`` and ``student`` give the logarithm of the spectrum at ω = 2π|k|, or are spectra on a grid of
    ``aliases · side`` points per axis from :func:`torus_spectrum`; ``aliases`` frequencies per axis are summed
    (default 256, 32 or 8 in one, two or three dimensions, ours: what is left out falls like the spectrum there).

    Example:
        >>> errors = [lattice_error(power_law_spectrum(4), power_law_spectrum(2), n) for n in (512, 1024)]
        >>> round(float(np.log2(errors[0] / errors[1])), 2)  # (alpha_T - d) / d = 3
        3.0
    """
    count = {1: 256, 2: 32, 3: 8}[dim] if aliases is None else aliases
    logs = []
    for who, spectrum in (("teacher", teacher), ("student", student)):
        if callable(spectrum):
            k = np.fft.fftfreq(side * count, 1 / (side * count))
            radius = np.sqrt(sum(axis**2 for axis in np.meshgrid(*[k] * dim, indexing="ij")))
            log = np.asarray(spectrum(2 * np.pi * radius), dtype=float)
        else:
            values = np.asarray(spectrum, dtype=float)
            if values.shape[0] % side:
                raise ValueError(
                    f"the {who}'s grid of {values.shape[0]} points per axis is no multiple of side = {side}."
                )
            log = np.log(np.maximum(values, 1e-300))
        logs.append(_aliases(log, side, dim))
    T, S = logs
    return _error(np.exp(T), S)


def _aliases(log: Array, side: int, dim: int) -> Array:
    """(N, …) by frequency to (modes of the lattice, frequencies that look alike)."""
    split = log.reshape([part for axis in log.shape for part in (axis // side, side)])
    order = [2 * i + 1 for i in range(dim)] + [2 * i for i in range(dim)]
    return np.ascontiguousarray(split.transpose(order)).reshape(side**dim, -1)


def _error(T: Array, log_S: Array) -> float:
    """Sum over the modes of the lattice; sums without the largest share are formed without it, not by subtraction."""
    rows, top = np.arange(len(T)), log_S.argmax(1)
    p = np.exp(log_S - log_S.max(1, keepdims=True))
    others = p.copy()
    others[rows, top] = 0.0
    total = p.sum(1, keepdims=True)
    rest = total - p
    rest[rows, top] = others.sum(1)
    p, rest = p / total, rest / total
    T_others = T.copy()
    T_others[rows, top] = 0.0
    T_rest = T.sum(1, keepdims=True) - T
    T_rest[rows, top] = T_others.sum(1)
    return float((T * rest**2 + p**2 * T_rest).sum())


@guarded(grid=whole(2), dim=whole(most=3))
def torus_spectrum(kernel: KernelModel, grid: int, dim: int = 1) -> Array:
    """Eigenvalues of a kernel on the lattice of ``grid`` points per axis of the torus, by frequency; they sum to 1.

    The discrete Fourier transform of the kernel's first row: eigenvalues of the Gram matrix divided by the number of points.

    Example:
        >>> import priorscope as ps
        >>> lam = torus_spectrum(ps.models.laplace(1.0), 64)
        >>> round(float(lam.sum()), 12), bool((lam > 0).all())
        (1.0, True)
    """
    from priorscope.probes.curves.teacher._points import teacher_points

    points = teacher_points("lattice", dim, grid**dim)
    row = kernel_matrix(kernel, points[:1], points)[0].numpy().reshape((grid,) * dim)
    return np.asarray(np.fft.fftn(row).real / grid**dim)


@checked(alpha_teacher=number(above=1), alpha_student=number(above=1), side=whole(2))
def leading_error(
    alpha_teacher: float, alpha_student: float, side: int, *, cut: float = 20.0, printed: bool = False
) -> float:
    r"""The leading order of :func:`lattice_error` in one dimension for spectra of :func:`power_law_spectrum`.

    .. math:: \sum_{w\in B} 2\psi_{\alpha_T}(w\delta)\,\delta^{\alpha_T} + (\psi_{2\alpha_S} + \psi_{\alpha_S}^2)(w\delta)\,
        \frac{K_T(w)}{K_S(w)^2}\,\delta^{2\alpha_S}, \qquad \psi_a(y) = \sum_{m\ne0}|y + 2\pi m|^{-a}

    Spigler, Geiger & Wyart (2020), eq. 41, which prints :math:`\psi_{2\alpha_S}` alone (``printed``): the square of
    :math:`\psi_{\alpha_S}` is of the same order and cannot be left out.

    Example:
        >>> exact = lattice_error(power_law_spectrum(8), power_law_spectrum(2), 1024)
        >>> abs(leading_error(8, 2, 1024) / exact - 1) < 0.01, leading_error(8, 2, 1024, printed=True) / exact < 0.2
        (True, True)
    """
    from scipy.special import zeta

    k = np.fft.fftfreq(side, 1 / side)
    w, delta = 2 * np.pi * np.abs(k), 1 / side
    y = w * delta / (2 * np.pi)

    def psi(a: float) -> NDArray[np.float64]:
        both: NDArray[np.float64] = zeta(a, 1 + y) + zeta(a, 1 - y)
        found: NDArray[np.float64] = both / (2 * np.pi) ** a
        return found

    square = 0.0 if printed else psi(alpha_student) ** 2
    T, S = (np.exp(power_law_spectrum(alpha, cut)(w)) for alpha in (alpha_teacher, alpha_student))
    first = 2 * psi(alpha_teacher) * delta**alpha_teacher
    second = (psi(2 * alpha_student) + square) * T / S**2 * delta ** (2 * alpha_student)
    return float((first + second).sum())
