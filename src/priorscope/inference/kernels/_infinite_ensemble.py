"""The trained ensemble of infinitely wide networks: its mean and covariance at any time, from both kernels."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, checked, number, optional, whole
from priorscope.contracts import KernelModel, Needs, Samples, settled
from priorscope.inference._check import check_data, check_depends
from priorscope.inference.kernels._kernel_regression import FittedKernel, gram
from priorscope.inference.kernels._spectral import Schedule, Spectral

__all__ = ["FittedEnsemble", "InfiniteEnsemble"]


class FittedEnsemble(FittedKernel):
    """``predict`` is the mean over random initial weights; ``covariance`` is the same for every output.

    Example:
        >>> from types import SimpleNamespace as N
        >>> linear = N(kernel=lambda a, b=None, kinds=(): N(**{k: a @ (a if b is None else b).T for k in kinds}))
        >>> data = N(inputs=torch.eye(3)[:2], targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = InfiniteEnsemble().fit(linear, data)
        >>> fitted.variance(torch.eye(3)).tolist()  # none on the training points, the prior's on the new one
        [0.0, 0.0, 1.0]
    """

    nngp: Tensor  # (n_train, n_train)
    centred: bool

    def covariance(self, inputs: Tensor, *, time: float | None = None) -> Tensor:
        """Covariance (n, n) of the trained outputs at these inputs, over initial weights."""
        inputs = inputs.to(self.inputs.dtype)
        if self.centred:
            return torch.zeros(len(inputs), len(inputs), dtype=torch.float64)
        schedule = self.schedule if time is None else Schedule(time=time)
        prior = gram(self.model, inputs, None, ("nngp",))["nngp"].double()
        kinds = ("nngp", self.kind) if self.kind != "nngp" else ("nngp",)
        cross = gram(self.model, inputs, self.inputs, kinds)
        g = schedule.filter(self.spectral.shifted(), len(self.spectral))
        U = self.spectral.modes
        A = ((cross[self.kind].double() @ U) * g) @ U.mT  # (n, n_train): f_t = f_0 + A (y - f_0(X))
        C = cross["nngp"].double() @ A.mT  # (n, n)
        found: Tensor = prior - C - C.mT + A @ self.nngp @ A.mT
        return found

    def variance(self, inputs: Tensor, *, time: float | None = None) -> Tensor:
        """Variance (n,) of the trained outputs, never negative."""
        return self.covariance(inputs, time=time).diagonal().clamp(min=0)


@checked(
    time=optional(number(least=0, infinite=True)),
    learning_rate=optional(POSITIVE),
    steps=optional(whole(0)),
    ridge=NOT_NEGATIVE,
)
@dataclass(frozen=True)
class InfiniteEnsemble:
    r"""Mean and covariance, over initial weights, of infinitely wide networks trained on :math:`\frac1{2n}\sum\|f-y\|^2`.

    With :math:`f_0\sim N(0, \Sigma)` (NNGP) and :math:`f_t(x) = f_0(x) + A_t(x)(y - f_0(X))`,
    :math:`A_t(x) = \Theta(x,X)\,(1 - e^{-(\Theta+r)t/n})(\Theta+r)^{-1}` (NTK):

    .. math:: m = A y,\qquad
        C = \Sigma(x,x') - A\Sigma(X,x') - \Sigma(x,X)A'^T + A\,\Sigma(X,X)A'^T

    Lee et al. (2019), eqs. 14-15, with ridge and steps added. ``time=None`` trains for ever; ``learning_rate`` and
    ``steps`` give momentum-free gradient descent. ``kind="nngp"`` trains the readout only; ``ridge`` r is the weight
    :math:`\frac{r}{2n}\|w - w_0\|^2`; ``centred`` trains :math:`f - f_0`, which has no fluctuations in this limit.

    Example:
        >>> from types import SimpleNamespace as N
        >>> linear = N(kernel=lambda a, b=None, kinds=(): N(**{k: a @ (a if b is None else b).T for k in kinds}))
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = InfiniteEnsemble(time=2 * 0.6931472).fit(linear, data)
        >>> [[round(float(v), 4) for v in row] for row in fitted.covariance(torch.eye(2))]
        [[0.25, 0.0], [0.0, 0.25]]
    """

    time: float | None = None
    learning_rate: float | None = None
    steps: int | None = None
    ridge: float = 0.0
    kind: str = "ntk"
    centred: bool = False
    strict: bool = False
    needs: ClassVar[Needs] = "kernel"

    def __post_init__(self) -> None:
        if self.kind not in ("ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {self.kind!r}.")
        Schedule(self.time, self.learning_rate, self.steps)

    def fit(self, model: KernelModel, data: Samples, seed: int = 0) -> FittedEnsemble:
        """Decompose the training kernel once; the seed plays no part."""
        started = clock.perf_counter()
        x, y = check_data(data)
        model = settled(model, x)
        schedule = Schedule(self.time, self.learning_rate, self.steps)
        kernels = gram(model, x, None, ("nngp", "ntk") if self.kind == "ntk" else ("nngp",))
        check_depends(kernels[self.kind])
        spectral = Spectral(kernels[self.kind], ridge=self.ridge, endless=schedule.endless, strict=self.strict)
        fitted = FittedEnsemble(model, x, y, spectral, schedule, self.kind, started)
        fitted.nngp, fitted.centred = kernels["nngp"].double(), self.centred
        return fitted
