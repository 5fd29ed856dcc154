"""The flagship: which architecture fits this data, how will the error fall, what is each model blind to, and why."""

from __future__ import annotations

import resource
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from priorscope.probes import BlindSpots, blind_spots, spectrum
from priorscope.probes._forecast import forecast_gram
from priorscope.probes._pilot import Pilot, draw_pilot, gram_of

from ._candidates import Candidate, default_candidates, load_model, user_candidate
from ._prepare import prepare
from ._regime import kernel_regime
from ._result import CandidateProfile, Profile
from ._symmetry import data_symmetries, model_symmetries
from ._verdict import rank

__all__ = ["profile"]

_HORIZON = 4  # candidates are ranked at this many times the pilot


def _kernel_function(candidate: Candidate) -> Callable[..., Any]:
    if candidate.closed_form:
        return lambda a, b: candidate.model.kernel(a, b, kinds=("ntk",)).ntk.double().numpy()

    def empirical(a: torch.Tensor, b: torch.Tensor) -> Any:
        from priorscope.probes import empirical_ntk

        return empirical_ntk(candidate.model, a.float(), b.float()).detach().double().numpy()

    return empirical


def _collect(
    data: Any, models: Sequence[Any] | None, candidates: Sequence[Any] | None
) -> tuple[list[Candidate], list[str]]:
    shape, outputs = data.input_shape, data.n_outputs
    if candidates is not None:
        found = []
        notes: list[str] = []
        for one in candidates:
            found.append(one if isinstance(one, Candidate) else user_candidate(one, None, shape, outputs))
    else:
        found, notes = default_candidates(shape)
    for model in models or ():
        found.append(
            load_model(model, shape, outputs) if isinstance(model, str) else user_candidate(model, None, shape, outputs)
        )
    if not found:
        raise ValueError("profile needs at least one candidate; give models= or leave candidates at its default.")
    names: dict[str, int] = {}
    unique = []
    for c in found:
        names[c.name] = names.get(c.name, 0) + 1
        unique.append(c if names[c.name] == 1 else Candidate(f"{c.name}#{names[c.name]}", c.model, c.family, c.words))
    return unique, notes


def _measure(
    candidate: Candidate, data: Any, pilot: Pilot, horizon: int, target: float | None, deep: bool, level: float
) -> CandidateProfile:
    started = clock.perf_counter()
    gram = gram_of(candidate.model, data, pilot)
    ahead = forecast_gram(gram, pilot, [horizon, 2 * horizon], level=level)
    found = spectrum(gram, pilot.targets)
    symmetries = model_symmetries(_kernel_function(candidate), pilot.inputs)
    state = kernel_regime(candidate.model, pilot.inputs, torch.as_tensor(pilot.targets)) if deep else None
    blind = _blind(candidate, data, pilot) if deep and candidate.closed_form else None
    needed = ahead.samples_needed(target if target is not None else float(ahead.curve.error[-1]) / 2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return CandidateProfile(
        candidate, ahead, found, needed, symmetries, blind, state, clock.perf_counter() - started, peak
    )


def _blind(candidate: Candidate, data: Any, pilot: Pilot) -> BlindSpots | None:
    """Directions the candidate hardly sees, by the gradients of a few random networks; None for very wide inputs."""
    if pilot.inputs[0].numel() > 1024:
        return None
    part = data.take(torch.as_tensor(pilot.index))
    return blind_spots(part, candidate.model, n_models=32, width=16)


def _warnings(result: Sequence[CandidateProfile], pilot: int, horizon: int, task: str) -> list[str]:
    notes = []
    if pilot < 100:
        notes.append(f"only {pilot} samples: order and errors are guesses; collect more before deciding")
    best = min(result, key=lambda c: c.forecast.at(horizon).value)
    for note in best.forecast.warnings:
        if not note.startswith(("n =", "the pilot has only")):
            notes.append(f"{best.name}: {note}")
    if all(c.forecast.curve.error[-1] > 0.9 * c.forecast.curve.null_error for c in result):
        notes.append("no candidate beats predicting zero on the pilot: the target looks like noise to all of them")
    if best.regime is not None and best.regime.words.startswith("far"):
        notes.append(f"{best.name}: {best.regime.words}")
    return notes


def profile(
    data: Any,
    *,
    models: Sequence[Any] | None = None,
    candidates: Sequence[Any] | None = None,
    pilot: int = 300,
    target_error: float | None = None,
    resize: int | None = None,
    deep: bool = True,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Profile:
    """Profile data with FCN, VEC, LAP and GAP at infinite width and any models given, before training any of them.

    Args: ``models`` are compared beside the default candidates, ``candidates`` instead of them; each is an Architecture, an
    ``nn.Module``, a factory, or text ``package.module:factory`` (or ``timm:name``). ``pilot`` is the number of samples looked
    at, ``target_error`` the error whose sample cost is asked (default: half the best error on the pilot), ``resize`` the
    side to which larger images are averaged, ``deep`` whether finite networks are built as well, to see what
    they are blind to and how far they are from their kernel. ``progress`` is called with a line for each step.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(ps.data.from_arrays(x, x[:, 0]), deep=False)
        >>> rep.task, [c.name for c in rep.candidates][0].startswith("fcn")
        ('regression', True)
    """
    wall, cpu = clock.perf_counter(), clock.process_time()
    say = progress or (lambda line: None)
    prepared = prepare(data, pilot, resize=resize)
    ready = prepared.data
    found, notes = _collect(ready, models, candidates)
    drawn = draw_pilot(ready, prepared.pilot, seed)
    horizon = _HORIZON * len(drawn)
    measured: list[CandidateProfile] = []
    for number, candidate in enumerate(found, 1):
        say(f"{candidate.name} ({number} of {len(found)})")
        measured.append(_measure(candidate, ready, drawn, horizon, target_error, deep, level))
    say("symmetries of the data")
    symmetries = data_symmetries(drawn.inputs, drawn.targets, drawn.labels)
    goal = target_error or min(float(c.forecast.curve.error[-1]) for c in measured) / 2
    measured = [replace(c, needed=c.forecast.samples_needed(goal)) for c in measured]
    return Profile(
        data=ready.name,
        task=ready.task,
        n_train=len(ready.train),
        pilot=len(drawn),
        horizon=horizon,
        target_error=goal,
        candidates=rank(measured, horizon, symmetries),
        data_symmetries=tuple(symmetries),
        notes=(*prepared.notes, *notes, *getattr(data, "notes", ())),
        warnings=tuple(_warnings(measured, len(drawn), horizon, ready.task)),
        seconds=clock.perf_counter() - wall,
        cpu_seconds=clock.process_time() - cpu,
    )
