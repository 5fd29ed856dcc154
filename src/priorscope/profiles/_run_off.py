"""A run-off between candidates that forecasts do not tell apart: their networks are trained on the pilot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from priorscope.profiles._candidates import is_kernel_family
from priorscope.profiles._trial import Recipe, cost, trial
from priorscope.profiles._user_network import UserNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

    from priorscope.profiles._baseline import Baseline
    from priorscope.profiles._result import CandidateProfile

__all__ = ["rivals", "run_off"]

_NEAR = 1.15  # times the lowest forecast up to which a candidate takes part
_MOST = 6  # candidates that take part
_FEWEST = 20  # samples of the pilot below which folds are too small to train on
_BUDGET = 1e12  # floating-point operations of all trials together: within a minute on one core
_CHANNELS = (32, 16, 8)  # of convolutional networks: the most that fits the budget
_STEPS = Recipe()


def _trainable(c: CandidateProfile, pilot: int, outputs: int) -> bool:
    """Whether it has networks, with an output for each target, and was measured on the whole pilot."""
    model = c.candidate.model
    if c.forecast.curve.pilot != pilot:
        return False
    if isinstance(model, UserNetwork):
        return model.given >= outputs
    return is_kernel_family(model)


def rivals(measured: list[CandidateProfile], horizon: int, baseline: Baseline, outputs: int) -> list[CandidateProfile]:
    """The lowest forecast and those up to 15 % above that are not told apart from it; fewer than two: none."""
    order = sorted(measured, key=lambda c: c.forecast.at(horizon).value)
    first = order[0]
    pilot = first.forecast.curve.pilot
    if pilot < _FEWEST or not baseline.beaten(first.forecast, horizon) or not _trainable(first, pilot, outputs):
        return []
    limit = _NEAR * first.forecast.at(horizon).value
    found = [first]
    for c in order[1:]:
        near = c.forecast.at(horizon).value <= limit and _trainable(c, pilot, outputs)
        if near and c.forecast.ratio_to(first.forecast, horizon).contains(1.0):
            found.append(c)
    return found[:_MOST] if len(found) > 1 else []


def _affordable(
    found: list[CandidateProfile], inputs: Callable[[CandidateProfile], Tensor], outputs: int
) -> tuple[list[CandidateProfile], Recipe]:
    """Who takes part within the budget, and with how many channels: all with fewer channels rather than some with more."""
    recipe = _STEPS
    affordable: list[CandidateProfile] = []
    for channels in _CHANNELS:
        recipe = replace(_STEPS, channels=channels)
        affordable, spent = [], 0.0
        for c in found:
            price = cost(c.candidate, inputs(c), outputs, recipe)
            if spent + price <= _BUDGET:
                affordable.append(c)
                spent += price
        if len(affordable) == len(found):
            break
    return affordable, recipe


def run_off(
    measured: list[CandidateProfile],
    inputs: Callable[[CandidateProfile], Tensor],
    targets: Tensor,
    horizon: int,
    baseline: Baseline,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[list[CandidateProfile], list[str]]:
    """The candidates, with a trial where they took part in the run-off, and notes on those that should have and did not."""
    outputs = targets.shape[1]
    found = rivals(measured, horizon, baseline, outputs)
    part, recipe = _affordable(found, inputs, outputs) if found else ([], _STEPS)
    names = [c.name for c in part]
    slow = [c.name for c in found if c.name not in names]
    notes = [f"{name}: training it on the pilot would take too long; ranked by its forecast" for name in slow]
    if len(part) < 2 or found[0].name in slow:
        return measured, notes
    trials = {}
    for c in part:
        say(f"{c.name}: networks trained on the pilot")
        try:
            made = trial(c.candidate, inputs(c), targets, c.forecast.curve, recipe)
        except Exception as error:  # a user's network may fail in training mode; all else that was measured stays
            notes.append(f"{c.name}: could not be trained on the pilot ({error}); ranked by its forecast")
            continue
        if made is None:
            notes.append(f"{c.name}: training on the pilot diverged at every rate; ranked by its forecast")
        else:
            trials[c.name] = made
    if len(trials) < 2:
        return measured, notes
    tried = {
        c.name: replace(c, trial=trials[c.name], seconds=c.seconds + trials[c.name].seconds)
        for c in part
        if c.name in trials
    }
    return [tried.get(c.name, c) for c in measured], notes
