"""Lazy or feature learning: how much kernel and weights move as the output scale varies, and where the crossover is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...inference import FittedNetworks, GradientFlow
from ...system import System

__all__ = ["Regime", "regime", "stacked_ntk"]


def stacked_ntk(fitted: FittedNetworks, params: Tensor, inputs: Tensor) -> Tensor:
    r"""Tangent kernels :math:`J_kJ_k^T` (K, n, n) of the raw first output at flat parameters (K, P), by explicit Jacobians.

    Example:
        >>> from types import SimpleNamespace as N
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> fitted = GradientFlow(time=1.0).fit(torch.nn.Linear(2, 1, bias=False), data)
        >>> stacked_ntk(fitted, fitted.initial, torch.eye(2)).tolist()
        [[[1.0, 0.0], [0.0, 1.0]]]
    """
    members, x = fitted.members, inputs.to(fitted.members.dtype)
    w = params.detach().requires_grad_()
    f = members.call(w, x)[:, :, 0]  # (K, n)
    rows = [torch.autograd.grad(f[:, i].sum(), w, retain_graph=True)[0] for i in range(len(x))]
    J = torch.stack(rows, 1)  # (K, n, P)
    return J @ J.mT


@dataclass(frozen=True)
class Regime:
    r"""Change of kernel and weights at each output scale, one value a member (alpha, seed).

    ``kernel_change`` is :math:`\|\Theta_T-\Theta_0\|/\|\Theta_0\|` on test inputs, ``weight_change`` is
    :math:`\|w_T-w_0\|/\|w_0\|`, ``half_time`` the first recorded time at which the loss is half its initial value.

    Example:
        >>> ones = np.ones((2, 1))
        >>> r = Regime(64, np.array([0.1, 10.0]), np.array([[10.0], [0.1]]), ones, ones, ones, 1.0)
        >>> round(r.crossover, 6), r.name
        (1.0, 'crossover')
    """

    width: int
    alphas: np.ndarray  # (A,), ascending
    kernel_change: np.ndarray  # (A, seeds)
    weight_change: np.ndarray
    half_time: np.ndarray
    test_error: np.ndarray
    alpha: float

    @property
    def crossover(self) -> float:
        """Alpha at which the kernel changes by its own size, by log-log interpolation; NaN outside the ladder."""
        level = np.log(np.maximum(self.kernel_change, 1e-300)).mean(1)  # falls with alpha
        a = np.log(self.alphas)
        for i in range(len(a) - 1):
            if level[i] >= 0 > level[i + 1]:
                return float(np.exp(a[i] + level[i] / (level[i] - level[i + 1]) * (a[i + 1] - a[i])))
        return float("nan")

    @property
    def rescaled(self) -> tuple[float, float]:
        r"""The position :math:`(h, \sqrt h\,\alpha)` on the phase diagram."""
        return float(self.width), float(np.sqrt(self.width) * self.alpha)

    @property
    def name(self) -> str:
        """Which side of the crossover the system's own alpha lies on; within a factor 3 it is the crossover."""
        if not np.isfinite(self.crossover):
            return "lazy" if float(self.kernel_change.mean()) < 1 else "feature"
        if abs(np.log(self.alpha / self.crossover)) < np.log(3):
            return "crossover"
        return "lazy" if self.alpha > self.crossover else "feature"

    def table(self) -> Any:
        """Tidy: one row a member."""
        import pandas as pd

        n_seeds = self.kernel_change.shape[1]
        return pd.DataFrame(
            {
                "alpha": np.repeat(self.alphas, n_seeds),
                "rescaled_alpha": np.repeat(self.alphas, n_seeds) * np.sqrt(self.width),
                "seed": np.tile(np.arange(n_seeds), len(self.alphas)),
                "kernel_change": self.kernel_change.ravel(),
                "weight_change": self.weight_change.ravel(),
                "half_time": self.half_time.ravel(),
                "test_error": self.test_error.ravel(),
            }
        )

    def chart(self) -> Any:
        """Kernel change against the rescaled output scale; dashed: the system's own, and the level of the crossover."""
        import altair as alt
        import pandas as pd

        x = alt.X("rescaled_alpha:Q", title="output scale √h α", scale=alt.Scale(type="log"))
        y = alt.Y("kernel_change:Q", title="change of the kernel ‖ΔΘ‖/‖Θ‖", scale=alt.Scale(type="log"))
        points = alt.Chart(self.table()).mark_point().encode(x, y)
        own = alt.Chart(pd.DataFrame({"rescaled_alpha": [self.rescaled[1]]})).mark_rule(strokeDash=[4, 4]).encode(x=x)
        level = alt.Chart(pd.DataFrame({"kernel_change": [1.0]})).mark_rule(strokeDash=[2, 2]).encode(y=y)
        return points + own + level


def regime(
    system: System,
    alphas: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
    *,
    alpha: float = 1.0,
    seeds: int = 2,
    flow: GradientFlow | None = None,
    n_probe: int = 16,
) -> Regime:
    r"""Train all seeds at all output scales in one gradient flow and measure how far kernel and weights move.

    ``alpha`` is the scale the user trains at; networks have the system's architecture and width. The crossover
    :math:`\alpha^*` is where the kernel changes by its own size (Geiger et al. 2020, "Disentangling feature and lazy training";
    :math:`\alpha^*\sim h^{-1/2}`). Default flow: soft hinge until all margins are met, ``max_turn`` 1e-3.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(10, seed=0, n_test=10)
        >>> system = ps.System(data, ps.models.fcn(1, activation="erf"), GradientFlow(), width=16)
        >>> regime(system, (1.0, 100.0), seeds=1, flow=GradientFlow(time=0.1, max_turn=1e-2)).kernel_change.shape
        (2, 1)
    """
    if not hasattr(system.model, "ensemble"):
        raise TypeError(
            f"regime needs an architecture, to make networks of other seeds; got {type(system.model).__name__}. "
            "Use priorscope.models.from_module(network)."
        )
    scales = np.sort(np.asarray(alphas, dtype=float))
    flow = flow or GradientFlow(loss="soft-hinge", stop="fitted", max_turn=1e-3, max_steps=3000)
    data = system.data
    ensemble = system.model.ensemble(
        tuple(data.input_shape),
        width=system.width,
        outputs=data.n_outputs,
        seeds=[seed for _ in scales for seed in range(seeds)],
        parametrisation=system.parametrisation,
        initialisation=system.initialisation,
    )
    fitted = flow.with_alpha(np.repeat(scales, seeds).tolist()).fit(ensemble, data)
    x = data.test.inputs[:n_probe]
    start, end = (stacked_ntk(fitted, w, x) for w in (fitted.initial, fitted.params))
    change = (end - start).flatten(1).norm(dim=1) / start.flatten(1).norm(dim=1)
    moved = (fitted.params - fitted.initial).norm(dim=1) / fitted.initial.norm(dim=1)
    loss = fitted.trajectory.loss  # (T, K)
    below = loss <= loss[0] / 2
    first = torch.where(below.any(0), below.double().argmax(0), len(loss) - 1)
    half = torch.where(below.any(0), fitted.trajectory.times[first], torch.nan)
    predictions = fitted.predict(data.test.inputs)
    error = (predictions * data.test.targets.to(predictions.dtype) <= 0).double().mean((1, 2))

    def grid(values: Tensor) -> np.ndarray:
        return values.detach().reshape(len(scales), seeds).numpy()

    return Regime(system.width, scales, grid(change), grid(moved), grid(half), grid(error), alpha)
