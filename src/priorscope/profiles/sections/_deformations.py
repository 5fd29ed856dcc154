"""Small deformations of the images: do labels survive them, which architectures do, and does training on them help?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from priorscope.data import Deform
from priorscope.data.deformations import one_pixel
from priorscope.data.groups import Move
from priorscope.judge import Metric
from priorscope.probes import LabelMove, LabelSurvival, Sensitivity, Shared, Stability, label_moves, label_survival
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._deformation_measure import TrainedOnDeformed, stability_of, train_on_deformed
from priorscope.profiles.sections._section import Finding, Section
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["DEFORMATIONS", "Deformations"]

_INTRO = (
    "A deformation moves every pixel smoothly by about one pixel. Networks that do well on images come to disregard such moves "
    "more than noise of the same size."
)


@dataclass(frozen=True)
class Deformations(Finding):
    """What was found of deformations by one pixel: of labels, of networks with fresh weights, and of training on them.

    ``labels`` is the evidence that labels survive, ``control`` looks at noise of the same size and has the pictures;
    ``architectures`` hold R, the change under a deformation over that under noise.

    Example:
        >>> labels = LabelMove(Move.DEFORMATION, 0.7, 0.9, 0.1, 1.0)
        >>> control = LabelSurvival("deformations", still=0.9, moved=0.7, noisy=0.3, chance=0.1, error=0.01)
        >>> Deformations(Deform(1.0, 3), labels, control, Metric.RMSE).sentences()[0][:70]
        'Labels survive a deformation by one pixel in part: neighbours agree in'
    """

    deform: Deform
    labels: LabelMove
    control: LabelSurvival
    metric: Metric
    architectures: tuple[Stability, ...] = ()
    training: TrainedOnDeformed | None = None
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Labels, architectures and training, one sentence each where it was measured."""
        says = {
            "yes": "Labels survive a deformation by one pixel",
            "partly": "Labels survive a deformation by one pixel in part",
            "no": "Labels do not survive a deformation by one pixel",
            "cannot tell": "Whether labels survive a deformation by one pixel cannot be told",
        }[self.labels.verdict]
        a, b, c = (f"{100 * v:.0f} %" for v in (self.labels.agreement, self.labels.baseline, self.control.noisy))
        found = [f"{says}: neighbours agree in {a} of cases, {b} without it and {c} under noise of the same size."]
        parts = []
        for answer in Sensitivity:
            names = [f"{a.subject} ({a.R.value:.2g})" for a in self.architectures if a.answer is answer]
            if names:
                parts.append(f"{answer} sensitive to it {answer.than} noise of the same size: {', '.join(names)}")
        if parts:
            found.append(f"At initialisation networks are {'; '.join(parts)} (in brackets R, deformation over noise).")
        if self.training is not None:
            found.append(self.training.sentence(self.metric))
        elif self.labels.shared is Shared.NO:
            found.append("Training on deformed images was not tried, since labels do not survive them.")
        return found

    def plain(self) -> dict[str, object]:
        """All numbers in plain values."""
        t = self.training
        return {
            "delta": self.deform.delta,
            "cutoff": self.deform.cutoff,
            "labels_survive": self.labels.verdict,
            "agreement": self.labels.agreement,
            "agreement_unmoved": self.labels.baseline,
            "agreement_under_noise": self.control.noisy,
            "radius": self.control.radius,
            "sentences": self.sentences(),
            "architectures": [
                {
                    "name": a.subject,
                    "answer": a.answer,
                    "networks": len(a.values),
                    "images": a.n_images,
                    **{key: vars(getattr(a, key)) for key in ("D", "G", "R")},
                }
                for a in self.architectures
            ],
            "trained_on_deformed": None if t is None else {"name": t.name, "effect": t.effect.value, **vars(t.errors)},
            "notes": list(self.notes),
        }

    def chart(self) -> alt.TopLevelMixin:
        """R of every architecture with fresh weights on a log axis, with intervals over networks and a rule at one."""
        import altair as alt
        import pandas as pd

        rows = []
        for a in self.architectures:
            wide = a.R.high == float("inf")  # one network has no interval
            low, high = (a.R.value, a.R.value) if wide else (a.R.low, a.R.high)
            rows.append({"architecture": a.subject, "R": a.R.value, "low": low, "high": high})
        scale = alt.Scale(type="log", nice=False, padding=12)
        base = alt.Chart(pd.DataFrame(rows))
        y = alt.Y(
            "architecture:N", sort=[a.subject for a in self.architectures], title=None, axis=alt.Axis(labelLimit=180)
        )
        x = alt.X("R:Q", scale=scale, title="R, deformation over noise", axis=alt.Axis(format="~g"))
        tips = ["architecture", *(alt.Tooltip(key, format=".2f") for key in ("R", "low", "high"))]
        ends = base.mark_rule().encode(alt.X("low:Q", scale=scale), y, alt.X2("high:Q"))
        marks = base.mark_point(filled=True, size=60).encode(x, y, tooltip=tips)
        one = alt.Chart(pd.DataFrame({"R": [1.0]})).mark_rule(strokeDash=[4, 4]).encode(alt.X("R:Q", scale=scale))
        drawn: alt.TopLevelMixin = (one + ends + marks).properties(width=420, height=max(34 * len(rows), 60))
        return drawn

    def page(self, figure: Figures) -> Folded:
        """Words, pictures of images deformed and with noise and R of every architecture."""
        from priorscope.profiles._page_folded import Folded, Table
        from priorscope.profiles._page_sections import row_of

        said = "Three images as they are, deformed by one pixel, and with noise at the same distance."
        about = (
            "Left the image x, in the middle its deformation τx, right x with noise η: both lie at the same distance from x "
            "(Petrini et al. 2021, Fig. 2)."
        )
        figures = [figure("deformed", self.control.pictures(), said, about)]
        tables = []
        if self.architectures:
            said = "Relative stability R of every architecture with fresh weights, on a log axis with a rule at 1."
            about = "R with 95 % intervals over networks; at the rule, as sensitive as to noise."
            figures.append(figure("stability", self.chart(), said, about))
            caption = (
                "R: change of the outputs under a deformation over that under noise of the same size, medians over images; with "
                "the interval over networks. Below 1 a network disregards deformations more than noise."
            )
            rows = [row_of([a.subject, _cell(a.R), f"{a.answer} sensitive"]) for a in self.architectures]
            tables = [Table(caption, ("architecture", "R at the start", "compared with noise"), rows)]
        text = [_INTRO, *self.sentences(), *(f"{note[0].upper()}{note[1:]}." for note in self.notes)]
        return Folded("deformations", "Deformations by one pixel", text, figures, tables)


