"""What is measured of one architecture beside its errors: kernel, forecast, spectrum, symmetries, blind spots, regime."""

from __future__ import annotations

import time as clock
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import KernelModel, KernelPair
from priorscope.data import Dataset
from priorscope.models import Architecture, Invariant
from priorscope.probes import BlindSpots, blind_spots, kernel_moves, spectrum
from priorscope.probes.curves.forecast import forecast_gram
from priorscope.probes.curves.pilot import gram_of
from priorscope.profiles._candidates import Candidate, is_kernel_family
from priorscope.profiles._kernel_distance import distance_at_width, place_of
from priorscope.profiles._memory import PeakMemory
from priorscope.profiles._network import network_blind_spots, network_distance, network_gram, network_symmetries
from priorscope.profiles._result import CandidateProfile
from priorscope.profiles._user_network import UserNetwork
from priorscope.profiles._view import View

__all__ = ["Grams", "deepened", "kernel_grams", "measure_architecture"]

Array = NDArray[np.float64]
Grams = dict[str, Array]  # by kind, "ntk" and "nngp"


def kernel_grams(model: KernelModel, inputs: torch.Tensor) -> Grams:
    """Both kernels of one draw, in one pass."""
    both = ("nngp", "ntk")
    if isinstance(model, Architecture | Invariant):
        pair: KernelPair = model.kernel(inputs, kinds=both, progress=False)  # the profile shows its own
    else:
        pair = model.kernel(inputs, kinds=both)
    found = {kind: np.asarray(k, dtype=float) for kind, k in (("ntk", pair.ntk), ("nngp", pair.nngp)) if k is not None}
    if len(found) == 2 and np.array_equal(found["ntk"], found["nngp"]):
        del found["nngp"]  # a kernel that is no network's has one kind
    return found


def measure_architecture(
    candidate: Candidate, view: View, to: int, megabytes: float, level: float, seed: int
) -> tuple[CandidateProfile, Grams]:
    """Kernel matrix of the first draw, squared-error forecast, spectrum and symmetries, with seconds and memory taken."""
    started = clock.perf_counter()
    notes: list[str] = []
    grams: Grams = {}
    with PeakMemory(megabytes) as peak:
        pilot = view.pilot
        if isinstance(candidate.model, UserNetwork):
            gram, pilot, notes = network_gram(candidate.model, view.native, view.native_pilot)
            symmetries = network_symmetries(candidate.model, pilot.inputs, None)
        else:
            grams = kernel_grams(candidate.model, pilot.inputs)
            gram = gram_of(grams["ntk"], view.small, pilot)
            symmetries = kernel_moves(candidate.model, pilot.inputs[:6].double()).kept
        ahead = forecast_gram(gram, pilot, [to], ridge="tuned", level=level, seed=seed)
        found = spectrum(gram, pilot.targets)
    needed = ahead.samples_needed(float(ahead.curve.error[-1]) / 2)
    told = tuple(f"{candidate.name}: {note}" for note in notes)
    made = CandidateProfile(
        candidate,
        ahead,
        found,
        needed,
        symmetries,
        None,
        None,
        clock.perf_counter() - started,
        peak.megabytes,
        notes=told,
    )
    return made, grams


def _blind(candidate: Candidate, small: Dataset) -> BlindSpots | None:
    """Directions the candidate hardly sees, by the gradients of a few random networks; None for very wide inputs."""
    if small.inputs[0].numel() > 1024:
        return None
    return blind_spots(small, candidate.model, n_models=32, width=16)


def deepened(c: CandidateProfile, view: View, *, place: bool) -> CandidateProfile:
    """The architecture with its blind spots and its distance from its kernel, by finite networks; ``place``: lazy or not."""
    began, model, notes = clock.perf_counter(), c.candidate.model, list(c.notes)
    if isinstance(model, UserNetwork):
        state = network_distance(model, view.native_pilot.inputs, torch.as_tensor(view.native_pilot.targets))
        blind, more = network_blind_spots(model, c.name, view.native, view.small)
        notes += [f"{c.name}: {note}" for note in more]
    elif is_kernel_family(model):
        state = distance_at_width(model, view.pilot.inputs, torch.as_tensor(view.pilot.targets))
        blind = _blind(c.candidate, view.small)
    else:
        return c
    if place:
        state = replace(state, place=place_of(model, view.small))
    blind = None if blind is None else replace(blind, model=c.name)
    seconds = c.seconds + clock.perf_counter() - began
    return replace(c, blind=blind, regime=state, notes=tuple(notes), seconds=seconds)
