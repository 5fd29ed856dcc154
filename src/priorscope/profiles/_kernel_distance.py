"""How far a finite network is from its kernel: spread at initialisation, and movement in a short training run."""

from __future__ import annotations

import time as clock
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from priorscope.contracts import is_network_family, kernel_matrix
from priorscope.inference import descend
from priorscope.profiles._candidates import CandidateModel, KernelFamily

if TYPE_CHECKING:
    from priorscope.data import Dataset
    from priorscope.probes import Regime

__all__ = ["AWAY", "NEAR", "Distance", "KernelDistance", "distance_at_width", "place_of", "short_run"]

NEAR, AWAY = (
    0.15,
    0.5,
)  # relative distances between kernels up to which a network is close to its own, and some way from it
_PLACED = 32  # samples by which a network is placed on the phase diagram
_FITTED = 0.1  # share of the loss left below which a short run says something of the end of training


class Distance(Enum):
    """How far a network is from its kernel; the value says what that means for a forecast."""

    DIVERGED = "the short training run diverged: nothing can be said of its regime"
    UNFITTED = "the short run left most of the loss: how far trained networks are from their kernel was not seen"
    CLOSE = "close to its kernel when the loss is fitted"
    SOME_WAY = "some way from its kernel: trained networks do somewhat better or worse"
    FAR = "far from its kernel: features are learned"


@dataclass(frozen=True)
class KernelDistance:
    r"""How far networks of one width are from their kernel.

    ``spread`` is :math:`\|\Theta_w - \Theta_\infty\|_F / \|\Theta_\infty\|_F` over seeds (about the mean of
    other draws where there is no closed form; None for a network that cannot be drawn again),
    ``change`` is :math:`\|\Theta_t - \Theta_0\|_F / \|\Theta_0\|_F` after ``steps`` steps of gradient descent. ``place``, for
    the best fully connected candidate, says whether it trains lazily or learns features, and where on the phase diagram.
    """

    width: int | None
    spread: float | None
    change: float
    steps: int
    loss_ratio: float
    place: Regime | None = None  # lazy or feature, by a quick gradient flow at several output scales

    @property
    def words(self) -> str:
        """What the numbers mean for trusting a kernel forecast, and which regime training is in where that was measured."""
        return self.reading if self.place is None else f"{self.reading}. {self.place.words}"

    @property
    def reading(self) -> str:
        """What the numbers mean for trusting a kernel forecast."""
        return self.distance.value

    @property
    def distance(self) -> Distance:
        """How far from its kernel the network was seen to be."""
        far = max(self.change, self.spread or 0.0)
        if not far < float("inf"):
            return Distance.DIVERGED
        if far < AWAY and self.loss_ratio > _FITTED:
            return Distance.UNFITTED
        if far < NEAR:
            return Distance.CLOSE
        return Distance.SOME_WAY if far < AWAY else Distance.FAR


def _ntk(network: nn.Module, x: Tensor) -> NDArray[np.float64]:
    from priorscope.probes import empirical_ntk

    return empirical_ntk(network, x).detach().double().numpy()


def distance_at_width(
    model: KernelFamily,
    inputs: Tensor,
    targets: Tensor,
    *,
    width: int = 64,
    steps: int = 20,
    seeds: int = 2,
    n: int = 16,
) -> KernelDistance:
    """Spread of the kernel of networks of this width about its limit on ``n`` samples, and its change in training."""
    x, y = inputs[: 2 * n].float(), targets[: 2 * n, :1].float()
    probe = x[:n]
    networks = [model.network(tuple(x.shape[1:]), width=width, outputs=1, seed=seed) for seed in range(seeds)]
    limit = kernel_matrix(model, probe).double().numpy()
    kernels = [_ntk(network, probe) for network in networks]
    spread = float(np.mean([np.linalg.norm(k - limit) for k in kernels]) / np.linalg.norm(limit))
    return short_run(networks[0], x, y, n=n, spread=spread, width=width, steps=steps)


def place_of(model: CandidateModel, data: Dataset, *, width: int = 64) -> Regime | None:
    """Lazy or feature learning at unit output scale, by seconds of gradient flow; None if that would take longer.

    Only fully connected networks are quick enough; :func:`priorscope.probes.regime` takes any architecture.
    """
    from priorscope.inference import GradientFlow
    from priorscope.probes import regime
    from priorscope.system import System

    if not is_network_family(model) or data.inputs[0].numel() > 4096:
        return None
    narrow = model.network(tuple(data.input_shape), width=2, outputs=1, seed=0)
    if any(p.ndim > 2 for p in narrow.parameters()):  # filters
        return None
    few = data.structure.growing(np.arange(len(data.train)), min(_PLACED, len(data.train)))  # with rows of every class
    return regime(System(data.take(torch.as_tensor(few)), model, GradientFlow(), width=width), quick=True)


def short_run(
    network: nn.Module, x: Tensor, y: Tensor, *, n: int, spread: float | None, width: int | None, steps: int = 20
) -> KernelDistance:
    r"""Gradient descent on :math:`\frac12\langle(f - f_0 - y)^2\rangle`; kernels on n samples.

    The rate is :math:`n/2\lambda` with :math:`\lambda` the largest eigenvalue of the kernel at the start, summed over outputs:
    a quarter of the largest stable one for one output, less for more.
    Stops after 15 seconds of processor time, so that a large network takes fewer steps; the result says how many.
    """
    probe = x[:n]
    n = len(probe)
    start = _ntk(network, probe)
    trained = deepcopy(network)
    rate = 0.5 * n / max(float(np.linalg.eigvalsh(start)[-1]), 1e-12)
    with torch.no_grad():
        offset = trained(x).reshape(len(x), -1)
    columns = min(offset.shape[1], y.shape[1])
    losses: list[float] = []
    parameters = [p for p in trained.parameters() if p.requires_grad]
    began = clock.process_time()

    def gradient(weights: list[nn.Parameter], done: int) -> tuple[Tensor | None, ...]:
        loss = (trained(x).reshape(len(x), -1) - offset)[:, :columns].sub(y[:, :columns]).square().sum(1).mean() / 2
        losses.append(float(loss.detach()))
        return torch.autograd.grad(loss, weights, allow_unused=True)

    @torch.no_grad()
    def update(weights: list[nn.Parameter], slope: tuple[Tensor | None, ...], done: int) -> list[nn.Parameter]:
        for p, g in zip(weights, slope):
            if g is not None:
                p.sub_(rate * g)
        return weights

    descend(parameters, gradient, update, steps, lambda _, done: done >= 3 and clock.process_time() - began >= 15)
    end = _ntk(trained, probe)
    change = float(np.linalg.norm(end - start)) / max(float(np.linalg.norm(start)), 1e-300)
    return KernelDistance(width, spread, change, len(losses), losses[-1] / max(losses[0], 1e-300))
