"""What is measured of one architecture beside its errors: kernel, forecast, spectrum, symmetries, blind spots, regime."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import KernelModel, KernelPair
from priorscope.data.groups import Move
from priorscope.models import Architecture, Invariant, UserNetwork
from priorscope.probes import BlindSpots, Forecast, Kept, SamplesNeeded, Spectrum, blind_spots, kernel_moves, spectrum
from priorscope.probes.curves.forecast import forecast_gram
from priorscope.probes.curves.pilot import gram_of
from priorscope.profiles._candidates import Candidate, is_kernel_family
from priorscope.profiles._kernel_distance import KernelDistance, distance_at_width, place_of
from priorscope.profiles._network import network_blind_spots, network_distance, network_gram, network_symmetries
from priorscope.profiles._scene import Scene

__all__ = ["ArchitectureProfile", "deepened", "measure_architecture"]

Array = NDArray[np.float64]
_WIDEST = 1024  # numbers of an input, beyond which blind spots are not looked for


@dataclass(frozen=True)
class ArchitectureProfile:
    """All that was measured of one architecture, or network of the user, beside the errors in the table of rows.

    ``forecast`` is the theory's: that of the squared error of its kernel, of the sample looked at; ``blind`` and ``regime`` are
    None where the budget did not reach so far.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0] * x[:, 1], candidates=["fcn-1"], budget=8)
        >>> rep.candidates[0].name, rep.candidates[0].seconds > 0
        ('fcn-1', True)
    """

    candidate: Candidate
    forecast: Forecast = field(repr=False)
    spectrum: Spectrum = field(repr=False)
    needed: SamplesNeeded
    symmetries: dict[Move, Kept]
    blind: BlindSpots | None = None
    regime: KernelDistance | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name


def _gram(model: KernelModel, scene: Scene) -> Array:
    """The tangent kernel of the sample, checked; looked up where the race computed it already."""
    if isinstance(model, Architecture | Invariant):
        pair: KernelPair = model.kernel(
            scene.pilot.inputs, kinds=("nngp", "ntk"), progress=False
        )  # the profile shows its own
    else:
        pair = model.kernel(scene.pilot.inputs, kinds=("nngp", "ntk"))
    found = pair.ntk if pair.ntk is not None else pair.nngp
    return gram_of(np.asarray(found, dtype=float), scene.small, scene.pilot)


def measure_architecture(
    candidate: Candidate, scene: Scene, seconds: float, known: KernelModel | None = None
) -> tuple[ArchitectureProfile, Array]:
    """Kernel matrix of the sample (as far as so many seconds allow for a network), forecast, spectrum, symmetries.

    ``known`` is the same kernel where it remembers what the race computed.
    """
    began = clock.process_time()
    notes: list[str] = []
    pilot = scene.pilot
    if isinstance(candidate.model, UserNetwork):
        gram, pilot, notes = network_gram(candidate.model, scene.native, scene.native_pilot, seconds)
        symmetries = network_symmetries(candidate.model, pilot.inputs, None)
    else:
        gram = _gram(known or candidate.model, scene)
        symmetries = kernel_moves(candidate.model, pilot.inputs[:6]).kept
    ahead = forecast_gram(gram, pilot, [max(scene.to, len(pilot))], ridge="tuned", level=scene.level, seed=scene.seed)
    made = ArchitectureProfile(
        candidate,
        ahead,
        spectrum(gram, pilot.targets),
        ahead.samples_needed(float(ahead.curve.error[-1]) / 2),
        symmetries,
        seconds=clock.process_time() - began,
        notes=tuple(f"{candidate.name}: {note}" for note in notes),
    )
    return made, gram


def deepened(c: ArchitectureProfile, scene: Scene, seconds: float, *, place: bool) -> ArchitectureProfile:
    """The architecture with its blind spots and its distance from its kernel, by finite networks; ``place``: lazy or not."""
    began, model, notes = clock.process_time(), c.candidate.model, list(c.notes)
    targets = torch.as_tensor(scene.pilot.targets)
    blind: BlindSpots | None = None
    if isinstance(model, UserNetwork):
        state = network_distance(model, scene.native.inputs, targets)
        blind, more = network_blind_spots(model, c.name, scene.native, scene.small, seconds)
        notes += [f"{c.name}: {note}" for note in more]
    elif is_kernel_family(model):
        state = distance_at_width(model, scene.pilot.inputs, targets)
        if scene.small.inputs[0].numel() <= _WIDEST:
            blind = blind_spots(scene.small, model, n_models=32, width=16)
    else:
        return c  # a kernel without networks
    if place:
        state = replace(state, place=place_of(model, scene.small))
    blind = None if blind is None else replace(blind, model=c.name)
    spent = c.seconds + clock.process_time() - began
    return replace(c, blind=blind, regime=state, notes=tuple(notes), seconds=spent)
