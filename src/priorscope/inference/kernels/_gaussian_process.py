"""Bayesian inference with a kernel: the posterior of a Gaussian process."""

from __future__ import annotations

import math
import time as clock
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from priorscope.checks import VARIANCE, checked
from priorscope.contracts import KernelModel, Needs, Samples, settled
from priorscope.inference._check import check_data, check_depends
from priorscope.inference.kernels._kernel_regression import FittedKernel, gram
from priorscope.inference.kernels._spectral import Schedule, Spectral

__all__ = ["FittedProcess", "GaussianProcess"]


class FittedProcess(FittedKernel):
    """A posterior: ``predict`` is its mean; ``covariance`` of the latent function is the same for every output.

    Example:
        >>> import torch
        >>> from types import SimpleNamespace as N
        >>> linear = N(kernel=lambda a, b=None, kinds=(): N(nngp=a @ (a if b is None else b).T))
        >>> data = N(inputs=torch.eye(3)[:2], targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = GaussianProcess(noise=1.0).fit(linear, data)
        >>> fitted.variance(torch.eye(3)).round(decimals=6).tolist()
        [0.5, 0.5, 1.0]
        >>> round(fitted.log_evidence, 4)  # twice the log density of N(0, 2) at 1
        -3.031
    """

    def covariance(self, inputs: Tensor) -> Tensor:
        r"""Posterior covariance (n, n): :math:`K(x,x) - K(x,X)(K + \sigma^2)^{-1}K(X,x)`."""
        inputs = inputs.to(self.inputs.dtype)
        prior = gram(self.model, inputs, None, (self.kind,))[self.kind].double()
        cross = gram(self.model, inputs, self.inputs, (self.kind,))[self.kind].double()
        half = (cross @ self.spectral.modes) / self.spectral.shifted().sqrt()  # (n, n_train): PSD by construction
        found: Tensor = prior - half @ half.mT
        return found

    def variance(self, inputs: Tensor) -> Tensor:
        """Posterior variance (n,), never negative."""
        return self.covariance(inputs).diagonal().clamp(min=0)

    @property
    def log_evidence(self) -> float:
        r"""Log marginal likelihood, outputs summed.

        .. math:: -\tfrac12 y^T(K+\sigma^2)^{-1}y - \tfrac12\log\det(K+\sigma^2) - \tfrac n2\log2\pi

        Rasmussen & Williams (2006), eq. 2.30.
        """
        lam = self.spectral.shifted()
        y = self.spectral.modes.mT @ self.targets.double()
        n, outputs = y.shape
        fit = float((y.square().sum(1) / lam).sum())
        found: float = -0.5 * (fit + outputs * (float(lam.log().sum()) + n * math.log(2 * math.pi)))
        return found


@checked(noise=VARIANCE)
@dataclass(frozen=True)
class GaussianProcess:
    """Posterior of the prior N(0, K) given targets observed with Gaussian ``noise`` (a variance).

    The default kernel is the NNGP: the law of an infinitely wide network with random weights.

    Example:
        >>> import torch
        >>> from types import SimpleNamespace as N
        >>> linear = N(kernel=lambda a, b=None, kinds=(): N(nngp=a @ (a if b is None else b).T))
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> GaussianProcess(noise=1.0).fit(linear, data).covariance(torch.eye(2)).round(decimals=6).tolist()
        [[0.5, 0.0], [0.0, 0.5]]
    """

    noise: float = 1e-4
    kind: str = "nngp"
    strict: bool = False
    needs: ClassVar[Needs] = "kernel"

    def __post_init__(self) -> None:
        if self.kind not in ("ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {self.kind!r}.")

    def fit(self, model: KernelModel, data: Samples, seed: int = 0) -> FittedProcess:
        """Decompose the training kernel; the seed plays no part."""
        started = clock.perf_counter()
        x, y = check_data(data)
        model = settled(model, x)
        K = gram(model, x, None, (self.kind,))[self.kind]
        check_depends(K)
        spectral = Spectral(K, ridge=self.noise, strict=self.strict)
        return FittedProcess(model, x, y, spectral, Schedule(), self.kind, started)
