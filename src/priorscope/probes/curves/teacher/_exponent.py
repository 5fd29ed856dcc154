"""The exponent that theory gives to the learning curve of a Gaussian field, and what goes with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

from priorscope.checks import number, whole
from priorscope.contracts import guarded

__all__ = ["DecayingKernel", "TeacherExponent", "spectral_beta", "teacher_exponent"]


class DecayingKernel(Protocol):
    """A kernel that knows how fast its Fourier transform falls."""

    def spectral_exponent(self, dim: int) -> float:
        """α in :math:`|\\omega|^{-\\alpha}`."""
        ...


@dataclass(frozen=True)
class TeacherExponent:
    """The asymptotic exponent β of :math:`E \\sim n^{-\\beta}`, who limits it, and how smooth the target is.

    ``smoothness`` is the index :math:`s = \\lfloor(\\alpha_T - d)/2\\rfloor`, the number of continuous derivatives of the target;
    ``in_rkhs`` whether the target lies in the student's Hilbert space, :math:`\\alpha_T > \\alpha_S + d`.

    Example:
        >>> import priorscope as ps
        >>> teacher_exponent(ps.models.laplace(), ps.models.laplace(), 3).beta
        0.3333333333333333
    """

    teacher: float
    student: float
    dim: int
    beta: float
    limited_by: Literal["teacher", "student", "both"]
    smoothness: float
    in_rkhs: bool


def _alpha(kernel: DecayingKernel | float, dim: int, who: str) -> float:
    alpha = float(kernel) if isinstance(kernel, int | float) else float(kernel.spectral_exponent(dim))
    if not alpha > dim:
        raise ValueError(
            f"the {who}'s spectrum must fall faster than |w|^-{dim} (a finite variance); got exponent {alpha:g}."
        )
    return alpha


@guarded(dim=whole())
def teacher_exponent(teacher: DecayingKernel | float, student: DecayingKernel | float, dim: int) -> TeacherExponent:
    r"""The exponent of the error of kernel regression on a Gaussian field in ``dim`` dimensions.

    .. math:: \beta = \frac1d\min(\alpha_T - d,\ 2\alpha_S)

    for spectra that fall like :math:`|\omega|^{-\alpha}` (Spigler, Geiger & Wyart 2020, eq. 1; proved on a lattice,
    conjectured for random points). Kernels are given as models or by their exponent α; infinity is a Gaussian.

    Example:
        >>> import priorscope as ps
        >>> found = teacher_exponent(ps.models.gaussian(), ps.models.laplace(), 2)
        >>> found.beta, found.limited_by, found.in_rkhs
        (3.0, 'student', True)
        >>> teacher_exponent(4.0, 4.0, 3).in_rkhs  # a Gaussian process never lies in its own space
        False
    """
    a, b = _alpha(teacher, dim, "teacher"), _alpha(student, dim, "student")
    limits = {"teacher": a - dim, "student": 2 * b}
    beta = min(limits.values()) / dim
    who: Literal["teacher", "student", "both"] = "both"
    if limits["teacher"] != limits["student"]:
        who = "teacher" if limits["teacher"] < limits["student"] else "student"
    smoothness = math.inf if math.isinf(a) else float(math.floor((a - dim) / 2))
    in_rkhs = (math.isinf(a) and not math.isinf(b)) or a > b + dim
    return TeacherExponent(a, b, dim, beta, who, smoothness, in_rkhs)


@guarded(theta=number(above=1, below=2), q=number())
def spectral_beta(theta: float, q: float) -> float:
    r"""The same exponent from eigenvalues of density :math:`\lambda^{-\theta}` and coefficients :math:`w^2\sim\lambda^q`.

    .. math:: \beta = \frac{\min(q - \theta, 0) + 2}{\theta - 1}

    Spigler, Geiger & Wyart (2020), eq. 62, with :math:`\theta = 1 + d/\alpha_S` and
    :math:`q = \alpha_T/\alpha_S - 1`, which needs q > θ − 2 (the printed θ − 1 would leave out a teacher like the
    student, q = 0).

    Example:
        >>> round(spectral_beta(1 + 2 / 3, 0.0), 6), teacher_exponent(3.0, 3.0, 2).beta
        (0.5, 0.5)
    """
    if not q > theta - 2:
        raise ValueError(f"spectral_beta needs q > theta - 2 = {theta - 2:g}, a finite variance; got q = {q:g}.")
    return (min(q - theta, 0.0) + 2) / (theta - 1)
