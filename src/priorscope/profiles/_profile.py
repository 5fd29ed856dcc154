"""The flagship: what to deploy for this data, how wrong it will be, and why."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd
from sklearn.base import BaseEstimator

from priorscope.checks import FRACTION, POSITIVE, SEED, checked, optional, whole
from priorscope.contracts import name_of
from priorscope.data import Data, Dataset, Values, as_dataset
from priorscope.models import SampledModel, Scaling
from priorscope.probes import CautionKind, LabelMove, label_moves
from priorscope.probes.curves.pilot import prepare
from priorscope.profiles._architecture import Grams, deepened, measure_architecture
from priorscope.profiles._baseline import Baseline, baseline_of
from priorscope.profiles._candidates import Candidate, default_candidates, named_candidate
from priorscope.profiles._choose_metric import choose_metric
from priorscope.profiles._held_out import HeldOut
from priorscope.profiles._kernel_distance import Distance
from priorscope.profiles._memory import resident
from priorscope.profiles._metric import Metric
from priorscope.profiles._predictors import Predictors
from priorscope.profiles._progress import Progress, Step
from priorscope.profiles._result import CandidateProfile, Profile
from priorscope.profiles._robust import heavy_tails, outliers, rare_classes, skewed
from priorscope.profiles._row import Row
from priorscope.profiles._scene import Scene
from priorscope.profiles._user_model import load_model, user_candidate
from priorscope.profiles._user_network import UserNetwork
from priorscope.profiles._view import View, look
from priorscope.profiles._why import augmentation, reasons
from priorscope.profiles.sections import SECTIONS, Finding
from priorscope.profiles.sources import SOURCES

__all__ = ["profile"]

_DEEP = 3  # architectures whose blind spots and regime are measured: the first ones, beside networks of the user
_KERNEL, _CLASSICAL, _NETWORK = 2.0, 1.0, 5.0  # work of one, about in seconds, for the time left


def _collect(
    data: Dataset,
    native: Dataset,
    models: Sequence[object] | None,
    candidates: Sequence[object] | None,
    scaling: Scaling,
) -> tuple[list[Candidate], list[tuple[str, BaseEstimator]], list[str]]:
    """List the candidates to compare, the default ones or those given, under distinct names; estimators; and notes."""
    shape, outputs, sample = native.input_shape, data.n_outputs, native.inputs
    estimators: list[tuple[str, BaseEstimator]] = []
    found: list[Candidate] = []
    notes: list[str] = []
    names: dict[str, int] = {}

    def named(name: str) -> str:
        names[name] = names.get(name, 0) + 1
        return name if names[name] == 1 else f"{name}#{names[name]}"

    def take(model: object) -> None:
        if isinstance(model, BaseEstimator):
            estimators.append((named(name_of(model)), model))
            return
        if isinstance(model, Candidate):
            made = model
        elif isinstance(model, str):
            made = named_candidate(model, data.input_shape) or load_model(model, shape, outputs, sample, scaling)
        else:
            made = user_candidate(model, None, shape, outputs, sample, scaling)
        found.append(replace(made, name=named(made.name)))
        notes.extend(made.model.notes if isinstance(made.model, UserNetwork | SampledModel) else ())

    given: Sequence[object] | None = candidates
    if given is None:
        given, left_out = default_candidates(data.input_shape)
        notes += left_out
    for model in (*given, *(models or ())):
        take(model)
    if not found and not estimators:
        raise ValueError("profile needs at least one candidate; give models= or leave candidates at its default.")
    return found, estimators, notes


def _warnings(
    rows: Sequence[Row], measured: Sequence[CandidateProfile], view: View, baseline: Baseline, to: int
) -> list[str]:
    """What to be careful about: of the pilot, of the first row in full, of the others by kind."""
    notes = []
    pilot = view.design.n
    if pilot < 100:
        notes.append(f"only {pilot} samples: order and errors are guesses; collect more before deciding")
    if to > 8 * pilot:
        notes.append(
            f"{to:,} samples are more than 8 times the pilot of {pilot}: take a larger pilot for a surer answer"
        )
    noise = not rows[0].learns
    said = {CautionKind.SMALL_PILOT, CautionKind.TOO_FAR, *([CautionKind.NOTHING_LEARNT] if noise else [])}
    first = next((c for c in measured if c.name == rows[0].architecture), None)
    if first is not None:
        notes += [f"{first.name}: {caution}" for caution in first.forecast.cautions if caution.kind not in said]
    if first is not None and first.regime is not None and first.regime.distance is Distance.FAR:
        notes.append(f"{first.name}: {first.regime.reading}")
    if noise:
        notes.append(f"no predictor clearly beats {baseline.words}: to all of them the target looks like noise")
    return notes


def _with_reasons(
    rows: Sequence[Row], measured: Sequence[CandidateProfile], symmetries: Sequence[LabelMove]
) -> tuple[Row, ...]:
    """Rows with the reasons of their architectures after their own."""
    by_name = {c.name: c for c in measured}
    told = []
    for row in rows:
        c = by_name.get(row.architecture or "")
        more = (row.words,) if c is None else reasons(c, symmetries)
        told.append(replace(row, reasons=(*more[:1], *row.reasons, *more[1:])))
    return tuple(told)


def _bar() -> Callable[[Step], None]:
    """A bar with the time left on the terminal."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(TextColumn("{task.description}"), BarColumn(), transient=True)
    task = bar.add_task("profiling", total=1.0)
    bar.start()

    def show(step: Step) -> None:
        bar.update(task, completed=step.done, description=str(step))
        if step.done >= 1.0:
            bar.stop()

    return show


