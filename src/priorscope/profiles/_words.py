"""The result in sentences, as a person would say it: what to use, who else, the user's own, what more data would give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from priorscope.judge import Judgement
from priorscope.profiles._kind import Kind
from priorscope.profiles._more_data import crossing, more_data
from priorscope.profiles._naming import SHOWN, called, several, short
from priorscope.profiles._phrases import count, listed, number, sure_count
from priorscope.statistics import Interval

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["ended", "head", "how_measured", "sentences"]

_WITHIN = 1.05  # times the rows there are: up to here an error is measured, beyond forecast


# -- how an error was measured ------------------------------------------------------------------------------------------------


def _complete(result: Profile, row: Row) -> bool:
    """Whether a row was measured on all rows, as far as anybody is."""
    ladder = result.race.ladder
    return row.now[0] == ladder.sizes[-1] and row.folds >= ladder.folds


def how_measured(result: Profile, row: Row) -> str:
    """How a row's error was measured: on which rows, fitted to how many."""
    ladder, (n, _) = result.race.ladder, row.now
    if row.folds > 1 and _complete(result, row):
        return f"measured on all {result.n_train:,} rows in {row.folds} folds"
    if n == ladder.sizes[-1] and ladder.folds > 1:
        return f"measured on {row.tested:,} rows in {number(row.folds)} of {ladder.folds} folds, fitted to {n:,}"
    return f"measured on {row.tested:,} rows, fitted to {n:,} others"


def _on(result: Profile) -> str:
    return f"{'at' if result.about == 'later times' else 'on'} {result.about}"


def _beyond(result: Profile, row: Row) -> bool:
    """Whether the error at the size asked about is a forecast: it is beyond the data, or the row was not measured on all."""
    return result.to > _WITHIN * result.n_train or row.now[0] < result.race.ladder.sizes[-1]


def _value(result: Profile, row: Row) -> str:
    return f"{result.metric.number(row.estimate.value)} ({result.metric.span(row.estimate)})"


def _pick(result: Profile, row: Row) -> str:
    """The error of a row at the size asked about, how it was measured, and where it is a forecast."""
    metric, (_, now) = result.metric, row.now
    about = f"{metric.about(row.estimate.value)} {_on(result)}"
    if _beyond(result, row):
        return (
            f"{about} at {result.to:,} rows, a forecast ({metric.span(row.estimate)}); {how_measured(result, row)} it had "
            f"{metric.number(now.value)} ({metric.span(now)})"
        )
    at = "" if result.to >= result.n_train else f" at {result.to:,} rows"
    return f"{about}{at} ({metric.span(row.estimate)}), {how_measured(result, row)}"


# -- the first sentences ------------------------------------------------------------------------------------------------------


def _guess(result: Profile) -> str:
    base = result.baseline
    words = base.words
    verb = (
        "has"
        if result.metric.percent or result.metric.higher_is_better or not result.metric.in_words.startswith("off")
        else "is"
    )
    return f"{words} {verb} {result.metric.text(base.value) if verb == 'is' else result.metric.number(base.value)}"


def _gain(result: Profile, gain: float) -> str:
    """A gain over guessing in words."""
    metric, base = result.metric, result.baseline.value
    return metric.gain(base, max(base - gain, 0.0))


def _nothing(result: Profile) -> list[str]:
    """What is said where nothing was shown to beat guessing: how small a gain would have been seen."""
    best, found = result.best, result.answer.learning
    start = "Nothing seen" if result.learns is None else "Nothing to be learnt was seen"
    lines = [
        f"{start}: a gain over guessing of {_gain(result, found.gain)} or more would have shown at these "
        f"{result.race.ladder.sizes[-1] if found.rows < result.n_train else result.n_train:,} rows (tested on {found.rows:,}), "
        f"and no predictor has it. {_first_up(_guess(result))}."
    ]
    if result.learns is None:
        lines[0] += " Smaller gains cannot be told at so few rows: more rows would."
    _, now = best.now
    lines.append(
        f"The first of the table, and what build() gives, is {called(best)}: {result.metric.text(now.value)} "
        f"({result.metric.span(now)}), {how_measured(result, best)}."
    )
    return lines


