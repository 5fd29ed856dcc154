"""Networks measured as networks: trained on nested parts of the pilot until the error on other samples stops falling."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from priorscope.contracts import require
from priorscope.data import Split
from priorscope.inference import TrainingRun
from priorscope.models import Activation, Architecture, Invariant
from priorscope.profiles._candidates import Candidate, KernelFamily, is_kernel_family
from priorscope.profiles._design import Design, Part
from priorscope.profiles._held_out import HeldOut, Truth
from priorscope.profiles._user_network import UserNetwork

__all__ = ["MeasuredNetwork", "Plan", "fresh_network", "measure_network", "operations_per_sample", "plan", "trainable"]

Array = NDArray[np.float64]
_OURS = (0.001, 0.003, 0.01, 0.03, 0.1)  # of Adam, in the parametrisation of the tangent kernel, over the hidden layers
_THEIRS = (0.0003, 0.001, 0.003, 0.01, 0.03)  # of Adam, for a network of the user as it is
_BATCH = 32
_SEARCH = 96  # steps of each rate
_FIRST = 64  # steps before networks are looked at for the first time
_MOST = 4096  # steps after which training ends in any case
_FELL = 0.99  # an error below this part of the best so far counts as a fall
_OVERHEAD = 1e7  # operations that could be done in the time a step takes whatever its size
_NEURONS = 256
_CHANNELS = (32, 16, 8)  # of convolutional networks: the most that leaves enough steps
_TURNS = {2: (0, 4), 4: (0, 4), 6: (0, 2, 4, 6)}  # parts trained on at so many eighths: at the largest all are tested


@dataclass(frozen=True)
class Plan:
    """How a candidate's networks are trained: width (None: the user's own), operations of one step, steps that can be had."""

    width: int | None
    per_step: float
    steps: int
    rates: tuple[float, ...]


@dataclass(frozen=True)
class MeasuredNetwork:
    """Held-out predictions at the best step, the rate and steps, the loss left in training, and whether it stopped falling."""

    held: HeldOut = field(repr=False)
    rate: float
    steps: int  # at the largest size
    width: int | None
    loss_left: float  # training error at the best step over the variance of the targets
    level: bool  # whether the held-out error had stopped falling
    seconds: float
    step_seconds: float
    operations: float
    ended: tuple[tuple[Part, TrainingRun], ...] = field(default=(), repr=False)  # at the largest size


def trainable(candidate: Candidate, outputs: int) -> bool:
    """Whether it has networks, with an output for each target.

    Example:
        >>> import priorscope as ps
        >>> trainable(Candidate("fcn-1", ps.models.fcn(1), "fcn", ""), 2)
        True
    """
    if isinstance(candidate.model, UserNetwork):
        return candidate.model.given >= outputs
    return is_kernel_family(candidate.model)


def fresh_network(
    candidate: Candidate, shape: tuple[int, ...], outputs: int, width: int | None, seed: int
) -> nn.Module:
    """A network of the candidate with fresh weights, or with those it came with where they cannot be drawn again."""
    model = candidate.model
    if not isinstance(model, UserNetwork):
        assert width is not None  # None is the width of a user's network alone
        family = require(model, KernelFamily, "a model with a kernel and networks", "Use an Architecture.")
        return family.network(shape, width=width, outputs=outputs, seed=seed)
    try:
        return model.redraw(seed)
    except ValueError:
        return copy.deepcopy(model)


def operations_per_sample(network: nn.Module, sample: Tensor) -> float:
    """Floating-point operations of one sample through the network and back."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.eval()(sample[:1].float())
    return 3.0 * float(counter.get_total_flops())


def plan(candidate: Candidate, inputs: Tensor, outputs: int, budget: float, n: int) -> Plan | None:
    """The widest network that the budget of operations trains long enough; None where not even the narrowest is."""
    shape, user = tuple(inputs.shape[1:]), isinstance(candidate.model, UserNetwork)
    plain = candidate.model.model if isinstance(candidate.model, Invariant) else candidate.model
    layers = plain.layers if isinstance(plain, Architecture) else ()
    depth = max(sum(isinstance(layer, Activation) for layer in layers), 1)
    rates = _THEIRS if user else tuple(rate / depth for rate in _OURS)
    nets = sum(len(t) for t in _TURNS.values())
    widths: tuple[int | None, ...] = (None,)
    if not user:
        narrow = fresh_network(candidate, shape, outputs, 1, 0)
        widths = _CHANNELS if any(p.ndim > 2 for p in narrow.parameters()) else (_NEURONS,)
    for width in widths:
        per_sample = operations_per_sample(fresh_network(candidate, shape, outputs, width, 0), inputs)
        per_step = _OVERHEAD + min(_BATCH, n) * per_sample
        steps = (budget / per_step - len(rates) * _SEARCH) / nets
        if steps >= 4 * _FIRST or (width == widths[-1] and steps >= _FIRST):
            return Plan(width, per_step, int(min(steps, _MOST)), rates)
        if width == widths[-1] and budget / per_step >= 3 * _FIRST + nets * _FIRST:  # three rates in the middle
            return Plan(width, per_step, _FIRST, rates[1:4])
    return None