def _cell(R: Interval) -> str:
    return f"{R.value:.2g}" if R.high == float("inf") else f"{R.value:.2g} ({R.low:.2g}–{R.high:.2g})"


def _of_labels(scene: Scene) -> LabelMove:
    """The evidence in the images' own size: that of the symmetries where kernels see them so, else measured here."""
    if scene.native.input_shape == scene.small.input_shape:
        for known in scene.symmetries:
            if known.move is Move.DEFORMATION:
                return known
    pilot = scene.native_pilot
    return label_moves(pilot.inputs, pilot.targets, pilot.labels, moves=[Move.DEFORMATION]).found[0]


def _measure(scene: Scene) -> Deformations:
    """Labels, every architecture with fresh weights, and the best network of the race trained on deformed images."""
    deform = one_pixel(scene.native.input_shape)
    assert deform is not None  # else it does not fit
    labels, control = _of_labels(scene), label_survival(scene.native, deform, n_images=len(scene.index))
    found = [stability_of(c.candidate, scene, deform) for c in scene.measured]
    again: TrainedOnDeformed | str = "" if labels.shared is Shared.NO else train_on_deformed(scene, deform)
    notes: Sequence[str] = [one for one in (*found, again) if isinstance(one, str) and one]
    measured = tuple(one for one in found if isinstance(one, Stability))
    training = again if isinstance(again, TrainedOnDeformed) else None
    return Deformations(deform, labels, control, scene.metric, measured, training, tuple(notes))


DEFORMATIONS = Section(
    "deformations", _measure, work=2.5, fits=lambda scene: one_pixel(scene.native.input_shape) is not None
)
