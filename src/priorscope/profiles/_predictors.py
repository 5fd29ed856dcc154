"""The rows of a profile: kernel machines, networks, classical models and estimators of the user, measured one after another."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from priorscope.contracts import is_kernel_model
from priorscope.models import UserNetwork
from priorscope.printing import printed
from priorscope.probes import SamplesNeeded
from priorscope.profiles._architecture import Grams, kernel_grams
from priorscope.profiles._classical import measure_estimator, references
from priorscope.profiles._extrapolate import (
    BELIEFS,
    FEATURES,
    Ahead,
    Guide,
    bootstrap_weights,
    extrapolate,
    forecast_guide,
    ratio_of,
)
from priorscope.profiles._held_out import HeldOut
from priorscope.profiles._kernel_machine import measure_kernel
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._progress import Progress
from priorscope.profiles._ranking import ranked
from priorscope.profiles._result import CandidateProfile
from priorscope.profiles._row import EstimatorRecipe, KernelRecipe, NetworkRecipe, Recipe, Row
from priorscope.profiles._trained import measure_network, plan, trainable
from priorscope.profiles._trial import Trial
from priorscope.profiles._view import View
from priorscope.profiles.sources import EstimatorOffer
from priorscope.statistics import interpolate_over_log

__all__ = ["Predictors"]

Array = NDArray[np.float64]
_BUDGET = 4.5e11  # floating-point operations of all networks together: well within a minute of one core
_MOST = 6  # architectures of ours whose networks are trained: those with the best kernel machines
_SOLVED = 1.5e10  # operations per second of a Cholesky factorisation


@printed
@dataclass
class Predictors:
    """Measures predictors on the view and keeps their rows; all are compared on the same samples, by the same draws."""

    view: View
    metric: Metric
    to: int
    level: float
    seed: int
    progress: Progress
    notes: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    ahead: dict[str, Ahead] = field(default_factory=dict)  # by row, in the metric
    squared: dict[str, Ahead] = field(default_factory=dict)  # by row, squared error
    trials: dict[str, Trial] = field(default_factory=dict)  # by architecture
    weights: Array = field(init=False)

    def __post_init__(self) -> None:
        self.weights = bootstrap_weights(len(self.view.design), self.seed)

    def _extrapolated(self, name: str, held: HeldOut, kind: Kind, guide: Guide, metric: Metric) -> Ahead:
        belief = FEATURES if kind is Kind.KERNEL and guide.held is not None else BELIEFS[kind]
        return extrapolate(name, held, metric, guide, belief, self.to, self.weights, level=self.level)

    def _add(
        self,
        name: str,
        kind: Kind,
        words: str,
        of: str,
        held: HeldOut,
        guides: tuple[Guide, Guide],
        cost: float,
        recipe: Recipe,
        *,
        architecture: str | None = None,
        reasons: tuple[str, ...] = (),
        seconds: float = 0.0,
    ) -> None:
        """Keep a row; ``guides`` are for the metric and for squared error."""
        ahead = self._extrapolated(name, held, kind, guides[0], self.metric)
        squared = self._extrapolated(name, held, kind, guides[1], Metric.SQUARED_ERROR)
        self.ahead[name], self.squared[name] = ahead, squared
        beside = {} if self.metric is Metric.SQUARED_ERROR else {Metric.SQUARED_ERROR: squared.estimate}
        if self.metric is Metric.RMSE:
            scale = self.view.truth.variance
            value, low, high = (
                v / scale for v in (squared.estimate.value, squared.estimate.low, squared.estimate.high)
            )
            beside[Metric.R2] = replace(squared.estimate, value=value, low=low, high=high)
        unknown = SamplesNeeded(math.nan, math.inf, math.inf, math.inf)  # until the target is known
        self.rows.append(
            Row(
                name,
                kind,
                words,
                of,
                ahead.curve,
                ahead.estimate,
                unknown,
                cost,
                recipe,
                architecture=architecture,
                reasons=reasons,
                beside=beside,
                seconds=seconds,
            )
        )

    def add_kernel(self, c: CandidateProfile, grams: Grams) -> None:
        """The kernel machine of an architecture: of its two kernels the one with the lower squared error."""
        began, design = clock.process_time(), self.view.design
        model = c.candidate.model
        assert is_kernel_model(model)
        every = [grams]
        for k in range(1, design.draws):
            every.append(kernel_grams(model, self.view.draw(k)))
        gram_seconds = (clock.process_time() - began) / max(design.draws - 1, 1)
        found = [measure_kernel([g[kind] for g in every], kind, design, self.view.truth) for kind in grams]
        best = min(found, key=lambda m: m.squared)
        guide = forecast_guide(c.name, c.forecast, self.to)
        grown = (c.seconds if design.draws == 1 else gram_seconds) * (self.to / design.n) ** 2
        self._add(
            c.name,
            Kind.KERNEL,
            c.candidate.words,
            f"kernel regression with its {best.kernel.upper()}, ridge tuned"
            if len(found) > 1
            else "kernel regression, ridge tuned",
            best.held,
            (guide, guide),
            grown + self.to**3 / 3 / _SOLVED,
            KernelRecipe(c.candidate, best.kernel, float(best.ridges[-1])),
            architecture=c.name,
            seconds=clock.process_time() - began + c.seconds,
        )

    def _guides(self, name: str | None = None) -> tuple[Guide, Guide]:
        """The kernel machine of this name, else the best one, as guides; without any, a curve that falls as curves do."""
        kernels = [r.name for r in self.rows if r.kind is Kind.KERNEL]
        if not kernels:
            grid = np.geomspace(2.0, 1000.0 * max(self.to, self.view.design.n), 50)
            z = np.maximum(np.log(grid / self.view.design.n), 0.0)
            plain = Guide("plain", grid, -0.35 * np.log(grid), (0.2 * z) ** 2, np.zeros(len(self.weights)))
            grown = float(interpolate_over_log(self.to, grid, plain.variance))
            plain = replace(plain, sources={"plain": grown})
            return plain, plain
        chosen = name if name in kernels else min(kernels, key=lambda k: self.ahead[k].log)
        return self.ahead[chosen].as_guide(chosen), self.squared[chosen].as_guide(chosen)

    def add_network(self, c: CandidateProfile, share: float) -> float:
        """The trained network of an architecture, or of the user, within a share of the budget; operations that it took."""
        candidate, view = c.candidate, self.view
        outputs, user = view.truth.targets.shape[1], isinstance(candidate.model, UserNetwork)
        inputs = view.native_inputs
        if not trainable(candidate, outputs):
            if user:
                self.notes.append(f"{c.name}: has too few outputs to be trained on {outputs} targets")
            return 0.0
        try:
            how = plan(candidate, inputs, outputs, share, view.design.n)
            if how is None:
                self.notes.append(
                    f"{c.name}: training its networks on the pilot would take too long; they are not in the table"
                )
                return 0.0
            made = measure_network(candidate, inputs, view.design, view.truth, how, seed=self.seed)
        except Exception as error:  # a user's network may fail in training mode; all else that was measured stays
            self.notes.append(f"{c.name}: could not be trained on the pilot ({error}); it is not in the table")
            return 0.0
        if made is None:
            self.notes.append(f"{c.name}: training on the pilot diverged at every rate; it is not in the table")
            return 0.0
        name = c.name if user else f"{c.name} network"
        wide = "" if made.width is None else f", {made.width} wide"
        n = int(view.design.sizes(view.design.few)[-1])
        self._add(
            name,
            Kind.NETWORK,
            candidate.words if not user else "your network",
            f"networks trained {'until they stop improving' if made.level else f'for {made.steps} steps'}{wide}",
            made.held,
            self._guides(c.name),
            made.step_seconds * made.steps * self.to / n,
            NetworkRecipe(candidate, made.width, made.rate, made.steps),
            architecture=c.name,
            reasons=()
            if made.level
            else (f"its error was still falling after {made.steps} steps, where its budget ended: it may do better",),
            seconds=made.seconds,
        )
        self.trials[c.name] = Trial(name, how, made, self.ahead[name])
        return made.operations

    def add_networks(self, candidates: Sequence[CandidateProfile]) -> None:
        """Networks of the user first, then of architectures in the order of their kernel machines, as far as operations go."""
        order = {r.name: self.ahead[r.name].log for r in self.rows}
        outputs = self.view.truth.targets.shape[1]
        fit = [c for c in candidates if trainable(c.candidate, outputs) or isinstance(c.candidate.model, UserNetwork)]
        queue = sorted(fit, key=lambda c: (not isinstance(c.candidate.model, UserNetwork), order.get(c.name, 0.0)))
        own = sum(isinstance(c.candidate.model, UserNetwork) for c in queue)
        most = own + _MOST
        left, queue, out = _BUDGET, queue[:most], [c.name for c in queue[most:]]
        if out:
            self.notes.append(f"networks were trained for the {_MOST} best kernel machines, not for {', '.join(out)}")
        for k, c in enumerate(queue):
            self.progress.say(f"networks of {c.name} trained on the pilot", 5.0)
            left -= self.add_network(c, left / (len(queue) - k) * (1.5 if k + 1 < len(queue) else 1.0))

    def add_classical(self) -> None:
        """The references of scikit-learn."""
        truth = self.view.truth
        for reference in references(truth.classes, truth.targets.shape[1], self.metric):
            self.progress.say(f"{reference.name} on the pilot", 1.0)
            self._estimator(EstimatorOffer(reference.name, reference.words, reference.settings, Kind.CLASSICAL))

    def add_estimators(self, estimators: Sequence[tuple[str, BaseEstimator]]) -> None:
        """Estimators of the user, as they are."""
        for name, estimator in estimators:
            self.progress.say(f"{name} on the pilot", 1.0)
            try:
                self._estimator(
                    EstimatorOffer(name, "your estimator", (estimator,), Kind.ESTIMATOR, native=True, scaled=False)
                )
            except Exception as error:  # theirs, not ours; all else that was measured stays
                self.notes.append(f"{name}: could not be fitted on the pilot ({error}); it is not in the table")

    def add_offer(self, offer: EstimatorOffer) -> None:
        """An estimator that a source offers; one that refuses this data is left out, and told."""
        self.progress.say(f"{offer.name} on the pilot", 1.0)
        try:
            self._estimator(offer)
        except ValueError as error:
            self.notes.append(f"{offer.name}: could not be measured ({error}); it is not in the table")

    def _estimator(self, offer: EstimatorOffer) -> None:
        """Measure the offered estimator of scikit-learn on flat rows, and keep it as a row."""
        inputs = self.view.native_inputs if offer.native else self.view.inputs
        x = np.asarray(inputs, dtype=float).reshape(len(self.view.design), -1)
        made = measure_estimator(offer.settings, x, self.view.design, self.view.truth, self.metric)
        n = int(self.view.design.sizes(self.view.design.few)[-1])
        tuned = "its settings tuned" if len(offer.settings) > 1 else "as it is"
        self._add(
            offer.name,
            offer.kind,
            offer.words,
            offer.of or f"scikit-learn's {type(made.estimator).__name__}, {tuned}",
            made.held,
            self._guides(offer.like),
            made.fit_seconds * self.to / n,
            EstimatorRecipe(made.estimator, scaled=offer.scaled, native=offer.native),
            architecture=offer.like,
            seconds=made.seconds,
        )

    def so_far(self) -> list[Row]:
        """Rows sorted by their estimates, without standings, which come later."""
        return sorted(self.rows, key=lambda row: row.estimate.value)

    def finished(self, baseline: float, target: float | None) -> tuple[tuple[Row, ...], float]:
        """Rows in order with their standings, and the target whose sample cost they tell: half the first row's error now."""
        rows = self.so_far()
        first = self.ahead[rows[0].name]
        ratios = [None, *(ratio_of(self.ahead[r.name], first, level=self.level) for r in rows[1:])]
        goal = target if target is not None else max(rows[0].now[1].value / 2, 1e-12)
        rows = [replace(row, needed=row.curve.needed(goal)) for row in rows]
        return ranked(rows, ratios, baseline), goal
