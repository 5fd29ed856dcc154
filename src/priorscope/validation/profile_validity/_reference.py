"""What predictors of a profile do at the size asked about: networks trained until they stop improving, and proxies of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from priorscope.data import Split
from priorscope.inference import TrainingRun

__all__ = ["RATES", "RATES_OF_MODULES", "best_training", "naswot", "predictions", "synflow"]

Array = NDArray[np.float64]
Factory = Callable[[int], nn.Module]  # a network by seed
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)  # of Adam, over the number of hidden layers, whose effects on the output add up
RATES_OF_MODULES = (0.0003, 0.001, 0.003, 0.01, 0.03)  # for networks in torch's own parametrisation
BATCH = 32
TRIED = 192  # steps of each rate
FIRST, MOST = 64, 2048  # steps at the first look, and at the last in any case
FELL = 0.99


def best_training(
    factory: Factory, x: Tensor, y: Tensor, rates: tuple[float, ...], *, centre: bool
) -> tuple[float, int]:
    """The rate and the number of steps that do best on a fifth of the samples, after training on the others.

    Each rate is tried for 192 steps; the best goes on until twice as many steps bring no further fall by 1 %, or to 2,048.
    """
    cut = 4 * len(x) // 5
    part, held = Split(x[:cut], y[:cut]), slice(cut, None)

    def error(run: TrainingRun) -> float:
        found = float((run.predict(x[held]) - y[held]).square().mean())
        return found if math.isfinite(found) else math.inf

    runs = {
        rate: TrainingRun(factory(0), part, learning_rate=rate, batch_size=BATCH, centre=centre, seed=0)
        for rate in rates
    }
    rate = min(runs, key=lambda r: error(runs[r].advance(TRIED)))
    run = TrainingRun(factory(0), part, learning_rate=rate, batch_size=BATCH, centre=centre, seed=0)
    best, at, goal = math.inf, FIRST, float(FIRST)
    while run.steps < min(2 * at, MOST) or run.steps == 0:
        run.advance(min(round(goal), MOST) - run.steps)
        now = error(run)
        if now < FELL * best:
            best, at = now, run.steps
        goal *= math.sqrt(2)
    return rate, round(at * len(x) / cut)


def predictions(
    factory: Factory, x: Tensor, y: Tensor, x_test: Tensor, rate: float, steps: int, members: int, *, centre: bool
) -> Array:
    """Outputs on the test samples of networks trained on all samples for so many steps, (members, n, outputs)."""
    data = Split(x, y)
    found = [
        TrainingRun(factory(seed), data, learning_rate=rate, batch_size=BATCH, centre=centre, seed=seed)
        .advance(steps)
        .predict(x_test)
        .double()
        .numpy()
        for seed in range(1, members + 1)
    ]
    return np.stack(found)


@torch.no_grad()
def naswot(network: nn.Module, x: Tensor) -> float:
    r"""Logarithm of the determinant of :math:`K_{ij} = N - d_H(c_i, c_j)`, c the signs of all N inputs of nonlinearities.

    Mellor et al. (2021, arXiv 2006.04647), eqs. 1 and 2; nonlinearities are modules without weights that change numbers and
    keep their shape. A network averaged over moves sees every sample once per move: its code holds the signs of all of them.
    Larger is said to be better.
    """
    codes: list[Tensor] = []

    def keep(module: nn.Module, given: tuple[Tensor, ...], found: Tensor) -> None:
        if found.shape == given[0].shape and not torch.equal(found, given[0]):
            signs = (given[0] > 0).unflatten(0, (-1, len(x))).movedim(1, 0)  # (n, moves, …)
            codes.append(signs.flatten(1).double())

    leaves = [m for m in network.modules() if not list(m.children()) and not list(m.parameters())]
    hooks = [m.register_forward_hook(keep) for m in leaves]
    network.eval()(x)
    for hook in hooks:
        hook.remove()
    K = sum((c @ c.T + (1 - c) @ (1 - c).T for c in codes), torch.zeros(len(x), len(x), dtype=torch.float64))
    return float(torch.linalg.slogdet(K).logabsdet)


def synflow(network: nn.Module, shape: tuple[int, ...]) -> float:
    r"""Logarithm of :math:`\sum_\theta |\theta \odot \partial R / \partial\theta|`, R the output for an input of ones under |θ|.

    Tanaka et al. (2020, arXiv 2006.05467), eq. 2, as a score of architectures (Abdelfattah et al. 2021, arXiv 2101.08134). Larger
    is said to be better.
    """
    network = network.double().eval()
    weights: list[Tensor] = list(network.parameters())
    with torch.no_grad():
        torch._foreach_abs_(weights)
    total = network(torch.ones(1, *shape, dtype=torch.float64)).sum()
    slopes = torch.autograd.grad(total, weights, allow_unused=True)
    parts = [(w.detach() * g).abs().sum() for w, g in zip(weights, slopes, strict=True) if g is not None]
    return float(torch.stack(parts).sum().log())
