"""Discrete training: gradient descent, full batch or mini-batch, of one network or K at once."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, POSITIVE, checked, each, number, optional, whole
from priorscope.contracts import Member, Needs, NetworkStack, Samples
from priorscope.inference._check import check_data
from priorscope.inference._fitted import Trajectory
from priorscope.inference.networks._descent import Batches, descend
from priorscope.inference.networks._geometry import Geometry, Mirror, UpdateRule
from priorscope.inference.networks._loss import Loss, as_loss
from priorscope.inference.networks._members import Members
from priorscope.inference.networks._optimiser import OPTIMISERS, schedule_factor
from priorscope.inference.networks._stop import StopRule, as_stop
from priorscope.inference.networks._trained import FittedNetworks

__all__ = ["GradientDescent"]


@checked(
    learning_rate=POSITIVE,
    steps=whole(),
    batch_size=optional(whole()),
    momentum=number(least=0, below=1),
    betas=each(number(least=0, below=1)),
    weight_decay=NOT_NEGATIVE,
    mixup=NOT_NEGATIVE,
    record=whole(),
    noise=NOT_NEGATIVE,
    clip=optional(POSITIVE),
    rounding=optional(POSITIVE),
)
@dataclass(frozen=True)
class GradientDescent:
    r"""Gradient descent on :math:`\frac1n\sum_\mu\ell(f(x_\mu), y_\mu) + \frac{\text{weight\_decay}}2\|w\|^2`.

    Args: ``batch_size`` None is the full batch; batches come from a fresh shuffle each epoch, the same for all
    members. ``optimiser`` "sgd" (with ``momentum``), "adam" (with ``betas``) or a geometry: :class:`Steepest` descent in a
    norm, :class:`Mirror` descent. ``schedule`` "constant", "linear",
    "cosine" or a function of the step giving the factor on the learning rate. ``mixup`` is the parameter of the Beta
    law of Zhang et al. (2018), 0 for none: losses of both partners are mixed. ``centre`` trains f − f₀. ``stop`` is a
    loss value, "fitted" or a rule; members that meet it rest while the others go on. The trajectory is recorded at
    ``record`` log-spaced steps; ``keep`` may add "outputs" and "params". Gradient descent of limited precision (Abbe
    & Sandon 2018): ``clip`` bounds every derivative of a batch's loss, ``rounding`` rounds it to a grid of this
    width, ``noise`` is the standard deviation of normal noise added to every weight at every step.
    ``augment`` changes every batch of inputs before it is used, such as ``priorscope.data.Deform(1.0, 3)``; torch's
    generator, which it may draw from, starts at the seed of the fit.

    Example:
        >>> from types import SimpleNamespace as N
        >>> data = N(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> fitted = GradientDescent(learning_rate=1.0, steps=100).fit(net, data)
        >>> [round(v, 3) for v in fitted.predict(torch.eye(2)).flatten().tolist()]
        [1.0, -1.0]
    """

    learning_rate: float = 0.1
    steps: int = 1000
    batch_size: int | None = None
    optimiser: str | Geometry = "sgd"
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    schedule: str | Callable[[int], float] = "constant"
    mixup: float = 0.0
    centre: bool = False
    loss: str | Loss = "squared"
    stop: StopRule | float | str | None = None
    record: int = 30
    keep: tuple[str, ...] = ()
    dtype: torch.dtype | None = None
    noise: float = 0.0
    clip: float | None = None
    rounding: float | None = None
    augment: Callable[[Tensor], Tensor] | None = None
    needs: ClassVar[Needs] = "network"

    def __post_init__(self) -> None:
        if not isinstance(self.optimiser, Geometry) and self.optimiser not in OPTIMISERS:
            raise ValueError(f"optimiser must be one of {', '.join(OPTIMISERS)} or a geometry; got {self.optimiser!r}.")
        if isinstance(self.optimiser, Geometry) and self.momentum:
            raise ValueError("momentum belongs to 'sgd'; a geometry of descent has none.")
        if isinstance(self.optimiser, Mirror) and self.noise:
            raise ValueError("noise on the weights would leave the mirror's dual weights behind; use 'sgd' with noise.")
        if set(self.keep) - {"outputs", "params"}:
            raise ValueError(f"keep may name 'outputs' and 'params'; got {self.keep}.")
        if self.augment is not None and self.centre:
            raise ValueError("augment changes inputs, whose first outputs centre=True has stored; use one of the two.")

    def recorded_steps(self) -> list[int]:
        """Steps of the trajectory: 0, log-spaced whole numbers, the last."""
        return [0, *sorted({int(s) for s in np.geomspace(1, self.steps, self.record).round()})]

    def fit(self, model: nn.Module | NetworkStack | Member, data: Samples, seed: int = 0) -> FittedNetworks:
        """Train from the model's weights; ``seed`` rules batches, MixUp and factories."""
        started = clock.perf_counter()
        x, y = check_data(data)
        members = Members(model, seed, self.dtype)
        with torch.random.fork_rng(devices=[]), members.training():
            torch.manual_seed(seed)  # dropout inside the network
            return self._train(members, x.to(members.dtype), y.to(members.dtype), seed, started)

    def _train(self, members: Members, x: Tensor, y: Tensor, seed: int, started: float) -> FittedNetworks:
        """Take the steps, record the trajectory, and hold each member still once its stop rule is met."""
        loss, stop, n, K = as_loss(self.loss), as_stop(self.stop), len(x), len(members)
        generator = torch.Generator().manual_seed(seed)
        kicks = torch.Generator().manual_seed(seed + 1)  # of its own, so that noise does not change the batches
        batches = Batches(n, n if self.batch_size is None else min(self.batch_size, n), generator)
        with torch.no_grad(), members.evaluating():
            f0 = members.call(members.flat, x)
        if f0.shape[1:] != y.shape:
            raise ValueError(
                f"network outputs (n, outputs) must match targets {tuple(y.shape)}; got {tuple(f0.shape[1:])}."
            )
        offset = f0 if self.centre else None
        optimiser = self._rule(members.flat)
        finished = torch.zeros(K, dtype=torch.bool)
        steps = torch.zeros(K, dtype=torch.long)
        wanted, checking = set(self.recorded_steps()), self.stop is not None
        rows: list[tuple[int, Tensor, Tensor, Tensor]] = []

        def note(w: Tensor, done: int) -> Tensor:
            """Predictions on all samples; written down with the loss where a row of the trajectory is due."""
            with torch.no_grad(), members.evaluating():
                f = members.call(w, x)
            f = f if offset is None else f - offset
            if done in wanted:
                outputs = f if "outputs" in self.keep else f.new_empty(0)
                params = w.clone() if "params" in self.keep else w.new_empty(0)
                rows.append((done, loss(f, y).detach(), outputs, params))
            return f

        def look(w: Tensor, done: int) -> bool:
            nonlocal finished
            asked = checking and (done % batches.per_epoch == 0 or done == self.steps)
            if done in wanted or asked:
                f = note(w, done)
                if checking:
                    finished = finished | stop(loss, f, y)
            return checking and bool(finished.all())

        def gradient(w: Tensor, done: int) -> Tensor:
            xb, yb, ob = x, y, offset
            if batches.per_epoch > 1:
                index = batches(done)
                xb, yb, ob = x[index], y[index], None if offset is None else offset[:, index]
            xb = xb if self.augment is None else self.augment(xb)
            g = self._limited(self._gradient(members, loss, w, xb, yb, ob, generator))
            return g + self.weight_decay * w if self.weight_decay else g

        def update(w: Tensor, g: Tensor, done: int) -> Tensor:
            nonlocal steps
            change = optimiser.change(g, self.learning_rate * schedule_factor(self.schedule, done, self.steps))
            if self.noise:
                change = change + self.noise * torch.randn(change.shape, generator=kicks, dtype=change.dtype)
            steps = steps + ~finished
            return w + change if not checking else torch.where(finished[:, None], w, w + change)

        w, done = descend(members.flat.clone(), gradient, update, self.steps, look)
        if rows[-1][0] != done:  # ended between two rows of the trajectory
            wanted.add(done)
            note(w, done)
        return FittedNetworks(
            members,
            w,
            alpha=torch.ones(K, dtype=w.dtype),
            centre=self.centre,
            trajectory=self._trajectory(rows, members.single),
            seconds=clock.perf_counter() - started,
            times=self.learning_rate * steps.double(),
            steps=steps,
            finished=finished,
        )

    def _rule(self, start: Tensor) -> UpdateRule:
        if isinstance(self.optimiser, Geometry):
            return self.optimiser.rule(start.clone())
        return OPTIMISERS[self.optimiser](start, self.momentum, self.betas)

    def _gradient(
        self,
        members: Members,
        loss: Loss,
        w: Tensor,
        x: Tensor,
        y: Tensor,
        offset: Tensor | None,
        generator: torch.Generator,
    ) -> Tensor:
        """Compute the gradients (K, P) of the members' losses on one batch, mixed with a shuffled copy of itself under MixUp."""
        if not self.mixup:

            def plain(v: Tensor) -> Tensor:
                f = members.call(v, x)
                return loss(f if offset is None else f - offset, y)

            return members.gradient(w, plain)[1]
        state = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator)))
        mix = float(state.beta(self.mixup, self.mixup))
        partner = torch.randperm(len(x), generator=generator)
        mixed = mix * x + (1 - mix) * x[partner]
        with torch.no_grad():
            start = members.call(members.flat, mixed) if offset is not None else None

        def blended(v: Tensor) -> Tensor:
            f = members.call(v, mixed)
            f = f if start is None else f - start
            return mix * loss(f, y) + (1 - mix) * loss(f, y[partner])

        return members.gradient(w, blended)[1]

    def _limited(self, g: Tensor) -> Tensor:
        """The gradient within its range and precision."""
        if self.clip is not None:
            g = g.clamp(-self.clip, self.clip)
        return g if self.rounding is None else self.rounding * (g / self.rounding).round()

    def _trajectory(self, rows: list[tuple[int, Tensor, Tensor, Tensor]], single: bool) -> Trajectory:

        def pick(a: Tensor) -> Tensor:
            return a[:, 0] if single else a

        times = torch.tensor([self.learning_rate * r[0] for r in rows], dtype=torch.float64)
        return Trajectory(
            times,
            pick(torch.stack([r[1] for r in rows])),
            pick(torch.stack([r[2] for r in rows])) if "outputs" in self.keep else None,
            torch.stack([r[3] for r in rows]) if "params" in self.keep else None,
        )
