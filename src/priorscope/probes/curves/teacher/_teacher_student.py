"""The learning curve of a student on a Gaussian field, in expectation over the teacher, for points drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from priorscope.checks import NOT_NEGATIVE, SEED, each, whole
from priorscope.contracts import KernelModel, guarded, kernel_matrix, name_of
from priorscope.models import RadialKernel
from priorscope.printing import printed
from priorscope.probes.curves.teacher._exponent import TeacherExponent, teacher_exponent
from priorscope.probes.curves.teacher._points import teacher_points
from priorscope.statistics import PowerLaw, fit_power_law

if TYPE_CHECKING:
    import altair as alt

__all__ = ["TeacherStudent", "expected_errors", "teacher_student"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class TeacherStudent:
    """Errors (draws, sizes) in units of the teacher's variance: exact over teachers, sampled over points.

    Example:
        >>> import priorscope as ps
        >>> kernel = ps.models.laplace(1.0)
        >>> found = teacher_student(kernel, kernel, dim=1, sizes=[16, 32, 64], draws=3, n_test=50)
        >>> found.theory.beta, -1.5 < found.exponent(n_min=16).exponent < -0.5
        (1.0, True)
    """

    teacher: str
    student: str
    domain: str
    dim: int
    sizes: NDArray[np.int64]
    errors: Array
    theory: TeacherExponent | None

    def exponent(self, n_min: int = 0) -> PowerLaw:
        """The power law through the errors from ``n_min`` on, with its interval over draws of the points."""
        kept = self.sizes >= n_min
        if kept.sum() < 2:
            raise ValueError(
                f"an exponent needs two or more sizes from n_min = {n_min} on; there are {int(kept.sum())}."
            )
        return fit_power_law(self.sizes[kept], self.errors[:, kept])

    def table(self) -> pd.DataFrame:
        """One row per draw and size."""
        draws, sizes = self.errors.shape
        return pd.DataFrame(
            {
                "draw": np.repeat(np.arange(draws), sizes),
                "n": np.tile(self.sizes, draws),
                "error": self.errors.ravel(),
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Points: every draw. Solid: their mean. Dashed: the exponent of theory through the last mean."""
        import altair as alt

        x = alt.X("n:Q", title="training points n").scale(type="log", nice=False)
        y = alt.Y("error:Q", title="mean squared error / variance").scale(type="log")
        means = self.table().groupby("n", as_index=False).error.mean()
        title = f"{self.teacher} teacher, {self.student} student, {self.domain}, d = {self.dim}"
        layers = [
            alt.Chart(self.table(), title=title).mark_point(filled=True, size=20, opacity=0.5).encode(x, y),
            alt.Chart(means).mark_line().encode(x, y),
        ]
        if self.theory is not None and np.isfinite(self.theory.beta):
            last = means.iloc[-1]
            line = means.assign(error=last.error * (means.n / last.n) ** -self.theory.beta)
            layers.append(alt.Chart(line).mark_line(strokeDash=[5, 4], color="black").encode(x, y))
        return alt.layer(*layers)


