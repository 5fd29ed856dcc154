"""Continuous-time training: gradient flow by steps that adapt to each member."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, POSITIVE, checked, each, number, whole
from priorscope.contracts import Member, Needs, NetworkStack, Samples
from priorscope.inference._check import check_data
from priorscope.inference._fitted import log_times
from priorscope.inference.networks._flow_integration import Integration
from priorscope.inference.networks._flow_term import KernelTerm
from priorscope.inference.networks._loss import Loss
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._stop import StopRule
from priorscope.inference.networks._trained import FittedNetworks

__all__ = ["GradientFlow"]


@checked(
    alpha=each(POSITIVE, alone=True),
    time=number(above=0, infinite=True),
    max_steps=whole(),
    record=each(NOT_NEGATIVE, alone=True),
    max_change=POSITIVE,
    max_turn=POSITIVE,
)
@dataclass(frozen=True)
class GradientFlow:
    r"""Gradient flow :math:`\dot w = -\nabla\Lambda` with :math:`\Lambda = \frac{1}{\alpha^2 n}\sum_\mu \ell(F(x_\mu), y_\mu)`.

    The predictor is :math:`F = \alpha(f - f_0)` (``centre=True``) or :math:`\alpha f`; the prefactor makes the time of lazy
    training independent of :math:`\alpha`. Explicit Euler; a step is accepted when

    .. math:: \alpha\max_\mu|\Delta f(x_\mu)| < 0.1,\qquad \|g_i - g_{i+1}\|^2 / (\|g_i\|\|g_{i+1}\|) < 10^{-4}

    and otherwise retried smaller: Geiger et al. (2020), "Disentangling feature and lazy training", eqs. 8-9. Every member of
    an ensemble has its own step and its own time, and may have its own ``alpha``; all of them are integrated at once, fully
    connected ones by batched products without automatic differentiation, as many at a time as fit the cache. Late
    in training, when only slow modes are left, the step rides on the edge of stability of the fast ones: from there on two
    runs agree within the step's accuracy, before it to round-off. Steps below a thousandth of the elapsed time that change
    outputs by less than a hundredth of the bound are never refused: a flow held at a kink of a ReLU slides along it.

    Args: ``time`` and ``max_steps`` bound the run; ``stop`` is a loss value, "fitted" (all margins met) or a rule;
    ``record`` is a number of log-spaced times or the times themselves; ``keep`` names what the trajectory stores beside
    the loss: "outputs", "params". ``max_change`` and ``max_turn`` are the two bounds.

    Example:
        >>> from types import SimpleNamespace as N
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> fitted = GradientFlow(time=2.0, max_turn=1e-6).fit(net, data)   # each weight moves 1 - exp(-t/2) of its way
        >>> round(float(fitted.predict(torch.eye(2))[0]), 2)
        0.63
    """

    alpha: float | Sequence[float] = 1.0
    centre: bool = True
    loss: str | Loss = "squared"
    time: float = math.inf
    max_steps: int = 20_000
    stop: StopRule | float | str | None = None
    record: int | Sequence[float] = 30
    keep: tuple[str, ...] = ()
    max_change: float = 0.1
    max_turn: float = 1e-4
    dtype: torch.dtype = torch.float64
    needs: ClassVar[Needs] = "network"

    def __post_init__(self) -> None:
        unknown = set(self.keep) - {"outputs", "params"}
        if unknown:
            raise ValueError(f"keep may name 'outputs' and 'params'; got {sorted(unknown)}.")

    def with_alpha(self, alpha: float | Sequence[float]) -> GradientFlow:
        """The same flow at another output scale."""
        return replace(self, alpha=alpha)

    def fit(self, model: nn.Module | NetworkStack | Member, data: Samples, seed: int = 0) -> FittedNetworks:
        """Integrate the flow from the model's weights; ``seed`` is passed to a factory."""
        started = clock.perf_counter()
        x, y = check_data(data)
        members = Members(model, seed, self.dtype)
        run = Integration.of(self, members, x.to(self.dtype), y.to(self.dtype))
        run.run()
        return FittedNetworks(
            members,
            run.w,
            alpha=run.alpha,
            centre=self.centre,
            trajectory=run.record.trajectory(run.value, run.states(), members.single),
            seconds=clock.perf_counter() - started,
            times=run.t,
            steps=run.steps,
            finished=run.finished,
        )

    def fit_kernels(self, kernels: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r"""The flow of linear models given by their kernels (K, P, P) on targets (P, outputs), all in one integration.

        Gives the coefficients (K, P, outputs) of :math:`F = \Theta c`, the times at which they ended, and whether their stop rule
        was met. The output scale has no effect on a linear model and is not used.

        Example:
            >>> kernels = torch.stack([2 * torch.eye(2), 4 * torch.eye(2)]).double()
            >>> c, _, _ = GradientFlow(time=1.0, max_turn=1e-6).fit_kernels(kernels, torch.tensor([[1.0], [-1.0]]).double())
            >>> [round(float(v), 2) for v in (kernels @ c)[:, 0]]  # 1 - exp(-1), 1 - exp(-2)
            [0.63, 0.86]
        """
        run = Integration(self, KernelTerm(self, kernels, targets))
        run.run()
        return run.w.reshape(len(kernels), *targets.shape), run.t, run.finished

    def recorded_times(self) -> Tensor:
        """The times the trajectory shows: given, log-spaced up to ``time``, or four per decade when time is unbounded."""
        if not isinstance(self.record, int):
            return torch.as_tensor(list(self.record), dtype=torch.float64)
        if math.isinf(self.time):
            return 10.0 ** torch.arange(-6, 8.01, 0.25, dtype=torch.float64)
        return log_times(1e-4 * self.time, self.time, self.record)
