"""Wigner matrices: the irreducible representations of the rotations of space, in the complex basis."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from priorscope.checks import checked, whole

__all__ = ["wigner_d", "wigner_D"]


@cache
def _axes_of_y(degree: int) -> Tensor:
    """Eigenvectors (columns) of J_y in the basis m = -l … l; its eigenvalues are the whole numbers -l … l."""
    m = torch.arange(-degree, degree, dtype=torch.float64)
    up = torch.diag((degree * (degree + 1) - m * (m + 1)).sqrt(), -1)  # <m+1| J_+ |m>
    generator = (up - up.T) / 2j
    vectors: Tensor = torch.linalg.eigh(generator)[1]
    return vectors


@checked(degree=whole(0))
def wigner_d(degree: int, beta: Tensor) -> Tensor:
    r"""The small Wigner matrix :math:`d^l(\beta) = e^{-i\beta J_y}`, real, (…, 2l+1, 2l+1), rows and columns m = -l … l.

    .. math:: d^l(\beta) = \mathrm{Re}\, V e^{-i\beta\,\mathrm{diag}(-l \dots l)} V^\dagger

    with V the eigenvectors of J_y (definition; no factorials, stable at every degree). Always in float64.

    Holds: d(β) d(β') = d(β + β'), and d(β) is orthogonal.

    Example:
        >>> wigner_d(1, torch.tensor(0.7, dtype=torch.float64))[2].round(decimals=3).tolist()
        [0.118, -0.456, 0.882]
    """
    V = _axes_of_y(degree)
    m = torch.arange(-degree, degree + 1, dtype=torch.float64)
    phases = torch.polar(torch.ones((), dtype=torch.float64), -beta.double()[..., None] * m)  # (…, 2l+1)
    found: Tensor = ((V * phases[..., None, :]) @ V.mH).real
    return found


@checked(degree=whole(0))
def wigner_D(degree: int, alpha: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
    r"""The Wigner matrix of the rotation :math:`Z(\alpha) Y(\beta) Z(\gamma)`, complex, (…, 2l+1, 2l+1).

    .. math:: D^l_{mn}(\alpha, \beta, \gamma) = e^{-im\alpha}\, d^l_{mn}(\beta)\, e^{-in\gamma}

    (Cohen et al. 2018, appendix A, with the angles of Z Y Z.) Always in complex128.

    Holds: D(R) D(R') = D(R R'), D(R⁻¹) = D(R)†, and the entries are orthogonal on SO(3) with squared norm 1/(2l+1).

    Example:
        >>> angles = torch.tensor([0.3, 0.7, -0.2], dtype=torch.float64)
        >>> D = wigner_D(2, *angles)
        >>> bool(torch.allclose(D @ D.mH, torch.eye(5, dtype=D.dtype)))
        True
    """
    m = torch.arange(-degree, degree + 1, dtype=torch.float64)
    one = torch.ones((), dtype=torch.float64)
    left = torch.polar(one, -alpha.double()[..., None] * m)
    right = torch.polar(one, -gamma.double()[..., None] * m)
    return left[..., :, None] * wigner_d(degree, beta) * right[..., None, :]
