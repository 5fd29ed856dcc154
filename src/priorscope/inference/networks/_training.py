"""A training run that can be looked at and continued: for training until the error on other samples stops falling."""

from __future__ import annotations

import copy
import time as clock
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from priorscope.checks import POSITIVE, SEED, checked, whole
from priorscope.contracts import Samples
from priorscope.inference._check import check_data
from priorscope.inference.networks._descent import descend

__all__ = ["TrainingRun"]

_MEMORY = 8.0  # the average weighs the last ninth of all steps most


@checked(learning_rate=POSITIVE, batch_size=whole(), seed=SEED)
class TrainingRun:
    r"""Adam on the squared loss at a constant rate, seen through the average of its weights, continued as long as wanted.

    After step t the average moves by :math:`\bar w_t = \bar w_{t-1} + \frac{\gamma+1}{t+\gamma}(w_t - \bar w_{t-1})` with
    :math:`\gamma = 8`, the polynomial-decay averaging of Shamir & Zhang (2013): at every t it stands where a rate that
    falls to zero would have led, so that one run answers for all lengths. ``centre`` trains :math:`f - f_0`. Batch
    normalisation is set anew from the training samples for the averaged weights. The network given is copied. ``augment``
    changes every batch of inputs before it is used, such as ``priorscope.data.Deform(1.0, 3)``; targets stay, and so does the
    order of the batches: runs with and without it are pairs.

    Example:
        >>> from types import SimpleNamespace
        >>> data = SimpleNamespace(inputs=torch.eye(2), targets=torch.tensor([[1.0], [-1.0]]))
        >>> run = TrainingRun(nn.Linear(2, 1), data, learning_rate=0.1, centre=True)
        >>> run.advance(200).steps, run.predict(torch.eye(2)).round().flatten().tolist()
        (200, [1.0, -1.0])
    """

    def __init__(
        self,
        network: nn.Module,
        data: Samples,
        *,
        learning_rate: float = 0.003,
        batch_size: int = 32,
        centre: bool = False,
        augment: Callable[[Tensor], Tensor] | None = None,
        seed: int = 0,
    ) -> None:
        """Copy the network, and start the average and the batches."""
        self.augment = augment
        self.inputs, self.targets = check_data(data)
        self.network = copy.deepcopy(network)
        dtype = next(p.dtype for p in self.network.parameters())
        self.inputs, self.targets = self.inputs.to(dtype), self.targets.to(dtype)
        self.parameters = {k: p for k, p in self.network.named_parameters() if p.requires_grad}
        self.optimiser = torch.optim.Adam(list(self.parameters.values()), lr=learning_rate)
        self.initial = {k: p.detach().clone() for k, p in self.parameters.items()} if centre else None
        self.average = {k: p.detach().clone() for k, p in self.parameters.items()}
        self.batch_size = min(batch_size, len(self.inputs))
        self.generator = torch.Generator().manual_seed(seed)
        self.chance = torch.Generator().manual_seed(seed).get_state()  # of dropout inside the network
        self.order = torch.empty(0, dtype=torch.long)
        self.steps, self.seconds = 0, 0.0
        self.network.eval()
        self.offset = self._start(self.inputs)

    def _start(self, inputs: Tensor) -> Tensor | None:
        if self.initial is None:
            return None
        with torch.no_grad():
            out: Tensor = functional_call(self.network, self.initial, (inputs,))
        return out.reshape(len(inputs), -1)

    def _rows(self) -> Tensor:
        """The next batch: every sample once per epoch, a last piece too small for a batch is left out."""
        if len(self.order) < self.batch_size:
            self.order = torch.randperm(len(self.inputs), generator=self.generator)
        rows, self.order = self.order[: self.batch_size], self.order[self.batch_size :]
        return rows

    def advance(self, steps: int) -> TrainingRun:
        """Take so many steps more."""
        began = clock.process_time()
        self.network.train()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(self.chance)
            descend(self.parameters, self._gradient, self._update, steps, lambda _, done: False)
            self.chance = torch.get_rng_state()
        self.network.eval()
        self.seconds += clock.process_time() - began
        return self

    def _gradient(self, parameters: dict[str, nn.Parameter], done: int) -> None:
        """Leave the gradient of the loss on the next batch with the parameters."""
        rows = self._rows()
        batch, start = self.inputs[rows], None if self.offset is None else self.offset[rows]
        if self.augment is not None:
            batch = self.augment(batch)
            self.network.eval()
            start = self._start(batch)  # the first outputs of the inputs as they are now
            self.network.train()
        out = self.network(batch).reshape(len(rows), -1)
        if start is not None:
            out = out - start
        self.optimiser.zero_grad(set_to_none=True)
        (out - self.targets[rows]).square().mean().backward()

    def _update(self, parameters: dict[str, nn.Parameter], gradient: None, done: int) -> dict[str, nn.Parameter]:
        """One step of Adam in place, and one of the average."""
        self.optimiser.step()
        self.steps += 1
        self._move_average()
        return parameters

    @torch.no_grad()
    def _move_average(self) -> None:
        pull = min((_MEMORY + 1) / (self.steps + _MEMORY), 1.0)
        torch._foreach_lerp_(list(self.average.values()), list(self.parameters.values()), pull)

    @torch.no_grad()
    def _normalised(self) -> dict[str, Tensor]:
        """Averaged weights, with statistics of batch normalisation measured for them on the training samples."""
        norms = [m for m in self.network.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]
        buffers = {k: b.clone() for k, b in self.network.named_buffers()}
        state = {**self.average, **buffers}
        if norms:
            momenta = [m.momentum for m in norms]
            for norm in norms:
                norm.momentum = 1.0  # the statistics of this one pass
                norm.train()
            functional_call(self.network, state, (self.inputs,))
            for norm, momentum in zip(norms, momenta, strict=True):
                norm.momentum = momentum
                norm.eval()
        return state

    @torch.no_grad()
    def predict(self, inputs: Tensor, *, block: int = 1024) -> Tensor:
        """Predictions (n, outputs) of the averaged weights."""
        state, x = self._normalised(), inputs.to(self.inputs.dtype)
        pieces = []
        for part in x.split(block):
            out = functional_call(self.network, state, (part,)).reshape(len(part), -1)
            start = self._start(part)
            pieces.append(out if start is None else out - start)
        return torch.cat(pieces)

    @property
    def loss(self) -> float:
        """Mean squared error of the averaged weights on the training samples."""
        return float((self.predict(self.inputs) - self.targets).square().mean())
