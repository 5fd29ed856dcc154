"""Regression with a kernel: ridge, ridgeless, and stopped at a finite time."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, POSITIVE, checked, number, optional, whole
from priorscope.contracts import FeatureKernel, KernelModel, Needs, Samples, kernel_matrices, require, settled
from priorscope.inference._check import check_data, check_depends
from priorscope.inference._fitted import Fitted, Trajectory, log_times
from priorscope.inference.kernels._spectral import Repair, Schedule, Spectral

__all__ = ["FittedKernel", "KernelRegression", "gram"]


def gram(
    model: KernelModel, x1: Tensor, x2: Tensor | None = None, kinds: tuple[str, ...] = ("ntk",)
) -> dict[str, Tensor]:
    """Kernels of a model by name; a model is anything whose ``kernel(x1, x2)`` has fields ``nngp`` and ``ntk``."""
    model = require(
        model,
        KernelModel,
        "a model with a closed-form kernel (.kernel(x1, x2))",
        "Use an Architecture, priorscope.models.from_module(network), or train the network by GradientFlow.",
    )
    return kernel_matrices(model, x1, x2, kinds)


class FittedKernel(Fitted):
    """A kernel predictor: coefficients on the training points, from the spectrum of the training kernel.

    Example:
        >>> from types import SimpleNamespace as N
        >>> linear = N(kernel=lambda a, b=None, kinds=(): N(ntk=a @ (a if b is None else b).T))
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = KernelRegression().fit(linear, data)
        >>> x = torch.tensor([[1.0, 0.0]])
        >>> [round(float(fitted.predict(x, time=t)), 4) for t in (0.0, 2 * 0.6931472, None)]  # 1 - exp(-t/2)
        [0.0, 0.5, 1.0]
    """

    def __init__(
        self,
        model: KernelModel,
        inputs: Tensor,
        targets: Tensor,
        spectral: Spectral,
        schedule: Schedule,
        kind: str,
        started: float,
    ) -> None:
        self.model, self.inputs, self.targets = model, inputs, targets
        self.spectral, self.schedule, self.kind = spectral, schedule, kind
        self.coefficients = spectral.solve(targets, schedule)  # (n, outputs), float64
        self.seconds = clock.perf_counter() - started

    @cached_property
    def trajectory(self) -> Trajectory:  # type: ignore[override]  # computed when first asked for
        """Training loss at log-spaced times, from the spectrum."""
        return _trajectory(self.spectral, self.targets, self.schedule)

    @property
    def jitter(self) -> float:
        """What was added to the diagonal because the kernel was nearly singular; 0 when nothing was."""
        return self.spectral.jitter

    @property
    def repair(self) -> Repair:
        """What was done to the kernel before it was solved: jitter added, modes left out."""
        return self.spectral.repair

    def predict(self, inputs: Tensor, *, time: float | None = None) -> Tensor:
        """Predictions (n, outputs); at another ``time`` than the fitted one from the same decomposition."""
        coefficients = self.coefficients if time is None else self.spectral.solve(self.targets, Schedule(time=time))
        K = gram(self.model, inputs.to(self.inputs.dtype), self.inputs, (self.kind,))[self.kind]
        return (K.double() @ coefficients).to(inputs.dtype)

    def gradients(self, inputs: Tensor) -> Tensor:
        """Gradients (n, outputs, *input_shape) of the predictor in its inputs, in float64."""
        model = require(
            self.model,
            FeatureKernel,
            "a model whose kernel can be differentiated (.expansion_gradients)",
            "Use an Architecture or a kernel of the distance.",
        )
        return model.expansion_gradients(inputs.to(self.inputs.dtype), self.inputs, self.coefficients, kind=self.kind)


@checked(
    ridge=NOT_NEGATIVE,
    cutoff=number(least=0, below=1),
    time=optional(number(least=0, infinite=True)),
    learning_rate=optional(POSITIVE),
    steps=optional(whole(0)),
)
@dataclass(frozen=True)
class KernelRegression:
    r"""Kernel (ridge) regression :math:`f(x) = K(x, X)\,g(K)\,y`.

    Ridgeless: :math:`g = K^{-1}`; ridge r: :math:`(K + r)^{-1}`; time t of gradient flow on :math:`\frac1{2n}\sum(f-y)^2`
    from f = 0: :math:`g = (1 - e^{-(K+r)t/n})(K + r)^{-1}`; ``learning_rate`` and ``steps``: gradient descent instead.

    Args: ``kind`` "ntk" or "nngp"; ``ridge`` is added to the kernel's diagonal; ``cutoff`` leaves out modes whose eigenvalue is
    below that share of the largest (truncated regression); ``strict`` raises where a nearly singular kernel would get jitter.
    What was repaired is in ``fitted.repair``.

    Example:
        >>> from types import SimpleNamespace as N
        >>> linear = N(kernel=lambda a, b=None, kinds=(): N(ntk=a @ (a if b is None else b).T))
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> KernelRegression(ridge=1.0).fit(linear, data).predict(torch.eye(2)).flatten().tolist()
        [0.5, -0.5]
    """

    kind: str = "ntk"
    ridge: float = 0.0
    time: float | None = None
    learning_rate: float | None = None
    steps: int | None = None
    strict: bool = False
    cutoff: float = 0.0
    needs: ClassVar[Needs] = "kernel"

    def __post_init__(self) -> None:
        if self.kind not in ("ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {self.kind!r}.")
        Schedule(self.time, self.learning_rate, self.steps)

    def fit(self, model: KernelModel, data: Samples, seed: int = 0) -> FittedKernel:
        """Solve for the coefficients; the seed plays no part."""
        started = clock.perf_counter()
        x, y = check_data(data)
        model = settled(model, x)
        schedule = Schedule(self.time, self.learning_rate, self.steps)
        K = gram(model, x, None, (self.kind,))[self.kind]
        check_depends(K)
        spectral = Spectral(K, ridge=self.ridge, endless=schedule.endless, strict=self.strict, cutoff=self.cutoff)
        return FittedKernel(model, x, y, spectral, schedule, self.kind, started)


def _trajectory(spectral: Spectral, targets: Tensor, schedule: Schedule, count: int = 30) -> Trajectory:
    """Training loss at log-spaced times, from the spectrum alone."""
    n = len(spectral)
    y = spectral.modes.mT @ targets.double()  # (n, outputs)
    lam = spectral.shifted()
    top = float(lam.max())
    slowest = float(lam[lam > 1e-12 * top].min())
    last = 10 * n / slowest if schedule.endless else schedule.duration
    first = min(0.01 * n / top, last)
    times = (
        torch.cat([torch.zeros(1, dtype=torch.float64), log_times(first, last, count)])
        if last > 0
        else torch.zeros(1).double()
    )
    done = torch.stack([Schedule(time=float(t)).learned(lam, n) for t in times])  # (T, n)
    kept = 1 - done * spectral.kept * (spectral.eigenvalues / lam.clamp(min=torch.finfo(lam.dtype).tiny))
    loss = (kept.square() @ y.square().sum(1)) / (2 * n)
    return Trajectory(times, loss)
