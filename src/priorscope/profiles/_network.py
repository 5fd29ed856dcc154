"""What is measured on networks: a user's tangent kernel as far as time allows, symmetries, spread, change, blind spots."""

from __future__ import annotations

import copy
import time as clock
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from priorscope.contracts import require
from priorscope.models import UserNetwork
from priorscope.probes import BlindSpots, Kept, blind_spots, empirical_ntk, kernel_moves
from priorscope.probes.curves.pilot import Pilot, gram_of
from priorscope.profiles._candidates import Candidate, KernelFamily
from priorscope.profiles._kernel_distance import KernelDistance, short_run

if TYPE_CHECKING:
    from priorscope.data import Dataset
    from priorscope.data.groups import Move

__all__ = [
    "fresh_network",
    "network_blind_spots",
    "network_distance",
    "network_gram",
    "network_symmetries",
    "operations_per_sample",
]

_LARGE = 20_000_000  # parameters times outputs beyond which one output stands for all
_WIDEST = 1024  # inputs beyond which blind spots are looked for on the shrunk images


def fresh_network(candidate: Candidate, shape: tuple[int, ...], outputs: int, width: int, seed: int) -> nn.Module:
    """A network of the candidate with fresh weights, or with those it came with where they cannot be drawn again."""
    model = candidate.model
    if not isinstance(model, UserNetwork):
        family = require(model, KernelFamily, "a model with a kernel and networks", "Use an Architecture.")
        return family.network(shape, width=width, outputs=outputs, seed=seed)
    try:
        return model.redraw(seed)
    except ValueError:
        return copy.deepcopy(model)


def operations_per_sample(network: nn.Module, sample: Tensor) -> float:
    """Floating-point operations of one sample through the network."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.eval()(sample[:1].float())
    return float(counter.get_total_flops())


def _parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters() if p.requires_grad)


def network_gram(
    network: UserNetwork, data: Dataset, pilot: Pilot, seconds: float
) -> tuple[NDArray[np.float64], Pilot, list[str]]:
    """Kernel matrix on the first 32, 64, 128, … pilot samples until the next would take too long; with its part of the pilot."""
    notes = []
    seen = network
    if network.outputs > 1 and _parameters(network) * network.outputs > _LARGE:
        seen = network.one_output()
        notes.append("its tangent kernel is that of its first output, for all outputs")
    n, size = len(pilot), min(32, len(pilot))
    empirical_ntk(seen, pilot.inputs[:2].float())  # what the first call of all sets up is not the network's cost
    while True:
        part = _first(pilot, size)
        started = clock.process_time()
        gram = gram_of(seen, data, part)
        spent = clock.process_time() - started
        larger = min(2 * size, n)
        if larger == size or spent * (larger / size) ** 2 > seconds:
            break
        size = larger
    if size < n:
        notes.append(f"its tangent kernel takes long: {size} samples were used, not {n}")
    return gram, part, notes


def _first(pilot: Pilot, n: int) -> Pilot:
    labels = None if pilot.labels is None else pilot.labels[:n]
    return replace(pilot, index=pilot.index[:n], inputs=pilot.inputs[:n], targets=pilot.targets[:n], labels=labels)


def network_symmetries(network: UserNetwork, inputs: Tensor, spread: float | None, n: int = 4) -> dict[Move, Kept]:
    """As for kernels in closed form, to a relative 1e-4; "nearly" within 5 % (both inputs moved: or its spread, to 20 %)."""
    if network.takes_tokens:
        return {}  # a moved token is another word
    limit = max(0.05, min(spread or 0.0, 0.2))
    found = kernel_moves(network.one_output(), inputs[:n].float(), tolerance=1e-4, near_once=0.05, near_both=limit)
    return found.kept


def network_distance(
    network: UserNetwork, inputs: Tensor, targets: Tensor, *, draws: int = 3, n: int = 16
) -> KernelDistance:
    r"""Spread of the kernel over new weights of the same network, and its change in a short training run.

    Without a closed form the mean over draws stands for the limit:
    :math:`\sqrt{\frac{1}{s-1}\sum_i\|\Theta_i-\bar\Theta\|_F^2}\,/\,\|\bar\Theta\|_F`, i from 1 to s.
    """
    one = network.one_output()
    probe = inputs[:n].float()
    spread = None
    try:
        kernels = [
            empirical_ntk(network.redraw(seed).one_output(), probe).detach().double().numpy()
            for seed in range(1, draws + 1)
        ]
    except ValueError:
        kernels = []
    if kernels:
        mean = np.mean(kernels, 0)
        spread = float(
            np.sqrt(sum(np.linalg.norm(k - mean) ** 2 for k in kernels) / (draws - 1)) / np.linalg.norm(mean)
        )
    return short_run(one, inputs[: 2 * n].float(), targets[: 2 * n, :1].float(), n=n, spread=spread, width=None)


def network_blind_spots(
    network: UserNetwork, name: str, native: Dataset, small: Dataset, seconds: float
) -> tuple[BlindSpots | None, list[str]]:
    """Directions that networks of this kind hardly see; on the shrunk images where there are too many pixels."""
    if network.takes_tokens:
        return None, ["its blind spots were not looked for: it takes tokens, which have no gradient"]
    data, notes = native, []

    def model(seed: int) -> nn.Module:
        return network.redraw(seed) if data is native else nn.Sequential(nn.Upsample(size=shape), network.redraw(seed))

    model.__name__ = name
    shape = tuple(native.input_shape[1:])
    if native.inputs[0].numel() > _WIDEST:
        if small.inputs[0].numel() > _WIDEST:
            return None, ["its blind spots were not looked for: there are too many inputs"]
        data = small
        notes.append(
            f"its blind spots are those on {'×'.join(map(str, small.input_shape[1:]))} images, enlarged for it"
        )
    started = clock.process_time()
    try:
        first = model(0)
    except ValueError as error:
        return None, [f"its blind spots were not looked for: {error}"]
    x = data.inputs[:16].clone().requires_grad_()
    torch.autograd.grad(first(x).sum(), x)
    each = clock.process_time() - started
    n_models = int(min(32, max(seconds / max(each, 1e-9), 4)))
    if 4 * each > seconds:
        return None, ["its blind spots were not looked for: a pass through the network takes too long"]
    return blind_spots(data, model, n_models=n_models), notes
