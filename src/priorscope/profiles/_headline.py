"""The result in sentences, as a person would say it; nothing in them is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._phrases import count, samples
from priorscope.profiles._standing import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["called", "head", "sentences"]

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def called(row: Row) -> str:
    """A row in a sentence: its kind and the name that goes with it.

    Networks share the name of their architecture with its kernel machine, so the kind always stands before it.
    """
    if row.kind is Kind.KERNEL:
        return f"the kernel machine {row.name}"
    if row.kind is Kind.NETWORK:
        return f"the network {row.architecture or row.name}"
    return f"your estimator {row.name}" if row.kind is Kind.ESTIMATOR else row.name


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _number(n: int) -> str:
    return _NUMBERS[n] if n < len(_NUMBERS) else str(n)


def _rest(rows: Sequence[Row], told: set[str]) -> list[str]:
    """What is said of rows that were not named yet."""
    left = [r for r in rows if r.name not in told]
    lines = []
    for states, words in (
        ((Standing.WORSE, Standing.LITTLE_WORSE), ("is worse", "are worse")),
        ((Standing.UNSURE,), ("has a higher estimate, with too wide an interval to be sure",
                             "have higher estimates, with too wide intervals to be sure")),
        ((Standing.LEARNS_NOTHING,), ("learns nothing", "learn nothing")),
    ):  # fmt: skip
        n = sum(r.standing in states for r in left)
        if n:
            who = "The other one" if n == len(left) == 1 else f"The other {_number(n)}" if n == len(left) else None
            who = who or f"{_number(n).capitalize()} more"
            lines.append(f"{who} {words[n > 1]}.")
    return lines


def _nothing(result: Profile) -> list[str]:
    """The head where no predictor is sure to beat one that does not look at its input."""
    best, metric = result.best, result.metric
    base = f"{metric.text(result.baseline.value)} by {result.baseline.words}"
    now = f"{called(best)}, {metric.text(best.estimate.value)} ({metric.span(best.estimate)})"
    if best.standing is Standing.LEARNS_NOTHING:
        return [f"Nothing tried here is forecast to learn anything from {result.to:,} samples: the lowest is {now}, no "
                f"better than {base}."]  # fmt: skip
    return [f"Nothing tried here is sure to learn anything from {result.to:,} samples: the lowest is {now}, against "
            f"{base}."]  # fmt: skip


def head(result: Profile) -> list[str]:
    """Which predictor to use, which are level with it, the best of the other kinds, and what of the rest."""
    best, metric = result.best, result.metric
    if not best.standing.learns:
        return _nothing(result)
    level = [r for r in result.rows if r.standing is Standing.LEVEL]
    told = {best.name, *(r.name for r in level)}
    lines = [
        f"Use {called(best)}: {metric.about(best.estimate.value)} at {result.to:,} samples "
        f"({metric.span(best.estimate)})."
    ]
    if level:
        shown = [f"{called(r)} ({metric.number(r.estimate.value)})" for r in level[:4]]
        more = [f"{_number(len(level) - 4)} more"] if len(level) > 4 else []
        lines.append(f"Level with it: {_listed([*shown, *more])}.")
    if best.kind is Kind.CLASSICAL or best.kind is Kind.ESTIMATOR:
        kinds: tuple[Kind, ...] = (Kind.KERNEL, Kind.NETWORK)
    else:
        kinds = (Kind.ESTIMATOR, Kind.CLASSICAL, Kind.NETWORK if best.kind is Kind.KERNEL else Kind.KERNEL)
    for kind in kinds:
        row = result.best_of(kind)
        if row is None or row.name in told:
            continue
        told.add(row.name)
        who = called(row).removeprefix("the network ") if kind is Kind.NETWORK else called(row)
        start = f"If you want a network, {who}" if kind is Kind.NETWORK else f"{who[0].upper()}{who[1:]}"
        lines.append(f"{start}: {metric.number(row.estimate.value)}.")
    return lines + _rest(result.rows, told)


def sentences(result: Profile) -> list[str]:
    """The head in one line, then what the reader asks next: against what, how many samples, why."""
    best, metric = result.best, result.metric
    lines = [" ".join(head(result))]
    n, now = best.now
    lines.append(
        f"Measured on {_listed_draws(result)}: {metric.text(now.value)} ({metric.span(now)}) when trained on {n:,} of them"
        f"{_lucky(result)}; {result.baseline.words} {'is' if metric is Metric.RMSE else 'gives'} "
        f"{metric.text(result.baseline.value)}."
    )
    if not best.learns:
        return lines
    beside = [m.text(i.value) for m, i in best.beside.items() if m is not Metric.SQUARED_ERROR]
    if beside:
        lines.append(f"Other measures of {called(best)} at {result.to:,} samples: {', '.join(beside)}.")
    if best.needed.reached:
        lines.append(f"{metric.aim(result.target_error)}, it should take about {samples(best.needed)} samples.")
    elif metric.number(result.target_error) != metric.number(best.estimate.value):
        far = count(float(best.curve.grid[-1]))
        lines.append(f"{metric.aim(result.target_error)}, more than {far} samples would be needed.")
    lines += [f"{reason[0].upper()}{reason[1:]}." for reason in (*best.reasons, *result.advice)]
    return lines + [line for found in result.findings.values() for line in found.spoken()]


def _lucky(result: Profile) -> str:
    """A word where the error measured last lies below its forecast at more samples: its other sizes speak against it."""
    best, metric = result.best, result.metric
    n, now = best.now
    if now.value >= best.estimate.value or metric.number(now.value) == metric.number(best.estimate.value):
        return ""
    return f" (with luck: its other sizes say {metric.number(best.curve.at(n).value)} there)"


def _listed_draws(result: Profile) -> str:
    if result.draws == 1:
        return f"a pilot of {result.pilot:,} samples"
    return f"{_number(result.draws)} pilots of {result.pilot:,} samples"
