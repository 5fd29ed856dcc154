"""What a profile says of deformations by one pixel: of labels, of every architecture, and of training on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.data import Deform
from priorscope.probes import LabelMove, LabelSurvival, Sensitivity, Shared, Stability
from priorscope.profiles._metric import Metric
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ArchitectureStability", "DeformationProfile", "Effect", "TrainedOnDeformed"]


@dataclass(frozen=True)
class ArchitectureStability:
    """Relative stability R of an architecture's networks to a deformation by one pixel: fresh ones, and after their trial.

    Example:
        >>> import numpy as np
        >>> values = np.full((3, 1, 2), [[0.1, 0.2]])
        >>> start = Stability("fcn-1", "deformations", ("output",), values, "median", 1.0, 50)
        >>> ArchitectureStability("fcn-1", start).words
        'fcn-1 is less sensitive to it than to noise of the same size from the start (R = 0.5)'
    """

    name: str
    start: Stability
    trained: Stability | None = None

    @property
    def answer(self) -> Sensitivity:
        """How sensitive it is compared with noise: after its trial, or at the start where it had none."""
        return (self.trained or self.start).answer

    @property
    def words(self) -> str:
        """Where it ends up, and where it began."""
        now, than = self.answer, self.answer.than
        first = f"{self.start.R.value:.2g}"
        if self.trained is None:
            return f"{self.name} is {now} sensitive to it {than} noise of the same size from the start (R = {first})"
        return (
            f"{self.name} is {now} sensitive to it {than} noise of the same size after its trial "
            f"(R = {self.trained.R.value:.2g}, {first} at the start)"
        )


class Effect(StrEnum):
    """What training on deformed images does to the error; the value is the word in JSON."""

    LOWERS = "lowers"
    RAISES = "raises"
    ON_PILOT = "lowers on the pilot"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class TrainedOnDeformed:
    """Errors of one architecture's networks trained on plain and on deformed images: measured on the pilot, and forecast.

    ``measured`` and ``forecast`` are ratios deformed over plain, of the same held-out samples, ``n`` and ``to`` their sizes;
    the four errors are values of the profile's metric.

    Example:
        >>> one = Interval(0.8, 0.7, 0.9)
        >>> TrainedOnDeformed("lap-3 network", 225, 1200, 0.04, 0.032, one, 0.02, 0.016, one).effect.value
        'lowers'
    """

    name: str
    n: int
    to: int
    plain: float
    deformed: float
    measured: Interval
    plain_ahead: float
    deformed_ahead: float
    forecast: Interval
    seconds: float = 0.0

    @property
    def effect(self) -> Effect:
        """What is certain: beyond the interval of the forecast, or on the pilot alone."""
        if self.forecast.high < 1:
            return Effect.LOWERS
        if self.forecast.low > 1 or self.measured.low > 1:
            return Effect.RAISES
        return Effect.ON_PILOT if self.measured.high < 1 else Effect.UNKNOWN

    def sentence(self, metric: Metric) -> str:
        """What training on deformed images does, at the sizes where it was measured and forecast."""
        says = {
            Effect.LOWERS: "lowers its error",
            Effect.ON_PILOT: "lowers its error on the pilot; whether it still does with more samples cannot be told",
            Effect.RAISES: "raises its error",
            Effect.UNKNOWN: "changes its error by less than can be told",
        }[self.effect]
        measured = f"{metric.number(self.plain)} to {metric.number(self.deformed)} at {self.n:,} samples"
        ahead = f"{metric.number(self.plain_ahead)} to {metric.number(self.deformed_ahead)}"
        return (
            f"Training {self.name} on images that are deformed anew at every step {says}: from {measured}, and from {ahead} in "
            f"the forecast at {self.to:,} ({self.forecast.low:.2g} to {self.forecast.high:.2g} times)."
        )


@dataclass(frozen=True)
class DeformationProfile:
    """What a profile found of deformations by one pixel: of labels, of every architecture, and of training on them.

    ``labels`` is the evidence that labels survive; ``control`` looks at other fields and at noise of the same size, and has the
    pictures.

    Example:
        >>> from priorscope.data.groups import Move
        >>> labels = LabelMove(Move.DEFORMATION, 0.7, 0.9, 0.1, 1.0)
        >>> control = LabelSurvival("deformations", still=0.9, moved=0.7, noisy=0.3, chance=0.1, error=0.01)
        >>> found = DeformationProfile(Deform(1.0, 3), labels, control)
        >>> found.label_words[:70]
        'Labels survive a deformation by one pixel in part: neighbours agree in'
    """

    deform: Deform
    labels: LabelMove
    control: LabelSurvival
    architectures: tuple[ArchitectureStability, ...] = ()
    training: TrainedOnDeformed | None = None
    notes: tuple[str, ...] = ()

    @property
    def label_words(self) -> str:
        """Whether labels survive, in one sentence."""
        says = {
            "yes": "Labels survive a deformation by one pixel",
            "partly": "Labels survive a deformation by one pixel in part",
            "no": "Labels do not survive a deformation by one pixel",
            "cannot tell": "Whether labels survive a deformation by one pixel cannot be told",
        }[self.labels.verdict]
        a, b, c = (f"{100 * v:.0f} %" for v in (self.labels.agreement, self.labels.baseline, self.control.noisy))
        return f"{says}: neighbours agree in {a} of cases, {b} without it and {c} under noise of the same size."

    def sentences(self, metric: Metric) -> list[str]:
        """Labels, architectures and training, one sentence each where it was measured."""
        found = [self.label_words]
        if self.architectures:
            found.append(self._architecture_words())
        if self.training is not None:
            found.append(self.training.sentence(metric))
        elif self.labels.shared is Shared.NO:
            found.append("Training on deformed images was not tried, since labels do not survive them.")
        return found

    def _architecture_words(self) -> str:
        """Architectures by what they are after their trials (at the start where none had one)."""
        tried = [a for a in self.architectures if a.trained is not None]
        shown, when = (tried, "After their trials") if tried else (list(self.architectures), "At initialisation")
        parts = []
        for answer in Sensitivity:
            names = [f"{a.name} ({(a.trained or a.start).R.value:.2g})" for a in shown if a.answer is answer]
            if names:
                parts.append(f"{answer} sensitive to it {answer.than} noise of the same size: {', '.join(names)}")
        return f"{when} networks are {'; '.join(parts)} (in brackets R, deformation over noise)."

    def as_dict(self, metric: Metric) -> dict[str, object]:
        """All numbers in plain values."""
        training = self.training
        return {
            "delta": self.deform.delta,
            "cutoff": self.deform.cutoff,
            "labels_survive": self.labels.verdict,
            "agreement": self.labels.agreement,
            "agreement_unmoved": self.labels.baseline,
            "agreement_under_noise": self.control.noisy,
            "radius": self.control.radius,
            "sentences": self.sentences(metric),
            "architectures": [
                {
                    "name": a.name,
                    "answer": a.answer,
                    "at_initialisation": _numbers(a.start),
                    "after_trial": None if a.trained is None else _numbers(a.trained),
                }
                for a in self.architectures
            ],
            "trained_on_deformed": None
            if training is None
            else {
                "name": training.name,
                "effect": training.effect.value,
                "n": training.n,
                "plain": training.plain,
                "deformed": training.deformed,
                "measured_ratio": vars(training.measured),
                "to": training.to,
                "plain_forecast": training.plain_ahead,
                "deformed_forecast": training.deformed_ahead,
                "forecast_ratio": vars(training.forecast),
            },
            "notes": list(self.notes),
        }

    def table(self) -> pd.DataFrame:
        """One row per architecture: R with its interval at initialisation and after the trial, and the answer."""
        rows = []
        for a in self.architectures:
            first, last = a.start.R, None if a.trained is None else a.trained.R
            row: dict[str, object] = {
                "architecture": a.name,
                "start": first.value,
                "start_low": first.low,
                "start_high": first.high,
            }
            for key in ("value", "low", "high"):
                row["trained" if key == "value" else f"trained_{key}"] = None if last is None else getattr(last, key)
            rows.append({**row, "answer": a.answer})
        return pd.DataFrame(rows)

    def pictures(self) -> alt.TopLevelMixin:
        """Three images as they are, deformed, and with noise at the same distance: Petrini et al. (2021), Fig. 2."""
        return self.control.pictures()


def _numbers(found: Stability) -> dict[str, object]:
    return {
        "networks": len(found.values),
        "images": found.n_images,
        "D": vars(found.D),
        "G": vars(found.G),
        "R": vars(found.R),
    }
