"""Training with a frozen tangent kernel: what a network would do if its features stayed as they are at some time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from priorscope.checks import number, optional
from priorscope.contracts import Samples, guarded
from priorscope.inference import FittedNetworks, GradientFlow
from priorscope.printing import printed
from priorscope.probes.regimes._movement import stacked_ntk

__all__ = ["FrozenFit", "FrozenNetworks", "frozen_flow", "frozen_flows", "frozen_training"]


@printed
@dataclass(frozen=True)
class FrozenFit:
    r"""Coefficients c of :math:`F(x) = \sum_\mu\Theta(x, x_\mu)c_\mu`, with time and success of the flow.

    Example:
        >>> fit = FrozenFit(torch.ones(2, 1), 1.0, True)
        >>> fit.predict(torch.eye(2)).tolist()
        [[1.0], [1.0]]
    """

    coefficients: Tensor  # (P, outputs)
    time: float
    finished: bool

    def predict(self, cross: Tensor) -> Tensor:
        """Predictions (m, outputs) from the kernel (m, P) between new and training points."""
        return cross.to(self.coefficients.dtype) @ self.coefficients


@guarded()
def frozen_flow(kernel: Tensor, targets: Tensor, flow: GradientFlow | None = None) -> FrozenFit:
    r"""Gradient flow of a linear model whose tangent kernel (P, P) is given, from :math:`F = 0`.

    .. math:: \dot F(x) = -\frac1P\sum_\mu \Theta(x, x_\mu)\,\ell'(F(x_\mu), y_\mu)

    Geiger et al. (2020), "Disentangling feature and lazy training", appendix A, with the constant of eq. 25 subtracted: take the
    kernel at the initial weights for the lazy limit, at the end of training for the features that were learnt, or at any time
    between. Integrated by the same ``flow`` as the networks, with the same two bounds on a step: the gradient of the linear
    model has scalar products :math:`\ell'^T\Theta\,\ell'/P^2`. Its ``alpha`` drops out and is set to one.

    Example:
        >>> y = torch.tensor([[1.0], [-1.0]])
        >>> fit = frozen_flow(2 * torch.eye(2), y, GradientFlow(time=1.0, max_turn=1e-6))  # dF/dt = y - F
        >>> round(float(fit.predict(2 * torch.eye(2))[0]), 2)
        0.63
    """
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or len(targets) != len(kernel):
        raise ValueError(
            f"frozen_flow needs a square kernel (P, P) and P targets; got {tuple(kernel.shape)} and {len(targets)} targets. "
            "Pass the block between training points; the one with new points goes to FrozenFit.predict."
        )
    return frozen_flows(kernel[None], targets, flow)[0]


@guarded()
def frozen_flows(kernels: Tensor, targets: Tensor, flow: GradientFlow | None = None) -> tuple[FrozenFit, ...]:
    """As :func:`frozen_flow` for several kernels (K, P, P) with the same targets (P, outputs), all in one integration.

    Example:
        >>> kernels = torch.stack([2 * torch.eye(2), 4 * torch.eye(2)])
        >>> fits = frozen_flows(kernels, torch.tensor([[1.0], [-1.0]]), GradientFlow(time=1.0, max_turn=1e-6))
        >>> [round(float(fit.predict(k)[0]), 2) for fit, k in zip(fits, kernels)]  # 1 - exp(-1), 1 - exp(-2)
        [0.63, 0.86]
    """
    flow = replace(
        flow or GradientFlow(loss="soft-hinge", stop="fitted", max_turn=1e-3), alpha=1.0, dtype=torch.float64
    )
    found = flow.fit_kernels(kernels.double(), targets.double())
    return tuple(FrozenFit(c, float(t), bool(done)) for c, t, done in zip(*found))


@printed
@dataclass(frozen=True)
class FrozenNetworks:
    """Every member trained anew with its tangent kernel frozen at some time of its training.

    Example:
        >>> from types import SimpleNamespace
        >>> data = SimpleNamespace(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> flow = GradientFlow(time=100.0, stop=1e-4)
        >>> frozen = frozen_training(flow.fit(torch.nn.Linear(2, 1, bias=False), data), data, time=0, flow=flow)
        >>> frozen.time, frozen.predict(data.inputs).round(decimals=1).flatten().tolist()
        (0.0, [1.0, -1.0])
    """

    fitted: FittedNetworks
    params: Tensor  # (K, P), where the kernels are taken
    inputs: Tensor
    fits: tuple[FrozenFit, ...]
    time: float

    def predict(self, inputs: Tensor) -> Tensor:
        """Predictions (K, n, 1)."""
        cross = stacked_ntk(self.fitted, self.params, inputs, self.inputs)
        return torch.stack([fit.predict(k) for fit, k in zip(self.fits, cross)])


@guarded(time=optional(number(least=0, infinite=True)))
def frozen_training(
    fitted: FittedNetworks, data: Samples, *, time: float | None = None, flow: GradientFlow | None = None
) -> FrozenNetworks:
    """Train each member again from zero with the tangent kernel it had at ``time``: see :func:`frozen_flow`.

    ``time`` zero is the lazy limit, None the end of training, anything between needs a flow that kept its parameters
    (``keep=("params",)``): the last recorded time up to it is taken.

    Example:
        >>> from types import SimpleNamespace
        >>> data = SimpleNamespace(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> flow = GradientFlow(time=1.0, max_turn=1e-2)
        >>> trained = flow.fit(torch.nn.Linear(2, 1, bias=False), data)
        >>> again = frozen_training(trained, data, time=0, flow=flow)  # a linear model is its kernel
        >>> bool((again.predict(data.inputs)[0] - trained.predict(data.inputs)).abs().max() < 1e-6)
        True
    """
    x, y = data.inputs, data.targets
    if y.shape[1] != 1:
        raise ValueError(f"frozen_training needs one output; got {y.shape[1]}. Train on one of them at a time.")
    params, reached = _parameters_at(fitted, time)
    kernels = stacked_ntk(fitted, params, x)
    return FrozenNetworks(fitted, params, x, frozen_flows(kernels, y, flow), reached)


def _parameters_at(fitted: FittedNetworks, time: float | None) -> tuple[Tensor, float]:
    if time is None:
        return fitted.params, float(fitted.times.max())
    if time == 0:
        return fitted.initial, 0.0
    kept = fitted.trajectory.params
    if kept is None:
        raise ValueError(
            f"frozen_training at time {time:g} needs the parameters along training; the flow kept none. "
            'Train with keep=("params",).'
        )
    times = fitted.trajectory.times
    row = int(torch.nonzero(times <= time).flatten()[-1])
    return kept[row], float(times[row])