def expected_errors(
    teacher: KernelModel,
    student: KernelModel,
    train: torch.Tensor,
    test: torch.Tensor,
    sizes: Sequence[int],
    ridge: float = 0.0,
) -> Array:
    r"""Expected squared error, over teachers, of the student trained on the first points, for every number of them at once.

    .. math:: E = K_T(x,x) - 2\,a\cdot k_T(x) + a^\top K_T\,a, \qquad a = (K_S + r)^{-1}k_S(x)

    (the variance of :math:`Z(x) - a\cdot Z`, by definition). With :math:`K_S + r = LL^\top` the
    first p rows of :math:`L^{-1}k_S`,
    :math:`L^{-1}k_T` and :math:`L^{-1}K_TL^{-\top}` are those of the first p points, so that one factorisation serves all sizes.
    """
    from scipy.linalg import cholesky, solve_triangular

    n = max(sizes)
    same = teacher == student and ridge == 0  # then nothing of the teacher's own is needed
    K, k = kernel_matrix(student, train[:n]).numpy(), kernel_matrix(student, train[:n], test).numpy()
    try:
        L = cholesky(K + ridge * np.eye(n) if ridge else K, lower=True, check_finite=False)
        safe = bool(float(L.diagonal().min()) ** 2 > 100 * np.finfo(float).eps * n)
    except np.linalg.LinAlgError:
        safe = False
    if not safe:
        raise ValueError(
            f"the student's kernel on {n} points cannot be told from a singular one in double precision. Give a ridge, "
            "fewer points, or take error_in_many_digits."
        )

    def half(rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        solved: NDArray[np.float64] = solve_triangular(L, rhs, lower=True, check_finite=False)
        return solved

    v = half(k)
    u = v if same else half(kernel_matrix(teacher, train[:n], test).numpy())
    W = None if same else half(half(kernel_matrix(teacher, train[:n]).numpy()).T)
    found = []
    for p in sizes:
        spread = v[:p] if W is None else W[:p, :p] @ v[:p]
        found.append(float((1 - 2 * (v[:p] * u[:p]).sum(0) + (v[:p] * spread).sum(0)).mean()))
    return np.array(found)


@guarded(dim=whole(), sizes=each(whole(2)), draws=whole(), n_test=whole(), ridge=NOT_NEGATIVE, seed=SEED)
def teacher_student(
    teacher: RadialKernel,
    student: RadialKernel,
    dim: int,
    sizes: Sequence[int],
    *,
    domain: str = "sphere",
    draws: int = 4,
    n_test: int = 300,
    ridge: float = 0.0,
    seed: int = 0,
) -> TeacherStudent:
    r"""The error of regression with the student's kernel on Gaussian fields of the teacher's, their mean taken exactly.

    .. math:: E = K_T(0) - 2\,a\cdot k_T(x) + a^\top K_T\,a, \qquad a = (K_S + r)^{-1}k_S(x)

    averaged over ``n_test`` random places x, for ``draws`` sets of points on the sphere S^d, the torus or its lattice (see
    :func:`teacher_points`). No field is drawn: sampled fields need thousands of draws for the same accuracy. Setting of
    Spigler, Geiger & Wyart (2020), sec. 4; the expectation is the textbook variance of a linear predictor (Rasmussen
    & Williams 2006, eq. 2.26 when both kernels agree). The result's ``theory`` is :func:`teacher_exponent`.

    Example:
        >>> import priorscope as ps
        >>> found = teacher_student(ps.models.gaussian(1.0), ps.models.laplace(1.0), 2, [64, 128], draws=2, n_test=40)
        >>> found.theory.beta, bool(found.errors[0, 1] < found.errors[0, 0])
        (3.0, True)
    """
    if teacher.bandwidth == "median" or student.bandwidth == "median":
        raise ValueError(
            "teacher and student need a bandwidth as a number: the field is the same at every size. Try bandwidth=dim."
        )
    ordered = sorted(int(n) for n in sizes)
    errors = []
    for draw in range(draws):
        at = 2 * (seed * draws + draw)
        test = teacher_points("torus" if domain == "lattice" else domain, dim, n_test, seed=at + 1)
        if domain == "lattice":
            found = [
                expected_errors(teacher, student, teacher_points(domain, dim, n), test, [n], ridge).item()
                for n in ordered
            ]
        else:
            train = teacher_points(domain, dim, ordered[-1], seed=at)
            found = list(expected_errors(teacher, student, train, test, ordered, ridge))
        errors.append(found)
    return TeacherStudent(
        name_of(teacher),
        name_of(student),
        domain,
        dim,
        np.array(ordered),
        np.array(errors),
        teacher_exponent(teacher, student, dim) if ridge == 0 else None,
    )