@checked(
    to=optional(whole(2)),
    pilot=whole(),
    target_error=optional(POSITIVE),
    resize=optional(whole(2)),
    level=FRACTION,
    seed=SEED,
)
def profile(
    data: Data,
    y: Values | None = None,
    *,
    target: str | int | None = None,
    classes: str | None = None,
    models: Sequence[object] | None = None,
    candidates: Sequence[object] | None = None,
    to: int | None = None,
    metric: Metric | str | None = None,
    pilot: int = 300,
    target_error: float | None = None,
    resize: int | None = None,
    deep: bool = True,
    trials: bool = True,
    classical: bool | None = None,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[Step], None] | bool | None = None,
) -> Profile:
    """What to deploy for this data: kernel machine, network or classical model, and how wrong it will be at ``to`` samples.

    ``data`` is anything that :func:`priorscope.data.as_dataset` takes: inputs with ``y``, a frame with its ``target`` column, a
    path, a name such as "digits", a torch data set or loader, a bunch of scikit-learn, a ``Dataset``. ``classes`` is the label
    scheme. Gaps among the inputs are filled in, and told.

    Three kinds of predictors are measured on parts of a pilot and tested on samples that took no part: kernel machines
    of architectures at infinite width (closed form, ridge tuned), networks trained until they stop improving, and
    classical models of scikit-learn. Their curves are carried to ``to`` samples, and one table sorts them.

    Args: ``models`` are compared beside the default candidates, ``candidates`` instead of them; each is an Architecture, an
    ``nn.Module``, a factory, an estimator of scikit-learn, or a text: a name of the table (``fcn-3``, ``gap-2-erf``),
    ``package.module:factory`` or ``timm:name``. ``to`` is the size asked about
    (default: the number of samples given). ``metric`` is a :class:`Metric` or its name (default:
    misclassification, balanced error where a class is rare; root mean square for numbers). ``pilot`` is the number of samples
    of one draw; up to three draws are made where the data allow. ``target_error`` is the value of the metric whose sample cost is
    asked (default: half of what the first row has on the pilot), ``resize`` the side to which larger images are averaged for
    kernels, ``deep`` whether blind spots and regimes of the first architectures are measured, ``trials`` whether
    networks are trained, ``classical`` whether classical models are fitted
    (default: unless ``candidates`` are given). ``progress`` is True for a bar, or a function that is
    called with a :class:`str` for each step, which has the share ``done`` and the seconds ``left``.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0], deep=False, trials=False)
        >>> rep.task, rep.to, rep.best.kind in (ps.profiles.Kind.KERNEL, ps.profiles.Kind.CLASSICAL)
        ('regression', 60, True)
    """
    wall, cpu = clock.perf_counter(), clock.process_time()
    steps = Progress(_bar() if progress is True else progress or None)
    loaded = as_dataset(data, y, target=target, classes=classes, test_fraction=0.0, missing="median")
    prepared = prepare(loaded, pilot, resize=resize)
    ready, view = prepared.data, look(prepared, seed)
    n = view.design.n
    asked = len(ready.train) if to is None else to
    measure, notes = choose_metric(metric, view.truth)
    scaling = Scaling.between(prepared.original.inputs[view.index[:n]], view.native.inputs)
    found, estimators, more = _collect(ready, view.native, models, candidates, scaling)
    notes += more
    classical = candidates is None if classical is None else classical
    predictors = Predictors(view, measure, asked, level, seed, steps)
    kernels = len(found) + 2 * (candidates is None)
    steps.expect(
        _KERNEL * kernels
        + _CLASSICAL * (4 * classical + len(estimators))
        + _NETWORK * min(kernels, 6) * trials
        + sum(section.work for section in SECTIONS.values() if deep or not section.deep)
    )
    megabytes = resident()
    measured: list[CandidateProfile] = []
    seen: Grams = {}

    def add(candidate: Candidate) -> None:
        steps.say(f"kernel of {candidate.name}", _KERNEL)
        made, grams = measure_architecture(candidate, view, max(asked, n), megabytes, level, seed)
        measured.append(made)
        if grams:
            seen[candidate.name] = grams["ntk"]
            predictors.add_kernel(made, grams)

    for candidate in found:
        add(candidate)
    symmetries = label_moves(view.pilot.inputs, view.pilot.targets, view.pilot.labels).found
    scene = Scene(view, measure, asked, level, seed, symmetries)
    if candidates is None:
        for source in SOURCES.values():
            for offer in source.offer(scene.grown(measured, seen, predictors.so_far())):
                add(offer) if isinstance(offer, Candidate) else predictors.add_offer(offer)
    if classical:
        predictors.add_classical()
    predictors.add_estimators(estimators)
    if trials or not predictors.rows:
        predictors.add_networks(measured)
    if not predictors.rows:
        raise ValueError(f"nothing could be measured: {'; '.join(predictors.notes)}.")
    baseline = baseline_of(view.truth.targets, view.truth.labels, measure, view.truth.unit)
    rows, goal = predictors.finished(baseline.value, target_error)
    if deep:
        steps.say("blind spots, lazy or feature learning", _NETWORK)
        measured = _deepened(measured, rows, view)
    rows = _with_reasons(rows, measured, symmetries)
    held = predictors.ahead[rows[0].name].held
    findings, refused = _findings(scene.grown(measured, seen, rows, predictors.trials), steps, deep=deep)
    steps.finish()
    return Profile(
        data=ready.name,
        task=ready.task,
        n_train=len(ready.train),
        pilot=n,
        horizon=asked,
        target_error=goal,
        baseline=baseline,
        candidates=tuple(measured),
        data_symmetries=symmetries,
        notes=(
            *prepared.notes,
            *notes,
            *predictors.notes,
            *(x for c in measured for x in c.notes),
            *loaded.notes,
            *refused,
        ),
        warnings=(
            *_warnings(rows, measured, view, baseline, asked),
            *_of_data(prepared.original, view, held, rows[0]),
            *(care for found in findings.values() for care in found.warnings()),
        ),
        seconds=clock.perf_counter() - wall,
        cpu_seconds=clock.process_time() - cpu,
        unit=prepared.unit,
        input_shape=view.native.input_shape,
        kernel_shape=ready.input_shape,
        framed=isinstance(data, pd.DataFrame),
        rows=rows,
        metric=measure,
        draws=view.design.draws,
        findings=findings,
        advice=augmentation(symmetries, next((c for c in measured if c.name == rows[0].architecture), None)),
    )


