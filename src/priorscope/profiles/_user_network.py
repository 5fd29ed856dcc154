"""A network of the user between the data and the outputs that are wanted of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.models import Redrawing

__all__ = ["UserNetwork"]

_SIDES = (32, 64, 96, 224)  # tried in turn where a network does not take the images as they are


class UserNetwork(nn.Module):
    """A module that takes the data as they are: images enlarged, grey made colour, features flattened as the network needs.

    Surplus outputs are cut off. Batch normalisation is frozen at the statistics of the samples given, since in training mode
    it mixes samples and no kernel exists. ``notes`` says what was done; ``redraw`` gives the network with other weights.

    Example:
        >>> UserNetwork.fit(nn.Linear(64, 10), torch.randn(4, 1, 8, 8), outputs=2).notes[0]
        'Linear: inputs of shape 1×8×8 are flattened'
    """

    def __init__(
        self, module: nn.Module, outputs: int, *, flat: bool = False, side: int = 0, colour: bool = False
    ) -> None:
        super().__init__()
        self.module = module
        self.outputs, self.flat, self.side, self.colour = outputs, flat, side, colour
        self.notes: tuple[str, ...] = ()
        self.build: Callable[[int], nn.Module] | None = None
        self.sample: Tensor | None = None
        self.given = outputs  # how many outputs it has, up to those wanted

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (n, at most ``outputs``)."""
        if self.flat:
            x = x.flatten(1)
        if self.side:
            x = F.interpolate(x, size=(self.side,) * (x.ndim - 2), mode="bilinear" if x.ndim == 4 else "linear")
        if self.colour:
            x = x.expand(-1, 3, *x.shape[2:])
        out = self.module(x)
        out = getattr(out, "logits", out)
        if not isinstance(out, Tensor):
            raise TypeError(f"a network must give a tensor (n, outputs); got {type(out).__name__}.")
        if out.ndim > 2 and out[0].numel() > out.shape[1]:
            raise RuntimeError(f"it gives outputs of shape {tuple(out.shape)}; wanted (n, outputs)")
        return out.reshape(len(x), -1)[:, : self.outputs]

    @classmethod
    def fit(
        cls,
        module: nn.Module,
        sample: Tensor,
        outputs: int,
        *,
        build: Callable[[int], nn.Module] | None = None,
        name: str | None = None,
    ) -> UserNetwork:
        """The network, with the first way of handing over the samples that it accepts."""
        label = name or type(module).__name__
        module = copy.deepcopy(module).float().eval()
        sample = sample.float()
        if not any(p.requires_grad for p in module.parameters()):
            raise ValueError(f"{label} has no parameters that require gradients, so there is nothing to train.")
        first: Exception | None = None
        for way in _ways(tuple(sample.shape[1:])):
            network = cls(module, outputs, **way)
            try:
                with torch.no_grad():
                    out = network(sample[:2])
            except TypeError:
                raise
            except Exception as error:
                first = first or error
                continue
            break
        else:
            shape = "×".join(map(str, sample.shape[1:]))
            raise ValueError(
                f"{label} does not take inputs of shape {shape}, nor enlarged or flattened: {first}. Give a factory that "
                "builds it from input_shape and outputs."
            ) from first
        if not torch.isfinite(out).all():
            raise ValueError(f"{label} gives NaN or infinite outputs on these data. Check its initialisation.")
        network.sample, network.build, network.given = sample[:64], build, out.shape[1]
        network.notes = tuple(f"{label}: {note}" for note in network._notes(tuple(sample.shape[1:]), out.shape[1]))
        network.calibrate()
        return network

    def _notes(self, shape: tuple[int, ...], given: int) -> list[str]:
        """Say all that was done to fit the network to the data, and what was switched off or frozen."""
        text = "×".join(map(str, shape))
        notes = []
        if self.flat:
            notes.append(f"inputs of shape {text} are flattened")
        if self.side:
            notes.append(f"does not take inputs of shape {text}; they are enlarged to side {self.side}")
        if self.colour:
            notes.append("grey images are given to all three colour channels")
        with torch.no_grad():
            assert self.sample is not None
            everything = copy.copy(self)
            everything.outputs = 10**9
            total = everything(self.sample[:2]).shape[1]
        if total > given:
            notes.append(f"has {total} outputs; the first {given} are used")
        elif given < self.outputs:
            notes.append(
                f"has {given} outputs where the targets have {self.outputs}; its kernel is used for all of them"
            )
        if self._norms():
            notes.append("batch normalisation is frozen at the statistics of the pilot")
        if any(isinstance(m, nn.modules.dropout._DropoutNd) and m.p > 0 for m in self.modules()):
            notes.append("dropout is switched off")
        if self.build is None:
            notes.append(_redrawn(self.module))
        return notes

    def _norms(self) -> list[nn.modules.batchnorm._BatchNorm]:
        kinds = nn.modules.batchnorm._BatchNorm
        return [m for m in self.modules() if isinstance(m, kinds) and m.track_running_stats]

    def calibrate(self) -> None:
        """One pass in training mode, from which batch normalisation keeps mean and variance; then eval mode for good."""
        self.eval()
        norms = self._norms()
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


class Way(TypedDict, total=False):
    """How samples are handed over: flattened, enlarged to a side, grey in three colours."""

    flat: bool
    side: int
    colour: bool


def _ways(shape: tuple[int, ...]) -> list[Way]:
    """As they are; colour; flat; enlarged; enlarged in colour."""
    ways: list[Way] = [{}]
    if len(shape) == 1:
        return ways
    grey = shape[0] == 1
    ways += [Way(colour=True)] * grey + [Way(flat=True)]
    for side in _SIDES:
        if side > max(shape[1:]):
            ways += [Way(side=side)] + [Way(side=side, colour=True)] * grey
    return ways
