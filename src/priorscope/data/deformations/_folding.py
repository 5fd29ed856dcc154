"""Whether a displaced image is still a deformation: nothing may fold over."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import SEED, checked, whole
from priorscope.data.deformations._fields import Fields, sample_fields
from priorscope.data.deformations._modes import CUTOFF, ModeRule
from priorscope.printing import printed

__all__ = ["FoldTemperatures", "fold_temperatures", "jacobian", "stretch"]


def stretch(gradient: Tensor) -> Tensor:
    r"""Ξ at every point, from gradients (…, component, direction, v, u): the map does not fold where it is below one.

    .. math:: \Xi = \tfrac12\Big(\sqrt{(\partial_u\tau_u - \partial_v\tau_v)^2 + (\partial_v\tau_u + \partial_u\tau_v)^2}
        + \partial_u\tau_u + \partial_v\tau_v\Big)

    the largest eigenvalue of the symmetric part of ∇τ: a direction u becomes :math:`u - (u\cdot\nabla)\tau`, and keeps
    :math:`u\cdot u' > 0` where :math:`\Xi < 1`. Sufficient, not necessary. Petrini et al. (2021), eq. 11. Differs from the
    paper in the sign of the trace, which is that of :math:`-\tau` there: averages over fields agree, single fields do not.

    Example:
        >>> import torch
        >>> stretch(torch.diag(torch.tensor([0.5, -2.0]))[:, :, None, None]).item()  # contracts u, stretches v
        0.5
    """
    a, b, e, f = (
        gradient[..., 0, 0, :, :],
        gradient[..., 0, 1, :, :],
        gradient[..., 1, 0, :, :],
        gradient[..., 1, 1, :, :],
    )
    return (torch.hypot(a - f, b + e) + a + f) / 2


def jacobian(gradient: Tensor) -> Tensor:
    r"""The determinant of :math:`1 - \nabla\tau` at every point: the map is locally one to one where it is positive.

    Weaker than :func:`stretch` below one, and exact: a map that keeps the frame fixed with a positive determinant everywhere
    is a bijection.

    Example:
        >>> import torch
        >>> jacobian(torch.diag(torch.tensor([0.5, -2.0]))[:, :, None, None]).item()
        1.5
    """
    a, b, e, f = (
        gradient[..., 0, 0, :, :],
        gradient[..., 0, 1, :, :],
        gradient[..., 1, 0, :, :],
        gradient[..., 1, 1, :, :],
    )
    return (1 - a) * (1 - f) - b * e


@printed
@dataclass(frozen=True)
class FoldTemperatures:
    """The temperature at which each of some fields begins to fold, by both criteria; the fields are drawn at temperature 1.

    Example:
        >>> FoldTemperatures(3, np.array([0.01, 0.04]), np.array([0.02, 0.04])).share(0.015)
        0.5
    """

    cutoff: float
    by_stretch: NDArray[np.float64]
    by_jacobian: NDArray[np.float64]

    def share(self, temperature: float, *, by: str = "stretch") -> float:
        """The share of fields that do not fold at this temperature, by "stretch" (Ξ < 1) or "jacobian" (determinant > 0)."""
        found = {"stretch": self.by_stretch, "jacobian": self.by_jacobian}
        if by not in found:
            raise ValueError(f"by must be 'stretch' or 'jacobian'; got {by!r}.")
        return float((found[by] > temperature).mean())

    def median_stretch(self, temperature: float) -> float:
        r"""The median over fields of :math:`\max_s\Xi(s)`, which grows like :math:`\sqrt T`."""
        return float(np.median(np.sqrt(temperature / self.by_stretch)))


@checked(cutoff=CUTOFF, n_fields=whole(), seed=SEED, points=whole(2))
def fold_temperatures(
    cutoff: float, *, n_fields: int = 200, rule: ModeRule = "padded", seed: int = 0, points: int | None = None
) -> FoldTemperatures:
    r"""At which temperature random fields begin to fold: one draw at temperature 1 serves all temperatures.

    A field is linear in :math:`\sqrt T`, so :math:`\max_s\Xi = 1` at :math:`T = (\max_s\Xi_1)^{-2}`, and the determinant
    :math:`1 - t\,\mathrm{tr} + t^2\det` of :math:`1 - t\nabla\tau_1` first vanishes at its smallest positive root
    :math:`t = \sqrt T`. On a grid of ``points`` per side, by default 6c + 1 and at least 25. Petrini et al. (2021), Appendix B.

    Example:
        >>> found = fold_temperatures(3, n_fields=20)
        >>> bool((found.by_jacobian >= found.by_stretch).all())
        True
    """
    grid = points or max(25, 6 * math.ceil(cutoff) + 1)
    first, second = [], []
    block = max(1, 4_000_000 // grid**2)
    fields = sample_fields(n_fields, cutoff, rule=rule, seed=seed, dtype=torch.float64).coefficients
    for part in fields.split(block):
        gradient = Fields(part).gradient(grid)
        first.append(stretch(gradient).amax((1, 2)) ** -2)
        second.append(_first_root(gradient).amin((1, 2)) ** 2)
    return FoldTemperatures(cutoff, torch.cat(first).numpy(), torch.cat(second).numpy())


def _first_root(gradient: Tensor) -> Tensor:
    """Smallest t > 0 at which det(1 − t∇τ) vanishes, at every point; infinite where it never does."""
    trace = gradient[..., 0, 0, :, :] + gradient[..., 1, 1, :, :]
    det = gradient[..., 0, 0, :, :] * gradient[..., 1, 1, :, :] - gradient[..., 0, 1, :, :] * gradient[..., 1, 0, :, :]
    inside = trace.square() - 4 * det
    largest = (trace + inside.clamp_min(0).sqrt()) / 2  # 1/t are the eigenvalues of ∇τ; the largest comes first
    return torch.where((inside >= 0) & (largest > 0), 1 / largest, torch.inf)
