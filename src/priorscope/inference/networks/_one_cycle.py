"""Training as people train networks: AdamW, one cycle of the rate, live normalisation, held-out rows and the clock in sight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.checks import FRACTION, NOT_NEGATIVE, POSITIVE, checked, each, number, optional, whole
from priorscope.contracts import Member, Needs, Samples
from priorscope.inference._fitted import Fitted, Trajectory
from priorscope.inference.networks._cycle import Cycle, Ended
from priorscope.inference.networks._descent import Batches, descend
from priorscope.inference.networks._members import built

__all__ = ["FittedCycle", "OneCycle"]

LossFunction = Callable[[Tensor, Tensor], Tensor]
_LOOKS = 100  # at held-out rows in a run, and rows of the trajectory


@checked(
    learning_rate=POSITIVE,
    epochs=POSITIVE,
    min_steps=whole(),
    batch_size=whole(),
    weight_decay=NOT_NEGATIVE,
    warm=number(least=0, below=1),
    betas=each(number(least=0, below=1)),
    smoothing=number(least=0, below=1),
    patience=FRACTION,
    clip=optional(POSITIVE),
    max_seconds=optional(POSITIVE),
)
@dataclass(frozen=True)
class OneCycle:
    r"""AdamW through one cycle of the learning rate, in batches; batch normalisation and dropout are live while it trains.

    Args: ``loss`` "squared" or "cross-entropy" (targets are classes, or rows of probabilities; ``smoothing`` of Szegedy et al.
    2016), or a function of outputs and targets as torch's own losses are. Outputs (n, members, outputs) are those of networks
    that share weights: each member has the loss of its own. ``weight_decay`` spares biases and normalisation.
    ``augment`` changes every batch of inputs. ``max_seconds`` is of processor time (:class:`Cycle`). ``clip`` bounds the norm of
    a step's gradient. Given rows that are ``held`` out, :meth:`fit` keeps the weights that were best on them, and stops
    when nothing was better for a share ``patience`` of the run. On one thread a run is repeated to the bit by its seed.

    Example:
        >>> from types import SimpleNamespace as N
        >>> x = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
        >>> run = OneCycle(learning_rate=0.1, epochs=40).fit(nn.Linear(3, 1), N(inputs=x, targets=x.sum(1, keepdim=True)))
        >>> run.steps, str(run.ended), run.predict(torch.ones(1, 3)).round().item()
        (200, 'all steps were taken', 3.0)
    """

    learning_rate: float = 0.003
    epochs: float = 40
    min_steps: int = 200
    batch_size: int = 64
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.99)
    warm: float = 0.25
    loss: str | LossFunction = "squared"
    smoothing: float = 0.0
    augment: Callable[[Tensor], Tensor] | None = None
    patience: float = 0.4
    clip: float | None = 5.0
    max_seconds: float | None = None
    needs: ClassVar[Needs] = "network"

    def __post_init__(self) -> None:
        if isinstance(self.loss, str) and self.loss not in ("squared", "cross-entropy"):
            raise ValueError(f"loss must be 'squared', 'cross-entropy' or a function; got {self.loss!r}.")

    def fit(
        self,
        model: nn.Module | Member,
        data: Samples,
        seed: int = 0,
        *,
        held: Samples | None = None,
        judge: LossFunction | None = None,
    ) -> FittedCycle:
        """Train a copy of the network; ``judge`` of outputs and targets is what held-out rows are read by (default: the loss)."""
        network = built(model, seed)
        dtype = next((p.dtype for p in network.parameters() if p.requires_grad), None)
        if dtype is None:
            raise ValueError("the network has no trainable parameters; use one that has, or kernel regression.")
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(seed)  # of dropout inside the network, and of moves of the inputs
            run = _Run(self, network, data.inputs.to(dtype), data.targets, held, judge, seed)
            return run.finished()

    def loss_of(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of a batch, over members where there are several."""
        if outputs.ndim == 3 and targets.ndim < 3:
            targets = targets.repeat_interleave(outputs.shape[1], 0)
            outputs = outputs.flatten(0, 1)
        if callable(self.loss):
            return self.loss(outputs, targets)
        if self.loss == "cross-entropy":
            return F.cross_entropy(outputs, targets, label_smoothing=self.smoothing)
        return F.mse_loss(outputs, targets.to(outputs.dtype).reshape(outputs.shape))


class FittedCycle(Fitted):
    """The trained network, with how long it was trained and what ended it.

    ``steps`` and ``seconds`` of training, ``ended``, ``kept`` the step whose weights were kept, ``held_loss`` what held-out
    rows had there (None without any), ``trajectory`` the loss of batches by step.

    Example:
        >>> from types import SimpleNamespace as N
        >>> run = OneCycle(epochs=2, min_steps=4).fit(nn.Linear(2, 1), N(inputs=torch.eye(2), targets=torch.eye(2)[:, :1]))
        >>> run.steps, run.kept, run.held_loss, run.predict(torch.zeros(5, 2)).shape
        (4, 4, None, torch.Size([5, 1]))
    """

    def __init__(
        self,
        network: nn.Module,
        trajectory: Trajectory,
        *,
        steps: int,
        kept: int,
        seconds: float,
        ended: Ended,
        held_loss: float | None,
    ) -> None:
        self.network, self.trajectory = network.eval(), trajectory
        self.steps, self.kept, self.seconds, self.ended, self.held_loss = steps, kept, seconds, ended, held_loss

    @torch.no_grad()
    def predict(self, inputs: Tensor, *, block: int = 1024) -> Tensor:
        """Outputs of the network in eval mode, ``block`` inputs at a time."""
        return _outputs(self.network, inputs, block)


