"""Networks of a candidate trained on parts of the pilot: how much better or worse than its kernel they are there."""

from __future__ import annotations

import copy
import math
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from priorscope.contracts import require
from priorscope.data import Split
from priorscope.inference import FittedNetworks, GradientDescent
from priorscope.models import Activation, Architecture
from priorscope.profiles._candidates import KernelFamily
from priorscope.profiles._user_network import UserNetwork
from priorscope.statistics import log_interpolate

if TYPE_CHECKING:
    from priorscope.probes import LearningCurve
    from priorscope.profiles._candidates import Candidate

__all__ = ["Recipe", "Trial", "cost", "trial", "width_of"]

Array = NDArray[np.float64]
_OURS = (0.001, 0.003, 0.01, 0.03, 0.1)  # of Adam, in the parametrisation of the tangent kernel, over the hidden layers
_THEIRS = (0.0003, 0.001, 0.003, 0.01, 0.03)  # of Adam, for a network of the user as it is
_BATCH = 32


@dataclass(frozen=True)
class Recipe:
    """How networks are trained on the pilot: the same for all candidates, so that they can be compared.

    Adam on the squared loss, batches of 32, the learning rate falling to zero as a half cosine over ``steps``. Our own
    networks start at zero output (:math:`f - f_0`) with ``neurons`` a dense and ``channels`` a convolutional layer.

    Example:
        >>> Recipe(folds=4, steps=300).samples
        52800
    """

    folds: int = 4
    steps: int = 300
    neurons: int = 256
    channels: int = 32

    @property
    def samples(self) -> int:
        """Samples that pass through networks of one candidate in training: one network per fold, and three to find a rate."""
        return _BATCH * (self.folds * self.steps + 3 * (self.steps // 2))


@dataclass(frozen=True)
class Trial:
    """What came of training networks on ``n`` samples of the pilot, and of kernel regression on as many.

    ``losses`` are squared errors of each sample of the pilot when its fold was left out, ``error`` is their mean.

    Example:
        >>> Trial(n=75, kernel_error=0.2, rate=0.01, width=256, losses=np.full(100, 0.3), seconds=1.0).error
        0.3
    """

    n: int
    kernel_error: float
    rate: float
    width: int | None  # None: a network of the user
    losses: Array = field(repr=False)
    seconds: float

    @property
    def error(self) -> float:
        """Mean squared error of the trained networks on samples they have not seen."""
        return float(self.losses.mean())


def _family(candidate: Candidate) -> KernelFamily:
    """The candidate's model as what networks of any width are drawn from."""
    return require(candidate.model, KernelFamily, "a model with a kernel and networks", "Use an Architecture.")


def width_of(candidate: Candidate, shape: tuple[int, ...], recipe: Recipe) -> int | None:
    """Channels of a network with filters, neurons of one without; None for a network of the user, which has its own."""
    if isinstance(candidate.model, UserNetwork):
        return None
    narrow = _family(candidate).network(shape, width=1, outputs=1, seed=0)
    return recipe.channels if any(p.ndim > 2 for p in narrow.parameters()) else recipe.neurons


def _network(candidate: Candidate, shape: tuple[int, ...], outputs: int, width: int | None, seed: int) -> nn.Module:
    """A network of the candidate with fresh weights, or with those it came with where they cannot be drawn again."""
    model = candidate.model
    if not isinstance(model, UserNetwork):
        assert width is not None  # None is the width of a user's network alone
        return _family(candidate).network(shape, width=width, outputs=outputs, seed=seed)
    try:
        return model.redraw(seed)
    except ValueError:
        return copy.deepcopy(model)


def cost(candidate: Candidate, inputs: Tensor, outputs: int, recipe: Recipe) -> float:
    """Floating-point operations of a trial, by those of one sample through the network; three times that to train."""
    shape = tuple(inputs.shape[1:])
    network = _network(candidate, shape, outputs, width_of(candidate, shape, recipe), seed=0)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.eval()(inputs[:1].float())
    return 3.0 * recipe.samples * counter.get_total_flops()


def _train(network: nn.Module, x: Tensor, y: Tensor, rate: float, steps: int, ours: bool, seed: int) -> FittedNetworks:
    batch = _BATCH + (len(x) % _BATCH == 1)  # batch normalisation cannot take a batch of one
    descent = GradientDescent(
        learning_rate=rate,
        steps=steps,
        batch_size=batch,
        optimiser="adam",
        schedule="cosine",
        centre=ours,
        record=2,
    )
    return descent.fit(network, Split(x, y), seed)


def _parts(n: int, folds: int, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Rows to train on and rows to test on, of each fold; every row is tested once."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    left = [order[k::folds] for k in range(folds)]
    return [(torch.cat(left[:k] + left[k + 1 :]), left[k]) for k in range(folds)]


def _best_rate(rates: Sequence[float], error: Callable[[float], float]) -> float:
    """From the middle up as long as the error falls, else down; a network that diverges counts as worst.

    Example:
        >>> asked = []
        >>> _best_rate([1, 2, 3, 4, 5], lambda rate: asked.append(rate) or abs(rate - 2)), asked
        (2, [3, 4, 2, 1])
    """
    best = start = len(rates) // 2
    lowest = _or_infinite(error(rates[best]))
    for turn in (1, -1):
        while best * turn >= start * turn and 0 <= best + turn < len(rates):
            found = _or_infinite(error(rates[best + turn]))
            if not (found < lowest or (turn < 0 and lowest == math.inf)):
                break
            best, lowest = best + turn, found
    return rates[best]


def _or_infinite(value: float) -> float:
    return value if math.isfinite(value) else math.inf


def trial(
    candidate: Candidate, inputs: Tensor, targets: Tensor, curve: LearningCurve, recipe: Recipe, seed: int = 0
) -> Trial | None:
    """Train on all folds of the pilot but one, test on that one, in turn; None where training diverges at every rate.

    The rate is searched on the first fold with half as many steps. Kernel regression at the same number of samples is read off
    the candidate's learning curve, where every sample is tested as well.
    """
    started = clock.perf_counter()
    x, y = inputs.float(), targets.float()
    ours = not isinstance(candidate.model, UserNetwork)
    shape, outputs = tuple(x.shape[1:]), y.shape[1]
    width = width_of(candidate, shape, recipe)
    layers = candidate.model.layers if isinstance(candidate.model, Architecture) else ()
    depth = sum(isinstance(layer, Activation) for layer in layers)
    rates = [rate / max(depth, 1) for rate in _OURS] if ours else list(_THEIRS)
    parts = _parts(len(x), recipe.folds, seed)

    def losses(fold: int, rate: float, steps: int) -> Tensor:
        rows, left = parts[fold]
        network = _network(candidate, shape, outputs, width, seed + fold)
        fitted = _train(network, x[rows], y[rows], rate, steps, ours, seed + fold)
        with torch.no_grad():
            predicted = fitted.predict(x[left]).reshape(len(left), outputs)
        return (predicted - y[left]).square().mean(1).double()

    rate = _best_rate(rates, lambda rate: float(losses(0, rate, recipe.steps // 2).mean()))
    found = torch.empty(len(x), dtype=torch.float64)
    for fold, (_, left) in enumerate(parts):
        found[left] = losses(fold, rate, recipe.steps)
    if not bool(torch.isfinite(found).all()):
        return None
    n = len(parts[0][0])
    kernel = float(log_interpolate(n, curve.sizes, curve.error))
    return Trial(n, kernel, rate, width, found.numpy(), clock.perf_counter() - started)
