"""Many initialisations of one model: a template and its parameters stacked along a first axis."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias, Unpack

import torch
from torch import Tensor, nn

from priorscope.contracts import NetworkMaker, NetworkOptions, is_network_maker
from priorscope.models import Architecture, FiniteModel, Redrawing, from_factory

__all__: list[str] = []

Stacked = dict[str, Tensor]
Drawn: TypeAlias = "NetworkMaker | nn.Module | Callable[..., object] | Sequence[nn.Module]"  # see Draws


class Draws:
    """Initialisations of a model, drawn in batches.

    - an architecture (anything with ``.network``): its parameters come from one call per tensor where their laws are known;
    - a module: drawn again by the law of its parts, or refused where that cannot be known (:class:`Redrawing`);
    - a factory ``seed -> module``, or one without arguments: built one by one with torch's generator at the seed (the
      global random state is left as it was), then stacked;
    - a list of modules, such as trained ones: taken in turn as they are.

    ``notes`` says by which law a module is drawn.
    """

    def __init__(
        self, model: Drawn, input_shape: tuple[int, ...], seed: int = 0, **network: Unpack[NetworkOptions]
    ) -> None:
        """Find out how the model is drawn, and make one network as the template."""
        self.generator = torch.Generator().manual_seed(seed)
        self._next_seed = seed * 1_000_003
        self._network: Callable[[int], nn.Module] | None = None
        self._redrawing: Redrawing | None = None
        self.notes: tuple[str, ...] = ()
        self._must_differ = False
        self._first: Stacked | None = None  # a network drawn before, to see that a factory draws anew
        if isinstance(model, list | tuple):
            self._network = _in_turn(model)
            self.template = self._network(self._next_seed)
        elif is_network_maker(model):
            make = model.network
            self._network = lambda s: make(input_shape, seed=s, **network)
            self.template = self._network(self._next_seed)
            if isinstance(model, Architecture | FiniteModel):  # they know how they draw
                self._redrawing = _in_one_call(self.template)
        elif isinstance(model, nn.Module):
            self.template = copy.deepcopy(model)
            like = Redrawing.of(self.template)
            self.notes = (f"the module is {like.note}",)
            if like.in_one_call:
                self._redrawing = like
            else:
                self._network = like.network
        elif callable(model):
            self._network = seeded_factory(model, input_shape)
            self._must_differ = True
            self.template = self._network(self._next_seed)
        else:
            raise ValueError(
                "the model must be an architecture, a torch.nn.Module, a list of them or a factory seed -> Module; "
                f"got {type(model).__name__}."
            )
        self.template.eval()
        if not any(True for _ in self.template.parameters()):
            raise ValueError("the model has no parameters, so there is nothing to average over.")

    @property
    def in_one_call(self) -> bool:
        """Whether parameters are drawn without building modules."""
        return self._redrawing is not None

    @property
    def n_params(self) -> int:
        """Number of parameters of one model."""
        return sum(p.numel() for p in self.template.parameters())

    def __call__(self, n: int) -> Stacked:
        """``n`` more initialisations: each parameter (and buffer) by name, with a first axis of length ``n``."""
        buffers = {k: v.expand(n, *v.shape) for k, v in self.template.named_buffers()}
        if self._redrawing is not None:
            return {**self._redrawing.stacked(n, self.generator), **buffers}
        assert self._network is not None
        nets = []
        for _ in range(n):
            nets.append(self._network(self._next_seed))
            self._next_seed += 1
        states = [{**dict(net.named_parameters()), **dict(net.named_buffers())} for net in nets]
        if any(
            {k: v.shape for k, v in state.items()} != {k: v.shape for k, v in states[0].items()} for state in states
        ):
            raise ValueError("the factory gives networks of different shapes; it must change the weights only.")
        stacked = {k: torch.stack([state[k].detach() for state in states]) for k in states[0]}
        before = self._first or (states[0] if n > 1 else None)
        self._first = states[0]
        if self._must_differ and before and all(torch.equal(before[k], states[-1][k]) for k in before):
            raise ValueError(
                "the factory gives the same network every time, so there is nothing to average over. Make it draw new "
                "weights: let it take a seed, or set no seed of its own."
            )
        return stacked


def _in_one_call(network: nn.Module) -> Redrawing | None:
    """The laws of a network just built, or None where some part of it is best built anew."""
    try:
        like = Redrawing.of(network)
    except ValueError:
        return None
    return like if like.in_one_call else None


def _in_turn(networks: Sequence[nn.Module]) -> Callable[[int], nn.Module]:
    if not networks or not all(isinstance(net, nn.Module) for net in networks):
        raise ValueError("a list of models must hold torch.nn.Modules, one at least.")
    count = itertools.count(-1)  # the first call makes the template

    def build(seed: int) -> nn.Module:
        return copy.deepcopy(networks[max(next(count), 0) % len(networks)]).eval()

    return build


def seeded_factory(factory: Callable[..., object], input_shape: tuple[int, ...]) -> Callable[[int], nn.Module]:
    """A factory of a seed from one that takes a seed or nothing, run with torch's generator at that seed.

    One that names several arguments is given what it asks for by :func:`priorscope.models.from_factory`, with one output.
    """
    whole = False
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        takes = True
    else:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        own = [p for p in signature.parameters.values() if p.kind in kinds]
        needed = [p for p in own if p.default is inspect.Parameter.empty]
        whole = len(needed) > 1
        takes = bool(needed) or any(p.name == "seed" for p in own[:1])

    def build(seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            try:
                if whole:
                    net = from_factory(factory, input_shape, 1, seed)
                else:
                    net = factory(seed) if takes else factory()
            except Exception as error:
                raise ValueError(f"the factory failed: {type(error).__name__}: {error}.") from error
        if not isinstance(net, nn.Module):
            raise ValueError(f"a factory must map a seed to a torch.nn.Module; it gave a {type(net).__name__}.")
        return net.eval()

    return build