def _outputs(network: nn.Module, inputs: Tensor, block: int) -> Tensor:
    dtype = next(network.parameters()).dtype
    return torch.cat([network(part.to(dtype)) for part in inputs.split(block)])


@dataclass
class _Run:
    """One run: what it trains, where it stands, and the best it has seen."""

    how: OneCycle
    network: nn.Module
    inputs: Tensor
    targets: Tensor
    held: Samples | None
    judge: LossFunction | None
    seed: int
    best: float = math.inf
    best_at: tuple[int, float] = (0, 0.0)  # step, and share of the run
    state: dict[str, Tensor] = field(default_factory=dict)
    looked: float = 0.0
    ended: Ended = Ended.STEPS
    record: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = len(self.inputs)
        self.batches = Batches(n, min(self.how.batch_size, n), torch.Generator().manual_seed(self.seed), even=True)
        steps = max(round(self.how.epochs * self.batches.per_epoch), self.how.min_steps)
        self.cycle = Cycle(steps, warm=self.how.warm, max_seconds=self.how.max_seconds)
        groups: list[dict[str, object]] = []
        weights = [p for p in self.network.parameters() if p.requires_grad]
        plain = [p for p in weights if p.ndim < 2]
        groups.append({"params": [p for p in weights if p.ndim >= 2], "weight_decay": self.how.weight_decay})
        groups.append({"params": plain, "weight_decay": 0.0})
        self.optimiser = torch.optim.AdamW(
            [g for g in groups if g["params"]], lr=self.how.learning_rate, betas=self.how.betas, fused=True
        )
        self.weights = weights

    def finished(self) -> FittedCycle:
        """Train to the end, and hand over the network with the weights to keep."""
        self.network.train()
        _, steps = descend(self.network, self._gradient, self._update, self.cycle.steps, self._look)
        kept = steps
        if self.held is not None:
            if steps != self.best_at[0] or not self.state:
                self._read(steps, 1.0)
            kept = self.best_at[0]
            self.network.load_state_dict(self.state)
        times, losses = zip(*self.record, strict=True) if self.record else ((), ())
        path = Trajectory(torch.tensor(times, dtype=torch.float64), torch.tensor(losses, dtype=torch.float64))
        held_loss = self.best if self.held is not None else None
        return FittedCycle(
            self.network, path, steps=steps, kept=kept, seconds=self.cycle.spent, ended=self.ended, held_loss=held_loss
        )

    def _look(self, network: nn.Module, done: int) -> bool:
        """Set the rate for the next step; read the held-out rows after an epoch; say whether the run is over."""
        share = self.cycle.progress(done)
        if self.held is not None and done and done % self.batches.per_epoch == 0 and share - self.looked >= 1 / _LOOKS:
            self._read(done, share)
            if share - self.best_at[1] > self.how.patience and share > self.how.warm + self.how.patience:
                self.ended = Ended.HELD_OUT
                return True
            share = self.cycle.progress(done)
        if share >= 1 and done < self.cycle.steps:
            self.ended = Ended.SECONDS
        for group in self.optimiser.param_groups:
            group["lr"] = self.how.learning_rate * self.cycle.factor(share)
        return share >= 1

    def _gradient(self, network: nn.Module, done: int) -> Tensor:
        rows = self.batches(done)
        batch = self.inputs[rows]
        if self.how.augment is not None:
            batch = self.how.augment(batch)
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.how.loss_of(network(batch), self.targets[rows])
        loss.backward()
        return loss.detach()

    def _update(self, network: nn.Module, loss: Tensor, done: int) -> nn.Module:
        if done % max(self.cycle.steps // _LOOKS, 1) == 0:
            self.record.append((done, float(loss)))
            if not math.isfinite(self.record[-1][1]):
                raise ValueError(
                    f"training diverged: the loss is {self.record[-1][1]} after {done} steps. Lower learning_rate, or look "
                    "for a division or logarithm of zero in the network or its loss."
                )
        if self.how.clip is not None:
            nn.utils.clip_grad_norm_(self.weights, self.how.clip)
        self.optimiser.step()
        return network

    @torch.no_grad()
    def _read(self, done: int, share: float) -> None:
        """Read the held-out rows, and keep the weights where they are the best so far."""
        assert self.held is not None
        self.network.eval()
        found = _outputs(self.network, self.held.inputs, 1024)
        value = float((self.judge or self.how.loss_of)(found, self.held.targets))
        self.network.train()
        self.looked = share
        if value < self.best or not self.state:
            self.best, self.best_at = value, (done, share)
            self.state = {name: t.detach().clone() for name, t in self.network.state_dict().items()}