def _averaged(best: Row) -> list[str]:
    """What an average averages is in its name; how, is said once."""
    if best.kind is not Kind.AVERAGE:
        return []
    return [
        "An average is fitted by fitting each of its members and predicts the mean of what they say; it was measured as one."
    ]


def _folds(result: Profile) -> list[str]:
    """Where the number of the first sentence is not the mean over folds: why."""
    best, metric = result.best, result.metric
    n, now = best.now
    if _beyond(result, best) or metric.number(now.value) == metric.number(best.estimate.value):
        return []
    why = [f"its other sizes, carried on to {result.to:,} rows, are counted in"] if len(best.curve.sizes) > 1 else []
    if result.answer.luck > 1.01:
        why.append("it was raised for the luck of having been chosen")
    told = f": {' and '.join(why)}" if why else ""
    each = "in the folds, fitted to" if best.folds > 1 else "on the rows tested, fitted to"
    return [f"Its plain error {each} {n:,} rows, was {metric.number(now.value)} ({metric.span(now)}); the figure above is for "
            f"{result.to:,}{told}."]  # fmt: skip


def _own(result: Profile) -> list[str]:
    """Every model that the user brought, by name: its error, its gap to the pick, why, and where it would catch up."""
    best = result.best
    lines = []
    for row in result.rows:
        if not row.offered or row is best:
            continue
        text = f"{_first_up(called(row))}: {_pick(result, row)}; {_beside(result, row)}"
        if row.ended:
            text += f" (not measured further: {row.ended})" if row.ended == "behind" else f" ({row.ended})"
        if row.reasons:
            text += f"; {row.reasons[0]}"
        lines.append(f"{text}.{_catches_up(result, row)}")
    if best.offered:
        rest = next((row for row in result.rows if not row.offered), None)
        if rest is not None:
            lines.append(
                f"The best beside your own is {called(rest)}: {_value(result, rest)}; {_beside(result, rest)}."
            )
    measured = {row.name for row in result.rows}
    for record in result.race.records.values():
        name = record.contender.name
        if record.contender.offered and name not in measured:
            lines.append(f"Your model {name} has no error: {record.failed or 'the budget ended before its first fit'}.")
    return lines


def _beside(result: Profile, row: Row) -> str:
    """The gap to the first row, and what can be said of it."""
    said = {
        Judgement.WORSE: "clearly worse than the first",
        Judgement.LEVEL: "level with the first",
        Judgement.UNSURE: "not to be told apart from the first",
        Judgement.BETTER: "not to be told apart from the first",
    }[row.standing or Judgement.LEVEL]
    if row.standing is not Judgement.WORSE or row.ratio is None:
        return said
    metric, gap = result.metric, row.estimate.value - result.best.estimate.value
    points = f" ({100 * gap:.1f} points more)" if metric.percent and gap > 0 else ""
    return f"{said}, {row.ratio.value:.1f} times its error{points}"


def _times(row: Row) -> float:
    """The error of a row over that of the first, without what the first was raised by for having been chosen."""
    return row.ratio.value if row.ratio is not None else 1.0


def _catches_up(result: Profile, row: Row) -> str:
    """At which size a row behind the first would reach it, by both curves."""
    if row.standing is not Judgement.WORSE:
        return ""
    n = crossing(result, row)
    if n is None:
        return f" It is not forecast to catch up within {count(100 * result.to)} rows."
    return f" It is forecast to catch up at about {count(n)} rows."


# -- the others ---------------------------------------------------------------------------------------------------------------


