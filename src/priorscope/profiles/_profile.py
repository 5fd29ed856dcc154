"""The flagship: what to deploy for this data, how wrong it is, and what more data would give."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from priorscope.checks import FRACTION, POSITIVE, SEED, checked, optional, whole
from priorscope.data import Data, Values, as_dataset
from priorscope.judge import Metric
from priorscope.profiles._budget import seconds_of
from priorscope.profiles._choose_metric import choose_metric
from priorscope.profiles._contender import Contender
from priorscope.profiles._defaults import default_contenders, small_shape
from priorscope.profiles._ladder import Ladder
from priorscope.profiles._offers import offers
from priorscope.profiles._own import own_contenders
from priorscope.profiles._problem import Problem, problem_of
from priorscope.profiles._progress import Progress, Step
from priorscope.profiles._race import Race
from priorscope.profiles._result import Profile, Setting
from priorscope.threads import one_thread

__all__ = ["profile"]

_ASIDE = 0.15  # of the budget, for what else is measured of the leading architectures


def _entrants(
    problem: Problem,
    models: Sequence[object] | None,
    candidates: Sequence[object] | None,
    *,
    networks: bool,
    classical: bool,
    resize: int | None,
) -> tuple[list[Contender], list[str]]:
    """Everybody who takes part: the default contenders or those given instead, and the user's models."""
    if candidates is None:
        found, notes = default_contenders(problem, networks=networks, classical=classical, resize=resize)
    else:
        found, notes = [c for model in candidates for c in own_contenders(model, problem, offered=False)], []
    if candidates is not None and any("shrink" in c.estimator.get_params() for c in found):
        small = "×".join(map(str, small_shape(problem.shape, resize)[1:]))
        notes = [*notes, f"convolutional kernels see inputs averaged to {small}; networks see them whole"]
    found += [c for model in models or () for c in own_contenders(model, problem)]
    if not found:
        raise ValueError("profile needs at least one candidate; give models= or leave candidates at its default.")
    return found, notes


@checked(
    to=optional(whole(2)), pilot=optional(whole(8)), target_error=optional(POSITIVE), resize=optional(whole(2)), level=FRACTION,
    jobs=whole(), seed=SEED,
)  # fmt: skip
def profile(
    data: Data,
    y: Values | None = None,
    *,
    target: str | int | None = None,
    classes: str | None = None,
    models: Sequence[object] | None = None,
    candidates: Sequence[object] | None = None,
    groups: Values | None = None,
    time: Values | None = None,
    to: int | None = None,
    metric: Metric | str | Callable[[Any, Any], float] | None = None,
    budget: float | str | None = None,
    jobs: int = 1,
    pilot: int | None = None,
    target_error: float | None = None,
    resize: int | None = None,
    deep: bool = True,
    trials: bool = True,
    classical: bool | None = None,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[Step], None] | bool | None = None,
) -> Profile:
    """Say what to deploy for this data (kernel machine, network, classical model), how wrong it is and what more data would give.

    ``data`` is anything that :func:`priorscope.data.as_dataset` takes: inputs with ``y``, a frame with its ``target`` column, a
    path, a name such as "digits", a torch data set or loader, a bunch of scikit-learn, a ``Dataset``. ``classes`` is the label
    scheme. ``groups`` and ``time`` (columns or arrays) say which rows belong together and which come first: errors are then those
    of new groups, or of later times.

    It is a race: all contenders are fitted to small parts of the rows and tested on rows that took no part; those that may be
    best go on to twice the rows, up to all of them, until one of them or a level group is settled or the budget is spent. Within
    the data errors are measured; beyond, at ``to``, they are forecast (:func:`priorscope.extrapolate`). Every row of the table is
    an estimator of scikit-learn, and what is measured is what :meth:`Profile.build` gives.

    Args: ``models`` take part beside the default contenders and are answered by name, ``candidates`` take part instead; each is
    an estimator, an Architecture, an ``nn.Module``, a factory, or a text: a name of the table (``fcn-3``, ``gap-2-erf``),
    ``package.module:factory`` or ``timm:name``. ``to`` is the size asked about (default: the rows there are). ``metric``: a name
    (ours or scikit-learn's) or a function of (truth, predictions), lower being better; default: misclassification, balanced error
    where a class is rare, root mean square for numbers. ``budget`` in processor seconds or words ("2 min"; default one minute),
    ``jobs``: 1, for all is measured in one process so far. ``pilot``: the size of the first rung (default 64).
    ``target_error``: a value of the metric whose sample
    cost is asked. ``resize``: the side to which larger images are averaged for convolutional kernels. ``deep``: whether blind
    spots, symmetries and regimes of the leading architectures are measured in what is left of the budget, ``trials``: whether
    networks take part, ``classical``: whether classical models do. ``progress``: True for a bar, or a function that is called
    with a :class:`str` for each step, which has the share ``done`` and the seconds ``left``.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0], deep=False, trials=False, budget=5)
        >>> rep.task, rep.to, rep.learns
        ('regression', 60, True)
    """
    wall, began = clock.perf_counter(), clock.process_time()
    seconds = seconds_of(budget)
    if jobs > 1:
        raise ValueError(f"profile measures in one process so far; got jobs={jobs}. Leave jobs out.")
    with one_thread():
        loaded = as_dataset(
            data, y, target=target, classes=classes, test_fraction=0.0, missing="median", groups=groups, time=time
        )
        problem = problem_of(loaded, data)
        measure, why = choose_metric(metric, problem.y, problem.classes)
        entrants, notes = _entrants(
            problem, models, candidates, networks=trials, classical=candidates is None if classical is None else classical,
            resize=resize,
        )  # fmt: skip
        ladder = Ladder.of(problem.structure, first=pilot or _first(problem), seed=seed)
        race = Race(problem, measure, ladder, float(to or problem.n), level, seed)
        race.enter(entrants)
        if candidates is None:
            race.offer_later(offers())
        setting = Setting(
            target_error, deep, resize, why, (*loaded.notes, *problem.structure.notes, *notes), level, seed
        )
        steps = Progress(progress)
        aside = _ASIDE * seconds if deep else 0.0
        race.run(max(seconds - aside - (clock.process_time() - began), 0.3 * seconds), steps.tell)
        left = seconds - (clock.process_time() - began)
        made = Profile.of(race, setting, max(left, aside) if deep else 0.0, steps)
        steps.finish()
    return made.timed(clock.perf_counter() - wall, clock.process_time() - began)


def _first(problem: Problem) -> int:
    """The size of the first rung: 64, more where there are many classes, very many rows, or all classes but one are rare."""
    first = max(64, 4 * (problem.n_classes or 0))
    if problem.n_classes:  # about two rows of the second class, so that there is something to tell apart
        second = np.sort(np.bincount(problem.y, minlength=2))[-2]
        first = max(first, -(-2 * problem.n // max(int(second), 1)))
    while first * 1024 < problem.n:
        first *= 2
    return first
