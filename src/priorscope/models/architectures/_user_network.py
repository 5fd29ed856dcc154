"""A network of the user between the data and the outputs that are wanted of it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from priorscope.checks import checked, whole
from priorscope.contracts import Fields
from priorscope.models.architectures._hand_over import HandOver, Scaling, ways
from priorscope.models.architectures._outputs import predictions
from priorscope.models.networks._redrawing import Redrawing

__all__ = ["UserNetwork"]


@checked(outputs=whole())
class UserNetwork(nn.Module):
    """A module that takes the data as they are: images enlarged, grey made colour, features flattened, tokens kept whole.

    Its output may be a tensor, a tuple, a dictionary or a sequence; surplus outputs are cut off. Batch normalisation is frozen
    at the statistics of the samples given, since in training mode it mixes samples and no kernel exists. ``notes`` says what
    was done; ``redraw`` gives the network with other weights.

    Example:
        >>> UserNetwork.fit(nn.Linear(64, 10), torch.randn(4, 1, 8, 8), outputs=2).notes[0]
        'Linear: inputs of shape 1×8×8 are flattened'
    """

    def __init__(self, module: nn.Module, outputs: int, way: HandOver | None = None) -> None:
        super().__init__()
        self.module = module
        self.outputs, self.way = outputs, way or HandOver()
        self.notes: tuple[str, ...] = ()
        self.build: Callable[[int], nn.Module] | None = None
        self.sample: Tensor | None = None
        self.given = outputs  # how many outputs it has, up to those wanted
        self.pooled = False  # outputs are maps, of which the mean over places is taken
        self.odds = False  # its one output is the logarithm of the odds of the second of two classes

    @property
    def takes_tokens(self) -> bool:
        """Whether inputs reach it as whole numbers, so that there is no gradient in them."""
        return self.way.tokens is not None

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (n, at most ``outputs``)."""
        found = self._run(x)[0][:, : self.outputs]
        return functional.pad(found, (1, 0)) if self.odds else found

    def _run(self, x: Tensor) -> tuple[Tensor, list[str]]:
        """All outputs (n, …), and which part of what the module gave they are."""
        out = self.way.call(self.module, x)
        if self.way.first:
            out = _rows_first(out)
        return predictions(out, len(x), self.module, pooled=self.pooled)

    @classmethod
    def fit(
        cls,
        module: nn.Module,
        sample: Tensor,
        outputs: int,
        *,
        build: Callable[[int], nn.Module] | None = None,
        name: str | None = None,
        scaling: Scaling | None = None,
        live: bool = False,
        fields: Fields | None = None,
        odds: bool = False,
        pooled: bool = False,
    ) -> UserNetwork:
        """The network, with the first way of handing over the samples that it accepts.

        ``scaling`` tells what standardising did to the samples: tokens are handed over as they came; ``fields`` which named
        parts they hold. ``odds`` takes one output, where two are wanted, as the logarithm of the odds of the second class.
        ``pooled`` averages maps of outputs over places. ``live`` says that it will be trained in training mode, so that notes
        tell nothing of frozen normalisation and dropout.
        """
        label = name or type(module).__name__
        module = copy.deepcopy(module).float().eval()
        sample = sample.float()
        if not pooled and not any(p.requires_grad for p in module.parameters()):
            raise ValueError(f"{label} has no parameters that require gradients, so there is nothing to train.")
        first: Exception | None = None
        for way in ways(tuple(sample.shape[1:]), module, scaling, sample, fields):
            network = cls(module, outputs, way)
            network.pooled = pooled
            try:
                with torch.no_grad():
                    out = network(sample[:3])
                    network._check_rows(sample, out)
            except TypeError:
                raise
            except Exception as error:
                first = first or error
                continue
            break
        else:
            shape = "×".join(map(str, sample.shape[1:]))
            raise ValueError(
                f"{label} does not take inputs of shape {shape}, nor enlarged or flattened: {first}. {_advice(module)}"
            ) from first
        if not torch.isfinite(out).all():
            raise ValueError(f"{label} gives NaN or infinite outputs on these data. Check its initialisation.")
        network.sample, network.build, network.given = sample[:64], build, out.shape[1]
        network.odds = odds and outputs == 2 and out.shape[1] == 1
        network.notes = tuple(
            f"{label}: {note}" for note in network._notes(tuple(sample.shape[1:]), out.shape[1], live)
        )
        network.calibrate()
        return network

    def _check_rows(self, sample: Tensor, out: Tensor) -> None:
        """Raise where the output of a sample depends on the others: no kernel between samples exists then."""
        if len(sample) < 3:
            return
        alone = self(sample[2:3])  # the last: a sequence over samples depends on those before
        size = float(out.abs().max().clamp(min=1e-6))
        if alone.shape[1:] != out.shape[1:] or float((alone[0] - out[2]).abs().max()) > 1e-3 * size:
            raise RuntimeError("its output for a sample depends on the other samples of the batch")

    def _notes(self, shape: tuple[int, ...], given: int, live: bool) -> list[str]:
        """Say all that was done to fit the network to the data, and what was switched off or frozen."""
        notes = self.way.words(shape)
        with torch.no_grad():
            assert self.sample is not None
            everything, taken = self._run(self.sample[:2])
        notes += taken
        total = everything.shape[1]
        if total > given:
            notes.append(f"has {total} outputs; the first {given} are used")
        elif self.odds:
            notes.append("has one output, which is the logarithm of the odds of the second class")
        elif given < self.outputs:
            notes.append(
                f"has {given} outputs where the targets have {self.outputs}; its kernel is used for all of them"
            )
        if (norms := self._norms()) and not live:
            kept = all(bool(m.num_batches_tracked) for m in norms)
            whose = "that it came with" if kept else "of the pilot"
            notes.append(f"batch normalisation is frozen at the statistics {whose}")
        if not live and any(isinstance(m, nn.modules.dropout._DropoutNd) and m.p > 0 for m in self.modules()):
            notes.append("dropout is switched off")
        if self.build is None:
            notes.append(_redrawn(self.module))
        return notes

    def _norms(self) -> list[nn.modules.batchnorm._BatchNorm]:
        kinds = nn.modules.batchnorm._BatchNorm
        return [m for m in self.modules() if isinstance(m, kinds) and m.track_running_stats]

    def calibrate(self) -> None:
        """One pass in training mode, from which batch normalisation keeps mean and variance; then eval mode for good.

        Statistics that training has left stay: they belong to the weights.
        """
        self.eval()
        norms = [m for m in self._norms() if not bool(m.num_batches_tracked)]
        if not norms or self.sample is None:
            return
        old = [m.momentum for m in norms]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the plain mean over batches
            norm.train()
        with torch.no_grad():
            self(self.sample)
        for norm, momentum in zip(norms, old, strict=True):
            norm.momentum = momentum
            variance = norm.running_var
            if variance is not None and not bool((variance > 0).all()):
                variance.clamp_(min=1e-5)
        self.eval()

    def redraw(self, seed: int) -> UserNetwork:
        """The network with new weights: from its factory, else by the law of its parts where that can be known."""
        fresh = copy.copy(self)
        fresh._modules = dict(self._modules)
        if self.build is not None:
            fresh.module = self.build(seed).float()
        else:
            fresh.module = Redrawing.of(self.module).network(seed)
        fresh.calibrate()
        return fresh

    def one_output(self) -> UserNetwork:
        """The same network seen at its first output alone."""
        view = copy.copy(self)
        view.outputs = 1
        return view


def _redrawn(module: nn.Module) -> str:
    """Say how new weights of a finished network are drawn."""
    try:
        return f"a finished network, {Redrawing.of(module).note}"
    except ValueError as error:
        return f"trials start from the weights it came with, and its spread is not known: {error}"


def _advice(module: nn.Module) -> str:
    """What to do about a network that does not take the inputs."""
    table = next((m for m in module.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag)), None)
    if table is not None:
        return f"Its embedding takes whole numbers from 0 to {table.num_embeddings - 1}: give tokens as inputs."
    return "Give a factory that builds it from input_shape and outputs."


def _rows_first(out: object) -> object:
    """Outputs of a network whose samples are the second axis, with samples first."""
    if isinstance(out, tuple) and out and isinstance(out[0], Tensor) and out[0].ndim == 3:
        return out[0].transpose(0, 1)
    return out.transpose(0, 1) if isinstance(out, Tensor) and out.ndim == 3 else out
