"""Lazy or feature learning: train at several output scales, find the crossover, and say where a system stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.stats import gmean
from torch import Tensor

from priorscope.checks import POSITIVE, each, optional, whole
from priorscope.contracts import LabelledData, MovableData, NetworkFamily, guarded, require
from priorscope.inference import FittedNetworks, GradientFlow
from priorscope.models import count_weights
from priorscope.probes.landscapes._jamming_point import JammingPoint
from priorscope.probes.regimes._movement import half_times, last_activations, relative_change, stacked_ntk
from priorscope.probes.regimes._result import Regime
from priorscope.system import System, check_system

__all__ = ["regime"]

RANDOM_LABELS = 2.85  # training points per weight at which random labels are just fitted: claim J.2


@guarded(alphas=optional(each(POSITIVE)), alpha=POSITIVE, seeds=whole(), n_probe=whole(), rounds=whole(0))
def regime(
    system: System,
    alphas: Sequence[float] | None = None,
    *,
    alpha: float = 1.0,
    seeds: int = 2,
    flow: GradientFlow | None = None,
    n_probe: int = 16,
    rounds: int = 0,
    jamming: JammingPoint | float | None = None,
    quick: bool = False,
) -> Regime:
    r"""Train all seeds at all output scales in one gradient flow and say in which regime the system trains.

    ``alpha`` is the scale the user trains at, the others (default: a hundredth, a tenth, ten and a hundred times it) make
    the ladder; networks have the system's architecture and width. The crossover :math:`\alpha^*` is where the kernel changes
    by its own size (Geiger et al. 2020, "Disentangling feature and lazy training"; :math:`\alpha^*\sim h^{-1/2}`). Each of the
    ``rounds`` trains three more scales inside the interval that holds it (or beyond the ladder, a hundredfold, when none
    does), which makes the interval a quarter as wide: bisection, four ways at once. ``jamming`` is a
    :class:`~priorscope.probes.JammingPoint` or a number of weights N*; without it N* is P/2.85, that of random labels.
    ``quick`` trains one seed on at most 32 samples for at most 250 coarse steps: seconds instead of minutes.

    Default flow: soft hinge until all margins are met (squared loss to a hundredth for regression), ``max_turn`` 1e-3.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(10, seed=0, n_test=10)
        >>> system = ps.System(data, ps.models.fcn(1, activation="erf"), GradientFlow(), width=16)
        >>> found = regime(system, (1.0, 100.0), seeds=1, flow=GradientFlow(time=0.1, max_turn=1e-2))
        >>> found.kernel_change.shape, found.name
        ((2, 1), 'lazy')
    """
    check_system("regime", system)
    advice = "Use priorscope.models.from_module(network)."
    family = require(system.model, NetworkFamily, "an architecture, to make networks of other seeds", advice)
    data = require(system.data, MovableData, "a dataset with a method subset", "Use priorscope.data.from_arrays.")
    if quick:
        seeds = 1
        data = data if len(data.train) <= 32 else data.subset(32, seed=0)
    ladder = [alpha * f for f in ((0.03, 1.0, 30.0) if quick else (0.01, 0.1, 1.0, 10.0, 100.0))]
    scales = np.unique([*(ladder if alphas is None else alphas), alpha]).astype(float)
    flow = flow or _default_flow(data, quick)
    rows = _train(system, family, data, scales, seeds, flow, n_probe)
    for _ in range(rounds):
        more = _between(scales, rows["kernel_change"])
        extra = _train(system, family, data, more, seeds, flow, n_probe)
        scales = np.concatenate([scales, more])
        order = scales.argsort()
        scales = scales[order]
        rows = {name: np.concatenate([rows[name], extra[name]])[order] for name in rows}
    shape, outputs = tuple(system.data.input_shape), system.data.n_outputs
    n_weights = _count(system, family, shape, outputs, system.width)
    measured = jamming is not None
    if jamming is None:
        n_star = len(system.data.train) * outputs / RANDOM_LABELS
    else:
        n_star = float(jamming.n_star if isinstance(jamming, JammingPoint) else jamming)
    return Regime(
        width=system.width,
        alphas=scales,
        alpha=float(alpha),
        n_weights=n_weights,
        n_star=n_star,
        star_width=_width_of(system, family, shape, outputs, n_star),
        star_measured=measured,
        n_trained=len(data.train),
        **rows,
    )


def _default_flow(data: LabelledData, quick: bool) -> GradientFlow:
    turn, steps = (2e-2, 250) if quick else (1e-3, 3000)
    if data.task == "regression":
        size = float(data.train.targets.double().square().sum(1).mean()) / 2
        return GradientFlow(loss="squared", stop=max(size, 1e-12) / 100, max_turn=turn, max_steps=steps)
    return GradientFlow(loss="soft-hinge", stop="fitted", max_turn=turn, max_steps=steps)


def _train(
    system: System,
    family: NetworkFamily,
    data: MovableData,
    scales: np.ndarray,
    seeds: int,
    flow: GradientFlow,
    n_probe: int,
) -> dict[str, np.ndarray]:
    """Every measurement (scales, seeds) of one vectorised training."""
    ensemble = family.ensemble(
        tuple(data.input_shape),
        width=system.width,
        outputs=data.n_outputs,
        seeds=[seed for _ in scales for seed in range(seeds)],
        parametrisation=system.parametrisation,
        initialisation=system.initialisation,
    )
    fitted = flow.with_alpha(np.repeat(scales, seeds).tolist()).fit(ensemble, data)
    x = (data.test if len(data.test) else data.train).inputs[:n_probe]
    states = (fitted.initial, fitted.params)
    found = {
        "kernel_change": relative_change(*(stacked_ntk(fitted, w, x) for w in states)),
        "weight_change": relative_change(*states),
        "activation_change": relative_change(*(last_activations(fitted, w, x) for w in states)),
        "half_time": half_times(fitted),
        "test_error": _error(fitted, data),
        "fitted": fitted.finished.double(),
    }
    return {name: v.detach().reshape(len(scales), seeds).double().numpy() for name, v in found.items()}


def _error(fitted: FittedNetworks, data: LabelledData) -> Tensor:
    """The misclassification rate of each member on the test samples, or its mean squared error in regression."""
    if not len(data.test):
        return torch.full((len(fitted),), torch.nan, dtype=torch.float64)
    F = fitted.predict(data.test.inputs)
    y = data.test.targets.to(F.dtype)
    if data.task == "regression":
        return (F - y).square().mean((1, 2))
    if y.shape[1] == 1:
        return (F * y <= 0).double().mean((1, 2))
    return (F.argmax(2) != y.argmax(1)).double().mean(1)


def _between(scales: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Three scales inside the interval that holds the crossover; beyond the ladder when none does."""
    level = gmean(np.maximum(change, 1e-300), axis=1)
    for i in range(len(scales) - 1):
        if level[i] >= 1 > level[i + 1]:
            return np.geomspace(scales[i], scales[i + 1], 5)[1:-1]
    if level[0] < 1:
        return np.geomspace(scales[0] / 100, scales[0], 4)[:-1]
    return np.geomspace(scales[-1], scales[-1] * 100, 4)[1:]


def _count(system: System, family: NetworkFamily, shape: tuple[int, ...], outputs: int, width: int) -> int:
    network = family.network(shape, width=width, outputs=outputs, seed=0, parametrisation=system.parametrisation)
    return count_weights(network)


def _width_of(system: System, family: NetworkFamily, shape: tuple[int, ...], outputs: int, n_weights: float) -> float:
    """The width at which the architecture has that many weights, between two whole ones."""
    low, high = 1, 2
    if _count(system, family, shape, outputs, low) >= n_weights:
        return float(low)
    while _count(system, family, shape, outputs, high) < n_weights:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _count(system, family, shape, outputs, middle) >= n_weights else (middle, high)
    a, b = (_count(system, family, shape, outputs, w) for w in (low, high))
    return float(low + (n_weights - a) / (b - a))