def _others(result: Profile) -> list[str]:
    """Who is level, who cannot be told apart and what would settle it, who is worse."""
    rest = [row for row in result.rows[1:] if row.learns is not False]
    level = [row for row in rest if row.standing is Judgement.LEVEL]
    unsure = [row for row in rest if row.standing in (Judgement.UNSURE, Judgement.BETTER)]
    worse = [row for row in rest if row.standing is Judgement.WORSE]
    idle = [row for row in result.rows[1:] if row.learns is False]
    lines = []
    metric = result.metric
    if level:
        shown = [f"{short(row)} ({metric.number(row.estimate.value)})" for row in level[:SHOWN]]
        more = [f"{number(len(level) - SHOWN)} more"] if len(level) > SHOWN else []
        lines.append(f"Level with it: {listed([*shown, *more])}.")
    if unsure:
        one = len(unsure) == 1
        who = (
            f"{short(unsure[0])} ({metric.number(unsure[0].estimate.value)})" if one else f"{number(len(unsure))} more"
        )
        names = "" if one else f" ({several(unsure)})"
        lines.append(
            f"{_first_up(who)} cannot be told apart from it yet{names}: {_spanned(result, [result.best, *unsure])}. "
            f"{_settles(result, [result.best, *unsure])}"
        )
    if worse:
        near = min(worse, key=lambda r: _times(r))
        least = f"{short(near)}, {_times(near):.1f} times its error" if np.isfinite(_times(near)) else short(near)
        one = len(worse) == 1
        lines.append(f"{_first_up(least)}, is clearly worse." if one else
                     f"{_first_up(sure_count(len(worse)))} are clearly worse, the nearest {least}.")  # fmt: skip
    if idle:
        sizes = sorted({row.now[0] for row in idle})
        where = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        lines.append(f"No better than guessing when fitted to {where} rows: {several(idle)}.")
    return lines


def _spanned(result: Profile, rows: Sequence[Row]) -> str:
    """What the estimates of a group span."""
    metric = result.metric
    values = [row.estimate.value for row in rows]
    low, high = min(values), max(values)
    if metric.number(low) == metric.number(high):
        return f"all have about {metric.number(low)}"
    return f"all between {metric.span(Interval(low, low, high))}"


def _settles(result: Profile, rows: Sequence[Row]) -> str:
    """What would tell the rows of a group apart: more time where something is left to measure, else more rows."""
    open_ = [row for row in rows if not _complete(result, row)]
    if open_ and result.race.ended in ("budget", "stopped"):
        who = "what is left to measure of them" if len(open_) > 1 else f"{short(open_[0])} on all rows"
        return f"Another minute would settle some of it (rep.continue_(60)): {who}."
    if result.to > _WITHIN * result.n_train:
        return "All were measured on all there is; only more rows would settle what holds beyond them."
    return "All were measured on all there is; only more rows would settle it, and any of them will do." if not open_ else (
        "Those behind were not measured on all rows; more rows would settle it.")  # fmt: skip


# -- all of it ----------------------------------------------------------------------------------------------------------------


def ended(result: Profile) -> list[str]:
    """Why the race stopped before all was measured, and how it goes on."""
    race = result.race
    if race.ended == "stopped":
        return [
            "Stopped by hand: this is the answer so far, all that was measured is kept, and rep.continue_() goes on from here."
        ]
    if race.ended != "budget":
        return []
    chances = {row.name: row.near for row in result.rows}
    waiting = sorted((n for n in race.refused if chances.get(n, 0.0) >= 0.05), key=lambda n: -chances[n])
    who = (
        f" of {listed([*waiting[:3], f'{number(len(waiting) - 3)} more'] if len(waiting) > 3 else waiting)}"
        if waiting
        else ""
    )
    told = "The budget ended before everybody was measured on all rows; another minute would measure more"
    return [f"{told}{who} (rep.continue_(60))."]


def head(result: Profile) -> list[str]:
    """The first sentences: what to use, the metric where it was chosen, the user's own models, and the others."""
    best = result.best
    why = [result.setting.why] if result.setting.why else []
    if result.learns is not True:
        return [*_nothing(result), *why, *_own(result)]
    lines = [f"Use {called(best)}: {_pick(result, best)}.", *why]
    if best.learns is not True:
        lines.append(
            f"That it beats guessing is not shown of it alone, only of {several([r for r in result.rows if r.learns])}."
        )
    return [*lines, *_own(result), *_others(result)]


def sentences(result: Profile) -> list[str]:
    """The result in sentences, what to use first; nothing in them is decided here.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> sentences(ps.profile(x, x[:, 0], candidates=["linear"], budget=3, deep=False))[0][:26]
        'Use ridge regression (line'
    """
    lines = head(result)
    if result.learns is True:
        lines += _folds(result) + _averaged(result.best) + [f"For comparison, {_guess(result)}."]
    lines += more_data(result) + ended(result)
    lines += [f"{_first_up(reason)}." for reason in (result.best.reasons if result.learns is True else ())]
    return lines + [line for found in result.findings.values() for line in found.spoken()]


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
