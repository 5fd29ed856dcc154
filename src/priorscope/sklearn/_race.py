"""The race of a few settings on rows kept aside, within the seconds there are, and the fit of the best to all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.multioutput import MultiOutputRegressor

from priorscope.inference import Ended, processor_seconds
from priorscope.sklearn._estimator import Estimator, class_scores, gives_probabilities
from priorscope.sklearn._inner_split import inner_folds, inner_split
from priorscope.sklearn._loss import Problem, losses, probabilities, temperature
from priorscope.sklearn._settings import Kind, Situation
from priorscope.sklearn._targets import Targets

__all__ = ["Race", "scores_of"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
_SHARE = 0.2  # of the rows, kept aside to choose by
_FEW = 1000  # rows up to which several parts take turns
_TIMED = 5  # trees that are timed before the seconds are shared out
_LEAST = 10  # trees


def scores_of(estimator: object, rows: Array, beta: float) -> Array:
    """Probabilities of the classes 0, 1, …: the estimator's own, or its margins through a softmax at ``beta``."""
    found = class_scores(estimator, rows)
    return found if gives_probabilities(estimator) else probabilities(found, beta)


class Race:
    """Settings of one kind on one problem; ``deadline`` is a reading of :func:`priorscope.inference.processor_seconds`.

    Example:
        >>> from priorscope.sklearn._settings import KINDS
        >>> from priorscope.sklearn._targets import read_targets
        >>> rows = np.random.default_rng(0).normal(size=(60, 2))
        >>> race = Race(KINDS["linear"], rows, read_targets(rows @ [1.0, 2.0], None), Situation(60, 2, 0, 0), None)
        >>> race.run().predict(rows[:1]).shape, len(race.losses)
        ((1,), 5)
    """

    def __init__(self, kind: Kind, rows: Array, given: Targets, here: Situation, deadline: float | None) -> None:
        self.kind, self.rows, self.given, self.here, self.deadline = kind, rows, given, here, deadline
        flat = given.scaled[:, 0] if given.scaled.shape[1] == 1 else given.scaled
        self.targets: NDArray[np.generic] = flat if given.labels is None else given.labels
        self.losses: dict[int, float] = {}
        self.beta, self.ended = 1.0, str(Ended.STEPS)

    @property
    def _left(self) -> float:
        return np.inf if self.deadline is None else self.deadline - processor_seconds()

    def run(self) -> Estimator:
        """The best of the settings that there was time for, fitted to all rows, or to as many as there was time for."""
        settings = [self._one_per_target(made) for made in self.kind.settings(self.here)]
        splits = self._splits()
        rows = np.arange(len(self.rows))
        if self.deadline is not None:
            rows = self._planned(settings)
        found: list[tuple[float, int, Estimator, float]] = []
        spent = 0.0
        for number, setting in enumerate(settings if splits and len(rows) == len(self.rows) else []):
            if spent + self._final * spent / len(splits) > self._left or self._left < 0:
                self.ended = str(Ended.SECONDS)
                break
            started = processor_seconds()
            loss, chosen, beta = self._tried(setting, splits)
            spent = processor_seconds() - started
            self.losses[number] = loss
            found.append((loss, number, chosen, beta))
        best, self.beta = min(found)[2:] if found else (settings[0], 1.0)
        return best.fit(self.rows[rows], self.targets[rows])

    @property
    def _final(self) -> float:
        """What the last fit costs, in fits of a setting on one split."""
        return self.kind.trees / self.kind.raced_trees if self.kind.grows and not self.kind.stopped else 1.3

    def _one_per_target(self, made: Estimator) -> Estimator:
        """One model per target, where the kind takes only one."""
        columns = self.targets.shape[1] if self.targets.ndim == 2 else 1
        return MultiOutputRegressor(made) if columns > 1 and self.kind.single else made

    def _splits(self) -> list[tuple[Index, Index]]:
        """Parts that take turns where rows are few, one part where they are many; none below ten rows."""
        if len(self.rows) < 10:
            return []
        if len(self.rows) <= _FEW:
            return inner_folds(self.given, self.kind.folds, self.here.seed)
        return [inner_split(self.given, _SHARE, self.here.seed)]

    def _tried(self, setting: Estimator, splits: list[tuple[Index, Index]]) -> tuple[float, Estimator, float]:
        """Loss on the rows kept aside, the setting as it is to be fitted to all rows, and the softmax that suits its margins."""
        scores, parts, trees = [], [], []
        for train, held in splits:
            made = clone(setting)
            x, y = self.rows[train], self.targets[train]
            stopped = None if isinstance(made, MultiOutputRegressor) else self.kind.stopped
            if stopped is not None:
                trees.append(stopped(made, x, y, self.rows[held], self.targets[held]))
            else:
                self._set_trees(made, self.kind.raced_trees).fit(x, y)
            parts.append(held)
            raw = class_scores(made, self.rows[held]) if self.here.classes else made.predict(self.rows[held])
            scores.append(raw.reshape(len(held), -1))
            margins = bool(self.here.classes) and not gives_probabilities(made)
        held, found = np.concatenate(parts), np.concatenate(scores)
        labels = self.given.labels
        problem = Problem(self.given.scaled, labels, np.ones(len(self.rows))).part(held)
        beta = 1.0
        if margins and labels is not None:
            beta = temperature(found, labels[held], np.ones(len(held)))
            found = probabilities(found, beta)
        chosen = clone(setting)
        if trees:
            chosen = self._set_trees(chosen, round(float(np.mean(trees)) * 1.1) + 1)
        return float(losses(found, problem, "squared").mean()), chosen, beta

    def _set_trees(self, made: Estimator, trees: int) -> Estimator:
        if self.kind.grows is None:
            return made
        inner = made.estimator if isinstance(made, MultiOutputRegressor) else made
        now = inner.get_params()[self.kind.grows]
        assert isinstance(now, int)
        inner.set_params(**{self.kind.grows: min(now, trees)})
        return made

    def _planned(self, settings: list[Estimator]) -> Index:
        """Cut trees, else rows, so that at least one fit of the first setting is done in time; the rows to fit at last."""
        n, everything = len(self.rows), np.arange(len(self.rows))
        if self.kind.grows is not None:
            started = processor_seconds()
            self._set_trees(clone(settings[0]), _TIMED).fit(self.rows, self.targets)
            per_tree = (processor_seconds() - started) / _TIMED
            fits = 2.3 if self.kind.stopped else 1.5
            most = max(int(self._left / (fits * per_tree)), _LEAST)
            if most < self.kind.trees:
                self.ended = str(Ended.SECONDS)
            for made in settings:
                self._set_trees(made, most)
            return everything
        if n < _FEW:
            return everything
        share = 0.125
        some = inner_split(self.given, share, self.here.seed)[1]
        started = processor_seconds()
        clone(settings[0]).fit(self.rows[some], self.targets[some])
        whole = (processor_seconds() - started) * (1 / share) ** self.kind.exponent(n)
        if 2.3 * whole < self._left:
            return everything
        self.ended = str(Ended.SECONDS)
        fits = min(max(self._left / whole, 0.02) ** (1 / self.kind.exponent(n)), 1.0)
        return everything if fits >= 1 else inner_split(self.given, fits, self.here.seed)[1]
