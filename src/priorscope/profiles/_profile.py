"""The flagship: which architecture fits this data, how will the error fall, what is each model blind to, and why."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.checks import FRACTION, POSITIVE, SEED, checked, optional, whole
from priorscope.contracts import KernelModel, kernel_matrix, require
from priorscope.data import Data, Dataset, Values, as_dataset
from priorscope.models import Architecture, SampledModel, Scaling
from priorscope.probes import BlindSpots, CautionKind, blind_spots, spectrum
from priorscope.probes.curves.forecast import forecast_gram
from priorscope.probes.curves.pilot import Pilot, draw_pilot, gram_of, prepare
from priorscope.profiles._baseline import Baseline, baseline_of
from priorscope.profiles._candidates import Candidate, KernelFamily, default_candidates, variations
from priorscope.profiles._kernel_rows import kernel_rows
from priorscope.profiles._memory import PeakMemory, resident
from priorscope.profiles._metric import Metric
from priorscope.profiles._network import network_blind_spots, network_gram, network_regime, network_symmetries
from priorscope.profiles._regime import Distance, kernel_regime, place_of
from priorscope.profiles._result import CandidateProfile, Profile
from priorscope.profiles._run_off import run_off
from priorscope.profiles._symmetry import data_symmetries, model_symmetries
from priorscope.profiles._user_model import load_model, user_candidate
from priorscope.profiles._user_network import UserNetwork
from priorscope.profiles._verdict import rank

__all__ = ["profile"]

_HORIZON = 4  # candidates are ranked at this many times the pilot


@dataclass(frozen=True)
class _View:
    """The pilot twice: as small as kernels need it, and at its own size for networks of the user."""

    small: Dataset
    native: Dataset
    pilot: Pilot
    native_pilot: Pilot
    megabytes: float  # held when measuring begins

    def inputs_of(self, c: CandidateProfile) -> torch.Tensor:
        """What networks of a candidate are given."""
        return (self.native_pilot if isinstance(c.candidate.model, UserNetwork) else self.pilot).inputs


def _whole(pilot: Pilot, inputs: torch.Tensor) -> Pilot:
    """The pilot as all of a data set of its own rows."""
    return replace(pilot, index=np.arange(len(pilot)), inputs=inputs)


def _kernel_function(model: KernelModel) -> Callable[[torch.Tensor, torch.Tensor], NDArray[np.float64]]:
    return lambda a, b: kernel_matrix(model, a, b).double().numpy()


def _collect(
    data: Dataset,
    native: Dataset,
    models: Sequence[object] | None,
    candidates: Sequence[object] | None,
    scaling: Scaling,
) -> tuple[list[Candidate], list[str]]:
    """List the candidates to compare, the default ones or those given, under distinct names; and notes on them."""
    shape, outputs, sample = native.input_shape, data.n_outputs, native.inputs

    def found_by(model: object) -> Candidate:
        if isinstance(model, str):
            return load_model(model, shape, outputs, sample, scaling)
        return user_candidate(model, None, shape, outputs, sample, scaling)

    notes: list[str] = []
    if candidates is not None:
        found = [one if isinstance(one, Candidate) else found_by(one) for one in candidates]
    else:
        found, notes = default_candidates(data.input_shape)
    found += [found_by(model) for model in models or ()]
    if not found:
        raise ValueError("profile needs at least one candidate; give models= or leave candidates at its default.")
    names: dict[str, int] = {}
    unique = []
    for c in found:
        names[c.name] = names.get(c.name, 0) + 1
        unique.append(c if names[c.name] == 1 else replace(c, name=f"{c.name}#{names[c.name]}"))
        notes += c.model.notes if isinstance(c.model, UserNetwork | SampledModel) else ()
    return unique, notes


def _measure(
    candidate: Candidate, view: _View, horizon: int, target: float | None, deep: bool, level: float, seed: int
) -> CandidateProfile:
    """All measurements of one candidate, with the seconds and the memory they took."""
    started = clock.perf_counter()
    notes: list[str] = []
    blind, state = None, None
    with PeakMemory(view.megabytes) as peak:
        pilot = view.pilot
        if isinstance(candidate.model, UserNetwork):
            network, pilot = candidate.model, view.native_pilot
            gram, pilot, notes = network_gram(network, view.native, pilot)
            targets = torch.as_tensor(pilot.targets)
            state = network_regime(network, pilot.inputs, targets) if deep else None
            symmetries = network_symmetries(network, pilot.inputs, state.spread if state else None)
            if deep:
                blind, more = network_blind_spots(network, candidate.name, view.native, view.small)
                notes += more
        else:
            model = candidate.model
            if isinstance(model, Architecture):
                gram = gram_of(model, view.small, pilot, progress=False)  # the profile shows its own
            else:
                gram = gram_of(model, view.small, pilot)
            symmetries = model_symmetries(_kernel_function(model), pilot.inputs)
            if deep:
                advice = "Use deep=False for a kernel alone."
                family = require(model, KernelFamily, "a model with a kernel and networks", advice)
                state = kernel_regime(family, pilot.inputs, torch.as_tensor(pilot.targets))
                blind = _blind(candidate, view.small)
        if blind is not None:
            blind = replace(blind, model=candidate.name)
        ahead = forecast_gram(gram, pilot, [horizon], ridge="tuned", level=level, seed=seed)
        found = spectrum(gram, pilot.targets)
    needed = ahead.samples_needed(target if target is not None else float(ahead.curve.error[-1]) / 2)
    seconds = clock.perf_counter() - started
    told = tuple(f"{candidate.name}: {note}" for note in notes)
    return CandidateProfile(
        candidate, ahead, found, needed, symmetries, blind, state, seconds, peak.megabytes, notes=told
    )


def _blind(candidate: Candidate, small: Dataset) -> BlindSpots | None:
    """Directions the candidate hardly sees, by the gradients of a few random networks; None for very wide inputs."""
    if small.inputs[0].numel() > 1024:
        return None
    return blind_spots(small, candidate.model, n_models=32, width=16)


def _placed(measured: list[CandidateProfile], small: Dataset, horizon: int) -> list[CandidateProfile]:
    """The best fully connected candidate with its place on the phase diagram; others would take too long."""
    for best in sorted(measured, key=lambda c: c.forecast.at(horizon).value):
        place = None if best.regime is None else place_of(best.candidate.model, small)
        if best.regime is not None and place is not None:
            placed = replace(best, regime=replace(best.regime, place=place))
            return [placed if c is best else c for c in measured]
    return measured


def _warnings(ranked: Sequence[CandidateProfile], pilot: int, baseline: Baseline) -> list[str]:
    """What to be careful about: the pick's cautions in full, those of the others by their kind."""
    notes = []
    if pilot < 100:
        notes.append(f"only {pilot} samples: order and errors are guesses; collect more before deciding")
    pick, *rest = ranked
    noise = all(c.forecast.curve.error[-1] > 0.9 * baseline.squared for c in ranked)
    said = {CautionKind.SMALL_PILOT, *([CautionKind.NOTHING_LEARNT] if noise else [])}  # of all candidates alike
    notes += [f"{pick.name}: {caution}" for caution in pick.forecast.cautions if caution.kind not in said]
    if pick.regime is not None and pick.regime.distance is Distance.FAR:
        notes.append(f"{pick.name}: {pick.regime.reading}")
    alike: dict[CautionKind, list[str]] = {}
    for c in rest:
        for caution in c.forecast.cautions:
            if caution.kind not in said:
                alike.setdefault(caution.kind, []).append(c.name)
    notes += [f"{', '.join(names)}: {kind.value}" for kind, names in alike.items()]
    if noise:
        notes.append(
            "on the pilot no candidate clearly beats predicting the mean: to all of them the target looks like noise"
        )
    return notes