def _findings(scene: Scene, steps: Progress, *, deep: bool) -> tuple[dict[str, Finding], list[str]]:
    """What the sections found, by name, and notes on those that refused the data."""
    found: dict[str, Finding] = {}
    refused = []
    for section in SECTIONS.values():
        if section.deep and not deep:
            continue
        steps.say(section.name.replace("-", " "), section.work)
        try:
            made = section.measure(scene)
        except ValueError as error:
            refused.append(f"{section.name.replace('-', ' ')}: not measured ({error})")
            continue
        if made is not None:
            found[section.name] = made
    return found, refused


def _deepened(measured: list[CandidateProfile], rows: Sequence[Row], view: View) -> list[CandidateProfile]:
    """Blind spots and regimes of the first architectures in the table and of networks of the user; the best FCN is placed."""
    order = list(dict.fromkeys(r.architecture for r in rows if r.architecture is not None))
    first = set(order[:_DEEP]) | {c.name for c in measured if isinstance(c.candidate.model, UserNetwork)}
    dense = next((name for name in order for c in measured if c.name == name and c.candidate.family == "fcn"), None)
    found = [deepened(c, view, place=c.name == dense) if c.name in {*first, dense} else c for c in measured]
    return sorted(found, key=lambda c: order.index(c.name) if c.name in order else len(order))


def _of_data(data: Dataset, view: View, held: HeldOut, first: Row) -> list[str]:
    """What to be careful about in the data."""
    regression = view.truth.labels is None
    said = outliers(view.inputs, view.truth.targets, view.index, regression, held)
    if regression:
        said += heavy_tails(held, first.name) + skewed(data.targets[view.index].double().numpy())
    return said + rare_classes(view.truth.labels, view.truth.classes, data.classes)
