"""Measure deformations by one pixel on the pilot: labels of neighbours, fresh and trained networks, and training on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import is_network_family
from priorscope.data import Deform
from priorscope.data.deformations import one_pixel
from priorscope.data.groups import Move
from priorscope.models import UserNetwork
from priorscope.probes import LabelMove, label_moves, label_survival, stability
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._extrapolate import (
    BELIEFS,
    Ahead,
    bootstrap_weights,
    extrapolate,
    measured_ratio,
    ratio_of,
)
from priorscope.profiles._kind import Kind
from priorscope.profiles._scene import Scene
from priorscope.profiles._trained import MeasuredNetwork, fresh_network, measure_network, operations_per_sample
from priorscope.profiles._trial import Trial
from priorscope.profiles._view import View
from priorscope.profiles.sections._deformation_result import (
    ArchitectureStability,
    DeformationProfile,
    TrainedOnDeformed,
)

__all__ = ["architecture_stability", "deformation_profile", "label_evidence", "train_on_deformed"]

Array = NDArray[np.float64]
_WORK = 3e9  # floating-point operations per architecture: a fraction of a second
_SETTINGS = (
    (5, 4, 201),
    (5, 4, 101),
    (3, 2, 51),
    (1, 1, 25),
)  # fresh networks, trained ones, images: the first that fits
_WIDE = {True: 16, False: 256}  # channels or neurons of networks that had no trial


def label_evidence(view: View, symmetries: Sequence[LabelMove]) -> DeformationProfile | None:
    """Labels, noise and pictures at the size that networks are given; None for what is no square image of 8 pixels or more."""
    x, pilot = view.native_pilot.inputs, view.native_pilot
    deform = one_pixel(tuple(x.shape[1:]))
    if deform is None:
        return None
    known = [s for s in symmetries if s.move is Move.DEFORMATION]
    if tuple(x.shape[1:]) != tuple(view.pilot.inputs.shape[1:]) or not known:
        known = list(label_moves(x, pilot.targets, pilot.labels, moves=[Move.DEFORMATION]).found)
    return DeformationProfile(deform, known[0], label_survival(view.native, deform, n_images=len(x)))


def architecture_stability(
    candidate: Candidate, view: View, deform: Deform, made: MeasuredNetwork | None, *, seed: int = 0
) -> ArchitectureStability | str:
    """R of fresh networks and of those of the trial, on images these were not trained on; a note where it takes too long.

    A trained network of ours is :math:`f - f_0`, the function that was fitted.
    """
    model, inputs = candidate.model, view.native_inputs.float()
    shape, outputs = tuple(inputs.shape[1:]), view.truth.targets.shape[1]
    if isinstance(model, UserNetwork) and model.takes_tokens:
        return f"{candidate.name}: takes tokens, which cannot be deformed"
    width = made.width if made is not None else None
    if made is None and not isinstance(model, UserNetwork):
        if not is_network_family(model):
            return ""  # a kernel without networks
        width = _WIDE[any(p.ndim > 2 for p in fresh_network(candidate, shape, outputs, 1, 0).parameters())]
    first = fresh_network(candidate, shape, outputs, width, seed)
    each = operations_per_sample(first, inputs)  # about three passes: as they are, deformed, with noise
    runs = [] if made is None else list(made.ended)
    for n_fresh, n_trained, n_images in _SETTINGS:
        if each * n_images * (n_fresh + min(n_trained, len(runs))) <= _WORK:
            break
    else:
        return f"{candidate.name}: its stability was not measured, a pass through its networks takes too long"
    rows = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(seed))
    fresh = [first, *(fresh_network(candidate, shape, outputs, width, seed + k) for k in range(1, n_fresh))]
    try:
        start = stability(fresh, inputs[rows[:n_images]], deform, n_images=n_images, name=candidate.name, seed=seed)
        after = []
        for k, (part, run) in enumerate(runs[:n_trained]):
            other = rows[~torch.isin(rows, torch.as_tensor(part.train))][:n_images]
            found = stability(run, inputs[other], deform, n_images=n_images, n_seeds=1, name=candidate.name, seed=k)
            after.append(found)
    except ValueError as error:
        return f"{candidate.name}: its stability was not measured ({error})"
    trained = replace(after[0], values=np.concatenate([f.values for f in after])) if after else None
    return ArchitectureStability(candidate.name, start, trained)


def train_on_deformed(scene: Scene, candidate: Candidate, trial: Trial, deform: Deform) -> TrainedOnDeformed | str:
    """The networks of a trial once more, from the same weights on the same parts and batches, every batch deformed.

    Only the largest size is trained again, at the rate that was found; the curve follows from the plain one by its ratio
    there. A note where it cannot be done.
    """
    view, design = scene.view, scene.view.design
    how = replace(trial.how, rates=(trial.made.rate,))
    x, truth, sizes = view.native_inputs, view.truth, design.few[-1:]
    try:
        again = measure_network(candidate, x, design, truth, how, augment=deform, eighths=sizes, seed=scene.seed)
    except Exception as error:  # a user's network may not take them; all else that was measured stays
        return f"{trial.row}: could not be trained on deformed images ({error})"
    if again is None:
        return f"{trial.row}: training on deformed images diverged at its rate"
    weights = bootstrap_weights(len(design), scene.seed)
    guide, belief = trial.ahead.as_guide(trial.row), BELIEFS[Kind.NETWORK]
    name = f"{trial.row}, deformed images"
    deformed = extrapolate(name, again.held, scene.metric, guide, belief, scene.to, weights, level=scene.level)
    return replace(_compared(trial, deformed, scene, weights), seconds=again.seconds)


def _compared(trial: Trial, deformed: Ahead, scene: Scene, weights: Array) -> TrainedOnDeformed:
    """Errors with and without deformed batches at the largest measured size and at the size asked about."""
    plain = trial.ahead
    measured = measured_ratio(deformed.held, plain.held, scene.metric, weights, level=scene.level)
    ahead = ratio_of(deformed, plain, level=scene.level)
    n, after = deformed.curve.last
    before = plain.curve.last[1]
    ends = plain.estimate.value, deformed.estimate.value
    return TrainedOnDeformed(trial.row, n, scene.to, before, after, measured, *ends, ahead)


def deformation_profile(
    view: View,
    symmetries: Sequence[LabelMove],
    candidates: Sequence[Candidate],
    trained: Mapping[str, MeasuredNetwork],
    *,
    seed: int = 0,
) -> DeformationProfile | None:
    """Labels and the stability of every architecture; None for what is no square image."""
    found = label_evidence(view, symmetries)
    if found is None:
        return None
    measured, notes = [], []
    for candidate in candidates:
        one = architecture_stability(candidate, view, found.deform, trained.get(candidate.name), seed=seed)
        if isinstance(one, ArchitectureStability):
            measured.append(one)
        elif one:
            notes.append(one)
    return replace(found, architectures=tuple(measured), notes=tuple(notes))