@checked(pilot=whole(), target_error=optional(POSITIVE), resize=optional(whole(2)), level=FRACTION, seed=SEED)
def profile(
    data: Data,
    y: Values | None = None,
    *,
    target: str | int | None = None,
    classes: str | None = None,
    models: Sequence[object] | None = None,
    candidates: Sequence[object] | None = None,
    pilot: int = 300,
    target_error: float | None = None,
    resize: int | None = None,
    deep: bool = True,
    trials: bool = True,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Profile:
    """Profile data with FCN, VEC, LAP and GAP at infinite width and any models given, before training on more than a pilot.

    ``data`` is anything that :func:`priorscope.data.as_dataset` takes: inputs with ``y``, a frame with its ``target`` column, a
    path, a name such as "digits", a torch data set or loader, a bunch of scikit-learn, a ``Dataset``. ``classes`` is the label
    scheme. Gaps among the inputs are filled in, and told.

    Args: ``models`` are compared beside the default candidates, ``candidates`` instead of them; each is an Architecture, an
    ``nn.Module``, a factory, or text ``package.module:factory`` (or ``timm:name``). ``pilot`` is the number of samples looked
    at, ``target_error`` the error whose sample cost is asked (default: half the best error on the pilot), ``resize`` the
    side to which larger images are averaged, ``deep`` whether finite networks are built as well, to see what
    they are blind to and how far they are from their kernel, ``trials`` whether candidates whose forecasts are not told apart
    are trained on the pilot to decide between them. ``progress`` is called with a line for each step.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0], deep=False)
        >>> rep.task, [c.name for c in rep.candidates][0].startswith("fcn")
        ('regression', True)
    """
    wall, cpu = clock.perf_counter(), clock.process_time()
    say = progress or (lambda line: None)
    loaded = as_dataset(data, y, target=target, classes=classes, test_fraction=0.0, missing="median")
    prepared = prepare(loaded, pilot, resize=resize)
    ready = prepared.data
    drawn = draw_pilot(ready, prepared.pilot, seed)
    rows = torch.as_tensor(drawn.index)
    native = prepared.native(rows)
    view = _View(ready.take(rows), native, _whole(drawn, drawn.inputs), _whole(drawn, native.inputs), resident())
    scaling = Scaling.between(prepared.original.inputs[rows], native.inputs)
    found, notes = _collect(ready, native, models, candidates, scaling)
    horizon = _HORIZON * len(drawn)
    measured: list[CandidateProfile] = []
    for number, candidate in enumerate(found, 1):
        say(f"{candidate.name} ({number} of {len(found)})")
        measured.append(_measure(candidate, view, horizon, target_error, deep, level, seed))
    if candidates is None:  # other nonlinearities for the architecture that does best with ReLU
        leader = min(measured, key=lambda c: c.forecast.at(horizon).value)
        for candidate in variations(leader.candidate):
            say(f"{candidate.name} (as {leader.name} did best)")
            measured.append(_measure(candidate, view, horizon, target_error, deep, level, seed))
    say("symmetries of the data")
    symmetries = data_symmetries(drawn.inputs, drawn.targets, drawn.labels)
    goal = target_error or min(float(c.forecast.curve.error[-1]) for c in measured) / 2
    measured = [replace(c, needed=c.forecast.samples_needed(goal)) for c in measured]
    if deep:
        say("lazy or feature learning")
        measured = _placed(measured, view.small, horizon)
    baseline = baseline_of(drawn.targets, drawn.labels)
    if trials:
        targets = torch.as_tensor(drawn.targets)
        measured, more = run_off(measured, view.inputs_of, targets, horizon, baseline, say)
        notes += more
    ranked = rank(measured, horizon, symmetries, baseline)
    return Profile(
        data=ready.name,
        task=ready.task,
        n_train=len(ready.train),
        pilot=len(drawn),
        horizon=horizon,
        target_error=goal,
        baseline=baseline,
        candidates=ranked,
        data_symmetries=tuple(symmetries),
        notes=(*prepared.notes, *notes, *(note for c in measured for note in c.notes), *loaded.notes),
        warnings=tuple(_warnings(ranked, len(drawn), baseline)),
        seconds=clock.perf_counter() - wall,
        cpu_seconds=clock.process_time() - cpu,
        unit=prepared.unit,
        input_shape=native.input_shape,
        kernel_shape=ready.input_shape,
        framed=hasattr(data, "columns"),
        rows=kernel_rows(ranked, horizon, goal, ready.task, prepared.unit),
        metric=Metric.MISCLASSIFICATION if ready.task == "classification" else Metric.RMSE,
    )