@dataclass
class _Run:
    """One network in training, and what it said of the tested samples at every look."""

    part: Part
    run: TrainingRun
    test: Tensor
    seen: list[Array] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def look(self, targets: Array) -> None:
        found = self.run.predict(self.test).double().numpy()
        self.seen.append(found)
        self.losses.append(float(((found - targets[self.part.test]) ** 2).mean()))


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.inf)


def _train_group(runs: list[_Run], targets: Array, most: int) -> tuple[list[int], bool]:
    """Train networks of one size together until doubling the steps brings no more; steps at every look, and whether it did."""
    steps, looks, best, best_at = 0, [], math.inf, 0
    goal = float(_FIRST)
    while True:
        ahead = min(round(goal), most) - steps
        for one in runs:
            one.run.advance(ahead)
            one.look(targets)
        steps += ahead
        looks.append(steps)
        error = float(np.mean([r.losses[-1] for r in runs]))
        if error < _FELL * best:
            best, best_at = error, steps
        if steps >= 2 * best_at or not math.isfinite(error):
            return looks, True
        if steps >= most:
            return looks, False
        goal *= math.sqrt(2)


def _chosen(runs: list[_Run]) -> list[int]:
    """The look to take of each network: the one that is best for the *others* of its size, so that no test is looked up."""
    losses = _finite(np.array([r.losses for r in runs]))
    if len(runs) == 1:
        return [int(losses[0].argmin())]
    total = losses.sum(0)
    with np.errstate(invalid="ignore"):  # infinite less infinite, where a network diverged
        return [int(_finite(total - own).argmin()) for own in losses]


def measure_network(
    candidate: Candidate,
    inputs: Tensor,
    design: Design,
    truth: Truth,
    how: Plan,
    *,
    augment: Callable[[Tensor], Tensor] | None = None,
    eighths: tuple[int, ...] | None = None,
    seed: int = 0,
) -> MeasuredNetwork | None:
    """Search the rate on one part, then train on nested parts of the pilot; None where training diverges at every rate.

    Adam on the squared loss in batches of 32, seen through averaged weights (:class:`priorscope.inference.TrainingRun`);
    networks of ours start at zero output. ``inputs`` are those of all draws. ``augment`` moves every batch, ``eighths`` are the
    sizes (default: all few of the design); a plan of one rate is not searched.
    """
    x, y = inputs.float(), torch.as_tensor(truth.targets).float()
    shape, outputs = tuple(x.shape[1:]), y.shape[1]
    ours = not isinstance(candidate.model, UserNetwork)

    def start(part: Part, rate: float, number: int) -> _Run:
        rows = torch.as_tensor(part.train)
        network = fresh_network(candidate, shape, outputs, how.width, seed + number)
        batch = min(_BATCH, len(rows))
        run = TrainingRun(
            network,
            Split(x[rows], y[rows]),
            learning_rate=rate,
            batch_size=batch,
            centre=ours,
            augment=augment,
            seed=seed + number,
        )
        return _Run(part, run, x[torch.as_tensor(part.test)])

    sizes = design.few if eighths is None else eighths
    where = [(m, t) for m in sizes for t in _TURNS[m]]
    top = design.part(0, 0, sizes[-1])
    searched = how.rates if len(how.rates) > 1 else ()
    tried = {} if searched else {how.rates[0]: 0.0}
    seconds = 0.0
    for rate in searched:
        one = start(top, rate, 0)
        one.run.advance(min(_SEARCH, how.steps))
        one.look(truth.targets)
        tried[rate] = one.losses[-1] if math.isfinite(one.losses[-1]) else math.inf
        seconds += one.run.seconds
    rate = min(tried, key=lambda r: tried[r])
    if not math.isfinite(tried[rate]):
        return None
    taken = len(searched) * min(_SEARCH, how.steps)
    parts, scores, level, steps, left, spent = [], [], True, 0, 0.0, 0.0
    runs: list[_Run] = []
    for m in sizes:
        runs = [
            start(design.part(i % design.draws, t, m), rate, i) for i, t in enumerate(t for q, t in where if q == m)
        ]
        looks, ended = _train_group(runs, truth.targets, how.steps)
        picks = _chosen(runs)
        for one, pick in zip(runs, picks, strict=True):
            if not np.isfinite(one.seen[pick]).all():
                return None
            parts.append(one.part)
            scores.append(one.seen[pick])
        level, steps = ended, looks[picks[0]]
        left = float(np.mean([r.run.loss for r in runs])) / max(truth.variance, 1e-300)
        spent = sum(r.run.seconds for r in runs) / (len(runs) * looks[-1])
        seconds += sum(r.run.seconds for r in runs)
        taken += sum(r.run.steps for r in runs)
    held = HeldOut(design, truth, tuple(parts), tuple(scores))
    last = tuple((one.part, one.run) for one in runs)
    return MeasuredNetwork(held, rate, steps, how.width, left, level, seconds, spent, taken * how.per_step, last)
