"""From the average gradient outer product to the linear map through which a kernel then sees its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked

__all__ = ["FeatureSetting", "feature_map"]


@checked(power=POSITIVE, bandwidth=POSITIVE)
@dataclass(frozen=True)
class FeatureSetting:
    r"""How features are fed back: :math:`A = c\,M^s/\beta` with s = ``power`` and β = ``bandwidth``, full or ``diagonal``.

    Power ½ makes M itself the metric, as Radhakrishnan et al. (2024) have it. ``bandwidth`` is a factor on the kernel's own.

    Example:
        >>> FeatureSetting(power=0.25).power
        0.25
    """

    power: float = field(default=0.5)
    diagonal: bool = field(default=False)
    bandwidth: float = field(default=1.0)

    def __str__(self) -> str:
        return f"{'diagonal' if self.diagonal else 'full'} M^{self.power:g}, bandwidth × {self.bandwidth:g}"


def feature_map(moment: Tensor, setting: FeatureSetting, inputs: Tensor | None = None) -> Tensor:
    r"""The map :math:`A = c\,M^s/\beta`, (D, D) or (D,), whose c keeps the mean squared size of centred ``inputs`` (n, D).

    Where there are no inputs to go by, :math:`\mathrm{tr}\,A^2 = D/\beta^2`. Eigenvalues below zero, from rounding, are zero.

    Example:
        >>> M = torch.diag(torch.tensor([4.0, 0.0]))
        >>> feature_map(M, FeatureSetting(), torch.tensor([[1.0, 1.0], [-1.0, -1.0]])).diagonal().tolist()  # 2 = 1² + 1²
        [1.4142135623730951, 0.0]
    """
    M = moment.double()
    if setting.diagonal:
        A = M.diagonal().clamp(min=0.0)
        A = (A / A.max().clamp(min=1e-300)) ** setting.power
        size = float(A.square().sum())
    else:
        lam, U = torch.linalg.eigh((M + M.mT) / 2)
        lam = (lam / lam[-1].clamp(min=1e-300)).clamp(min=0.0) ** setting.power
        A = (U * lam) @ U.mT
        size = float(lam.square().sum())
    if inputs is None:
        wanted = float(len(A))
    else:
        x = inputs.double().flatten(1)
        x = x - x.mean(0)
        wanted = float(x.square().sum())
        size = float((x * A if setting.diagonal else x @ A).square().sum())
    if not size > 0:
        raise ValueError("the predictor does not depend on its inputs: all its gradients are zero, so M is zero.")
    scaled: Tensor = A * ((wanted / size) ** 0.5 / setting.bandwidth)
    return scaled
