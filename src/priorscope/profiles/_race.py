"""The race: everybody runs on the first rungs, those who may be best go on, until it is settled, measured or out of budget."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from priorscope.judge import Judgement, Metric, Outputs
from priorscope.profiles._contender import Contender, decided, undecided
from priorscope.profiles._kind import Kind
from priorscope.profiles._ladder import Ladder, Part
from priorscope.profiles._problem import Problem
from priorscope.profiles._record import Record, grown
from priorscope.profiles._standings import Standings, standings_of
from priorscope.profiles._trial import Trial, fitted_outputs, judged
from priorscope.sklearn import Average, balanced_classes, mean_probabilities

__all__ = ["Race"]

_CHANCE = 0.05  # of being within the margin of the best, below which a contender leaves
_SHARE = 0.5  # of the seconds left, that one trial may take
_SEEN = 3  # rungs that are seen of everybody: at first all curves are far from what they come to
_AT_FIRST = 0.1  # of the seconds left, that a trial may take of one of whom less was seen
_LITTLE = 0.03  # of the seconds left, that anybody's trial may take
_ALLOWED = 0.35  # of the seconds left, that all folds of one contender's last rung may take where it looks at the clock
_FILLED = 0.6  # of the budget, until which those who left are measured on all rows too
_MORE, _LEAST = 3.0, 20.0  # times the seconds it was measured with, and seconds at least, for what is built
_WARM = 3.0  # times the seconds believed: a first trial that takes more is timed again, for something was compiled or imported
_LEADING = 0.2  # probability of being near the best that the best of each kind is given
_CHEAP = 0.005  # of the budget: a contender that takes no more is measured whatever it may be
_MOST_AVERAGED = 4
_AVERAGED_CHANCE = 0.15  # of being near the best, from which on a contender may be a member of an average

Tell = Callable[[str, float, float], None]


def _silent(what: str, done: float, left: float) -> None:
    """Say nothing."""


@dataclass
class Race:
    """Contenders on one ladder, and what was measured of them; :meth:`run` goes on for so many processor seconds.

    ``ended`` says why it stopped: "settled", "measured" (everybody who may be best, on all rows), "budget" or "stopped".
    """

    problem: Problem
    metric: Metric
    ladder: Ladder
    to: float
    level: float = 0.9
    seed: int = 0
    records: dict[str, Record] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    spent: float = 0.0
    ended: str = ""
    seconds: float = 60.0
    refused: dict[str, tuple[int, float]] = field(
        default_factory=dict
    )  # rung and seconds of the trial not made, by contender
    _offers: list[Callable[[Race], Sequence[Contender]]] = field(default_factory=list)

    def enter(self, contenders: Sequence[Contender]) -> None:
        """Let contenders take part, under distinct names."""
        for contender in contenders:
            contender = replace(contender, estimator=decided(contender.estimator, self.metric))
            name, number = contender.name, 1
            while name in self.records:
                number += 1
                name = f"{contender.name}#{number}"
            self.records[name] = Record(contender if name == contender.name else replace(contender, name=name))

    def offer_later(self, offers: Sequence[Callable[[Race], Sequence[Contender]]]) -> None:
        """Ask these for more contenders when the second rung is measured."""
        self._offers.extend(offers)

    # -- who runs --------------------------------------------------------------------------------------------------------

    @property
    def measured(self) -> list[Record]:
        """Contenders with at least one error, in the order in which they entered."""
        return [r for r in self.records.values() if r.trials]

    @property
    def running(self) -> list[Record]:
        """Contenders that go on; averages follow their members."""
        return [r for r in self.records.values() if not r.out and not r.failed and r.contender.kind is not Kind.AVERAGE]

    def standings(self) -> Standings:
        """Where everybody stands now."""
        return standings_of(self.measured, self.ladder, self.metric, self.to, self.level, self.seed)

    def run(self, seconds: float, tell: Tell = _silent) -> None:
        """Go on for so many processor seconds; Ctrl-C ends it with what is known."""
        began = clock.process_time()
        self.seconds, end = seconds, began + seconds
        self.ended = ""
        self.refused = {}
        for record in self.records.values():
            record.out = "" if record.out == "budget" else record.out

        def say(what: str) -> None:
            used = clock.process_time() - began
            tell(what, min(used / max(seconds, 1e-9), 1.0), max(seconds - used, 0.0))

        try:
            self._climb(began, end, say)
        except KeyboardInterrupt:
            if not self.measured:
                raise
            self.ended = "stopped"
        self.spent += clock.process_time() - began
        if not self.ended:
            near = self.standings().near()
            open_ = any(near[name] >= _CHANCE for name in self.refused if name in near)
            self.ended = "budget" if open_ else "measured"

    def _climb(self, began: float, end: float, say: Callable[[str], None]) -> None:
        """One rung after another, then the other folds of the last."""
        top = self.ladder.top
        for rung in range(top + 1):
            self._fold(rung, 0, end, say)
            if rung == min(1, top):
                self._more_contenders(rung, end, say)
            if rung < top:
                for fold in range(1, self.ladder.wanted(rung)):
                    self._fold(rung, fold, end, say)
            if not self.measured:
                raise ValueError(f"nothing could be measured: {'; '.join(self.notes) or 'nobody takes part'}.")
            self._average(rung, end)
            self._leave(rung)
        for fold in range(1, self.ladder.wanted(top)):
            self._fold(top, fold, end, say)
            self._average(top, end)
            self._leave(top)
        self._again(end, say)
        self._fill(began + _FILLED * self.seconds, say)

    def _again(self, end: float, say: Callable[[str], None]) -> None:
        """Spend what is left on those who may be best and did not fit: rung by rung, the likeliest first."""
        top = self.ladder.top
        while (left := end - clock.process_time()) > 0:
            near = self.standings().near()
            able = []
            for record in self.measured:
                behind = [k for k in range(self.ladder.wanted(top)) if k not in record.trials.get(top, {})]
                if (
                    record.failed
                    or record.contender.kind is Kind.AVERAGE
                    or near[record.contender.name] < _CHANCE
                    or not behind
                ):
                    continue
                cost = record.cost(min(record.last + 1, top), self.ladder)
                if cost < _SHARE * left:
                    able.append((near[record.contender.name] / max(cost, 0.01), record, behind[0]))
            if not able:
                break
            _, record, fold = max(able, key=lambda one: one[0])
            rung = min(record.last + 1, top)
            say(f"{record.contender.name} on {self.ladder.sizes[rung]:,} rows")
            self._try(record, rung, fold if rung == top else 0, left)
            if not record.failed:
                self.refused.pop(record.contender.name, None)
            self._average(top, end)

    def _fill(self, end: float, say: Callable[[str], None]) -> None:
        """Measure those who left on all rows too, the cheapest first, while less than a share of the budget is spent."""
        top = self.ladder.top
        left = [r for r in self.measured if r.out == "behind" and not r.failed and r.contender.kind is not Kind.AVERAGE]
        for record in sorted(left, key=lambda r: r.cost(top, self.ladder)):
            for fold in range(self.ladder.wanted(top)):
                seconds = end - clock.process_time()
                if record.failed or record.cost(top, self.ladder) > 0.3 * seconds:
                    break
                if fold not in record.trials.get(top, {}):
                    say(f"{record.contender.name} on {self.ladder.sizes[top]:,} rows")
                    self._try(record, top, fold, seconds)

    def _more_contenders(self, rung: int, end: float, say: Callable[[str], None]) -> None:
        """Ask who else should take part, now that something is known, and bring them up to this rung."""
        for offer in self._offers:
            self.enter(offer(self))
        self._offers = []
        for lower in range(rung + 1):
            self._fold(lower, 0, end, say)

    def _fold(self, rung: int, fold: int, end: float, say: Callable[[str], None]) -> None:
        """One fold of one rung for all who go on: the user's own and the cheap ones first, then those most likely to be best."""
        top = self.ladder.top
        cheap = _CHEAP * self.seconds
        waiting = [r for r in self.running if fold not in r.trials.get(rung, {})]
        if fold:
            waiting = [r for r in waiting if rung in r.trials and (rung == top or r.cost(rung, self.ladder) < cheap)]
        standing = self.standings() if self.measured else None
        near = {} if standing is None else standing.near()
        for name in (
            () if standing is None else self._leaders(standing)
        ):  # the best of each kind goes on as if it might win
            near[name] = max(near[name], _LEADING)

        def place(record: Record) -> tuple[bool, bool, float, float]:
            cost = record.cost(rung, self.ladder)
            dear = cost > 2 * cheap
            return not record.contender.offered, dear, -near.get(record.contender.name, 1.0) if dear else 0.0, cost

        for record in sorted(waiting, key=place):
            left = end - clock.process_time()
            cost = self._cost(record, rung, left)
            if rung < top and record.trials and cost > 2 * cheap and (top - rung) % 2:
                continue  # a dear one takes every other rung
            if (record.trials and not self._worth(record, rung, cost, left, near)) or (left <= 0 and self.measured):
                self.refused[record.contender.name] = (rung, cost)
                record.out = "budget"
                continue
            say(f"{record.contender.name} on {self.ladder.sizes[rung]:,} rows")
            self._try(record, rung, fold, left)

    def _worth(self, record: Record, rung: int, cost: float, left: float, near: Mapping[str, float]) -> bool:
        """Whether a trial fits: little of what is left, or the way up takes no more than the chance to be best is worth."""
        if cost < (_LITTLE if self._known(record) else _AT_FIRST) * left:
            return True
        share = min(_SHARE, 0.1 + near.get(record.contender.name, 1.0))
        climb = cost if rung == self.ladder.top else cost + self._cost(record, self.ladder.top, left)
        return climb < share * left

    def _cost(self, record: Record, rung: int, left: float) -> float:
        """Processor seconds of a trial: one that looks at the clock takes hardly more than it is allowed."""
        cost = record.cost(rung, self.ladder)
        if record.contender.kind is Kind.KERNEL or not record.contender.watches:
            return cost
        return min(cost, 1.2 * self._allowed(rung, left, record.contender))

    def _known(self, record: Record) -> bool:
        """Whether enough was seen of a contender to send it away: three rungs, or as many rows as the third has."""
        return bool(record.trials) and (len(record.rungs) >= _SEEN or record.last >= min(_SEEN - 1, self.ladder.top))

    def _allowed(self, rung: int, left: float, contender: Contender) -> float:
        """Processor seconds that one trial is allowed, told to estimators that look at the clock; networks need some to begin."""
        least = 2.5 if contender.curve == "network" else 0.7
        share = self.ladder.sizes[rung] / self.ladder.sizes[-1]
        return float(max(_ALLOWED * left / self.ladder.wanted(self.ladder.top) * share**0.5, least))

    def _try(self, record: Record, rung: int, fold: int, left: float) -> None:
        """Measure one contender on one part; one that refuses the data is told and leaves, nothing else is lost."""
        part = self.ladder.part(rung, fold)
        contender = record.contender
        try:
            allowed = self._allowed(rung, left, contender)
            outputs, fit, both, notes = fitted_outputs(contender.timed(allowed), self.problem, part, contender.native)
            measured = judged(self.problem, self.metric, part, outputs)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # an optional row may not end the answer
            reason = str(error).split("\n")[0][:300]
            self.notes.append(
                f"{contender.name}: could not be fitted to {len(part.train):,} rows ({type(error).__name__}: {reason})"
            )
            record.failed = reason
            return
        if not record.trials and both > _WARM * contender.first and both < 0.1 * left:
            _, fit, both, _ = fitted_outputs(contender.timed(allowed), self.problem, part, contender.native)
        record.add(rung, fold, Trial(measured, outputs, fit, both, len(part.train), notes, allowed))

    # -- who leaves ------------------------------------------------------------------------------------------------------

    def _leave(self, rung: int) -> None:
        """Those leave who are hardly near the best and not cheap; not the user's own, nor the best of a kind below the top."""
        standing = self.standings()
        near, first, best = standing.near(), standing.order[0], self._leaders(standing)
        after = min(rung + 1, self.ladder.top)
        for record in self.running:
            name = record.contender.name
            if not self._known(record) or record.contender.offered or near.get(name, 1.0) >= _CHANCE:
                continue
            if record.cost(after, self.ladder) < (_CHEAP if rung == self.ladder.top else 4 * _CHEAP) * self.seconds:
                continue
            if name in best and rung < self.ladder.top:
                continue
            if name != first and (rung < self.ladder.top or standing.judged(name, first) is Judgement.WORSE):
                record.out = "behind"

    def _leaders(self, standing: Standings) -> set[str]:
        """The best of each kind among those who go on."""
        best: dict[Kind, str] = {}
        for name in standing.order:
            record = self.records[name]
            if not record.out and not record.failed:
                best.setdefault(record.contender.kind, name)
        return set(best.values())

    def deployed(self, record: Record) -> BaseEstimator:
        """The estimator as it was measured on its largest rung: what is named and built.

        One that looks at the clock has three times the seconds it was measured with, grown to all rows, and 20 s at least: what
        is built is not cut shorter than what was measured, and the clock hardly ever speaks.

        Members of an average are what they are in their own rows.
        """
        contender = record.contender
        if contender.kind is Kind.AVERAGE:
            members = [
                (name, undecided(self.deployed(self.records[name])))
                for name, _ in undecided(contender.estimator).members
            ]
            return decided(Average(members, task=self.problem.task), self.metric)
        last = self.ladder.sizes[record.last]
        allowed = max((t.allowed or 0.0) for t in record.trials[record.last].values())
        times = grown(last, self.problem.n, contender.exponent, contender.flattens)
        return contender.timed(float(f"{max(_MORE * allowed * times, _LEAST):.2g}"))

    # -- averages --------------------------------------------------------------------------------------------------------

    def _average(self, rung: int, end: float) -> None:
        """Averages of the leading two to four, different kinds first: chosen on the rung below the last, measured like others."""
        if rung >= max(self.ladder.top - 1, 0) and not any(
            r.contender.kind is Kind.AVERAGE for r in self.records.values()
        ):
            self._form(rung, end)
        for record in self.records.values():
            if record.contender.kind is Kind.AVERAGE:
                self._measure_average(record)

    def _form(self, rung: int, end: float) -> None:
        """Let averages of those take part who may be best and say how sure they are."""
        standing = self.standings()
        near, top = standing.near(), self.ladder.top
        most = (
            0.5 * max(end - clock.process_time(), 0.0) / self.ladder.wanted(top)
        )  # what a member may take for each fold
        able = [
            name
            for name in standing.order
            if near[name] >= _AVERAGED_CHANCE and not self.records[name].contender.offered
            and self.records[name].cost(top, self.ladder) < most
            and rung in self.records[name].trials and self._averages(self.records[name])
        ]  # fmt: skip
        kinds: set[object] = set()
        apart = []
        for name in able:
            contender = self.records[name].contender
            if (contender.kind, contender.curve) not in kinds:
                kinds.add((contender.kind, contender.curve))
                apart.append(name)
        several = (apart + [n for n in able if n not in apart])[:_MOST_AVERAGED]
        for count in range(2, len(several) + 1):
            members = several[:count]
            titles = [self.records[name].contender.name for name in members]
            inner = [(n, undecided(self.records[n].contender.estimator)) for n in members]
            average = decided(Average(inner, task=self.problem.task), self.metric)
            words = f"the average of {', '.join(titles[:-1])} and {titles[-1]}"
            self.enter([Contender(words, words, Kind.AVERAGE, average, None)])

    def _shares(self, part: Part) -> NDArray[np.float64] | None:
        """Shares of the classes among training rows, where predictions are held against them."""
        if self.metric is not Metric.BALANCED_ERROR or self.problem.n_classes is None:
            return None
        counts = np.bincount(self.problem.y[part.train], minlength=self.problem.n_classes)
        shares: NDArray[np.float64] = np.maximum(counts, 1e-9) / counts.sum()
        return shares

    def _averages(self, record: Record) -> bool:
        """Whether its outputs can be averaged: numbers, or probabilities of its own."""
        trial = next(iter(record.trials[record.last].values()))
        return trial.outputs is not None and (self.problem.n_classes is None or trial.outputs.own)

    def _measure_average(self, record: Record) -> None:
        """The average's error wherever all its members were measured, from what they said: the same as fitting it there."""
        members = [self.records[name] for name, _ in undecided(record.contender.estimator).members]
        for rung in members[0].rungs:
            for fold in members[0].folds(rung):
                if fold in record.trials.get(rung, {}):
                    continue
                trials = [m.trials.get(rung, {}).get(fold) for m in members]
                said = [t.outputs for t in trials if t is not None and t.outputs is not None]
                if len(said) < len(members):
                    continue
                part = self.ladder.part(rung, fold)
                outputs = _mean_outputs(said, self._shares(part))
                seconds = [(t.fit_seconds, t.seconds) for t in trials if t is not None]
                fit, both = (float(sum(s)) for s in zip(*seconds, strict=True))
                record.add(
                    rung,
                    fold,
                    Trial(judged(self.problem, self.metric, part, outputs), None, fit, both, len(part.train)),
                )


def _mean_outputs(said: Sequence[Outputs], shares: NDArray[np.float64] | None) -> Outputs:
    """What the average of estimators says; ``shares`` of the classes where all classes are to count alike."""
    probabilities = [o.probabilities for o in said if o.probabilities is not None]
    if not probabilities:
        return Outputs(mean_probabilities([np.asarray(o.values, dtype=float) for o in said]))
    mean = mean_probabilities(probabilities)
    return Outputs(mean.argmax(1) if shares is None else balanced_classes(mean, shares), mean)
