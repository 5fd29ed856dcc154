"""Gradient flow to its very end, for networks of up to two thousand weights, by an implicit method."""

from __future__ import annotations

import math
import time as clock
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import LSODA
from torch import Tensor, nn
from torch.func import grad, hessian

from priorscope.checks import checked, number, whole
from priorscope.contracts import Member, Needs, NetworkStack, Samples
from priorscope.inference._check import check_data
from priorscope.inference._fitted import Trajectory
from priorscope.inference.networks._loss import Loss, as_loss
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._stop import StopRule, as_stop
from priorscope.inference.networks._trained import FittedNetworks

__all__ = ["StiffFlow"]

Array = NDArray[np.float64]
MOST_WEIGHTS = 2000  # each Newton matrix holds their square
LAST = 1e15  # stands for no end in time: steps grow without bound where nothing moves


@checked(
    time=number(above=0, infinite=True),
    max_steps=whole(),
    accuracy=number(above=0, below=0.1),
)
@dataclass(frozen=True)
class StiffFlow:
    r"""Gradient flow :math:`\dot w = -\nabla\Lambda` to its end, with :math:`\Lambda = \frac1n\sum_\mu\ell(f(x_\mu), y_\mu)`.

    Where fast and slow modes lie orders of magnitude apart, as in networks that start from small weights, explicit steps are
    bound by the fast ones. This flow switches to implicit multistep formulas with the exact Hessian (LSODA: Petzold 1983; scipy),
    so that it reaches its limit in a few thousand steps, at a relative ``accuracy`` per step and weight. For smooth networks of
    at most 2,000 weights; across the kinks of ReLU steps become short. In float64.

    Args: ``time`` and ``max_steps`` bound the run; ``stop`` is a loss value, "fitted" or a rule, as in
    :class:`GradientFlow`; members of an ensemble are integrated one after the other. The trajectory has every step of a
    single network, else its two ends.

    Example:
        >>> from types import SimpleNamespace as N
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> net = nn.Linear(2, 1, bias=False)
        >>> _ = nn.init.zeros_(net.weight)
        >>> fitted = StiffFlow(time=2.0).fit(net, data)  # each weight moves 1 - exp(-t/2) of its way
        >>> round(float(fitted.predict(torch.eye(2))[0]), 9) == round(1 - math.exp(-1), 9)
        True
    """

    loss: str | Loss = "squared"
    time: float = math.inf
    stop: StopRule | float | str | None = None
    max_steps: int = 100_000
    accuracy: float = 1e-10
    needs: ClassVar[Needs] = "network"

    def fit(self, model: nn.Module | NetworkStack | Member, data: Samples, seed: int = 0) -> FittedNetworks:
        """Integrate the flow from the model's weights; ``seed`` is passed to a factory."""
        started = clock.perf_counter()
        x, y = check_data(data)
        members = Members(model, seed, torch.float64)
        x, y = x.double(), y.double()
        if members.flat.shape[1] > MOST_WEIGHTS:
            raise ValueError(
                f"StiffFlow solves with the Hessian of at most {MOST_WEIGHTS} weights; got {members.flat.shape[1]}. Use "
                "GradientFlow."
            )
        with torch.no_grad():
            f = members.call(members.flat, x)
        if f.shape[1:] != y.shape:
            raise ValueError(
                f"network outputs (n, outputs) must match targets {tuple(y.shape)}; got {tuple(f.shape[1:])}."
            )
        with members.evaluating():
            runs = [self._member(members, x, y, k) for k in range(len(members))]
        ends = torch.stack([run.weights for run in runs])
        return FittedNetworks(
            members,
            ends,
            alpha=torch.ones(len(members), dtype=torch.float64),
            centre=False,
            trajectory=_trajectory(runs, members.single),
            seconds=clock.perf_counter() - started,
            times=torch.tensor([run.times[-1] for run in runs], dtype=torch.float64),
            steps=torch.tensor([len(run.times) - 1 for run in runs]),
            finished=torch.tensor([run.finished for run in runs]),
        )

    def _member(self, members: Members, x: Tensor, y: Tensor, k: int) -> _Run:
        """Integrate one member until its stop rule, the end of time, or the last step allowed."""
        loss, stop = as_loss(self.loss), as_stop(self.stop)

        def outputs(w: Tensor) -> Tensor:
            flat = torch.cat([members.flat[:k], w[None], members.flat[k + 1 :]])
            return members.call(flat, x)[k]

        def objective(w: Tensor) -> Tensor:
            return loss(outputs(w), y)

        slope, bend = _array(grad(objective)), _array(hessian(objective))
        first: Array = members.flat[k].numpy().copy()
        size = float(np.abs(first).max()) or 1.0
        solver = LSODA(
            lambda t, w: -slope(w),
            0.0,
            first,
            LAST if math.isinf(self.time) else self.time,
            rtol=self.accuracy,
            atol=1e-3 * self.accuracy * size,
            jac=lambda t, w: -bend(w),
        )
        times, losses, done, w = [0.0], [], False, first
        while True:
            with torch.no_grad():
                f = outputs(torch.from_numpy(w))
            losses.append(float(loss(f, y)))
            done = bool(stop(loss, f[None], y))
            if done or solver.status != "running" or len(times) > self.max_steps:
                break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # LSODA's own words; what it failed at is told below
                told = solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                raise ValueError(
                    f"StiffFlow failed at time {times[-1]:.3g} ({told}). The loss may have a kink there (ReLU): use "
                    f"GradientFlow, or accuracy={10 * self.accuracy:g}."
                )
            w = solver.y.copy()
            times.append(float(solver.t))
        return _Run(torch.from_numpy(w.copy()), times, losses, done)


@dataclass(frozen=True)
class _Run:
    weights: Tensor  # (P,)
    times: list[float]
    losses: list[float]
    finished: bool


def _array(function: Callable[[Tensor], Tensor]) -> Callable[[Array], Array]:
    """A function of tensors as one of arrays."""

    def of(w: Array) -> Array:
        found: Array = function(torch.from_numpy(w.copy())).detach().numpy()
        return found

    return of


def _trajectory(runs: list[_Run], single: bool) -> Trajectory:
    if single:
        (run,) = runs
        return Trajectory(torch.tensor(run.times, dtype=torch.float64), torch.tensor(run.losses, dtype=torch.float64))
    last = max(run.times[-1] for run in runs)
    ends = torch.tensor([[run.losses[0] for run in runs], [run.losses[-1] for run in runs]], dtype=torch.float64)
    return Trajectory(torch.tensor([0.0, last], dtype=torch.float64), ends)
