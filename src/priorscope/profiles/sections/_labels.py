"""How many labels of the pilot look wrong and which, in which directions the label signal lies, and when to stop training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from priorscope.probes import LabelNoise, label_noise_of_grams
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._section import Finding, Section

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    from torch import Tensor

    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["LABELS", "Labels"]

FEWEST = 60  # samples below which nothing is said
NAMED = 24  # suspects on the page and in JSON
WARNED = 0.05  # a rate whose lower end is above this is worth a warning


@dataclass(frozen=True)
class Labels(Finding):
    """What was found about the labels, as a finding of a profile; ``pictures`` are the suspects' inputs where they are images."""

    found: LabelNoise = field(repr=False)
    pictures: Tensor | None = field(default=None, repr=False)

    def sentences(self) -> list[str]:
        """How many labels look wrong, where the label signal lies, when to stop."""
        return self.found.sentences()

    def warnings(self) -> list[str]:
        """Many wrong labels."""
        if self.found.rate.low < WARNED:
            return []
        if not self.found.learnt:
            return [self.found.sentences()[0]]
        first = ", ".join(str(r) for r in self.found.worst(3)["row"])
        return [
            f"about {100 * self.found.rate.value:.0f} % of the {self.found.n:,} labels looked at seem wrong, or the inputs "
            f"do not tell the classes apart; look at rows {first} first"
        ]

    def _named(self) -> pd.DataFrame:
        """The most suspicious labels; none where kernels learnt nothing to suspect them by."""
        return self.found.worst().head(NAMED if self.found.learnt else 0)

    def plain(self) -> dict[str, object]:
        """The rate with its interval, the suspects, where the label signal lies, and the stop."""
        stop = self.found.stopping
        return {
            "samples": self.found.n,
            "rate": vars(self.found.rate),
            "kernels": list(self.found.kernels),
            "suspects": self._named().to_dict("records"),
            "information": {"dimension": self.found.dimension, "share": self.found.information},
            "stop_early": stop.worth_it,
            "labels_met_when_stopping": stop.met,
            "stop_measured_at": stop.n_train,
            "sentences": self.sentences(),
        }

    def page(self, figure: Figures) -> Folded:
        """Suspects with their pictures or rows, the histogram of margins, and the loss along time."""
        from priorscope.profiles._page_folded import Folded, Table
        from priorscope.profiles._page_sections import row_of

        named = self._named()
        figures = [
            figure(
                "labels", self.found.chart().properties(width=420, height=180), "Margins of labels that look right and wrong.",
                f"Left-out score of each of the {self.found.n:,} labels minus the best other one; below zero others disagree.",
            ),
            figure(
                "stopping", self.found.stopping.chart().properties(width=420, height=180), "Squared error along training.",
                f"Gradient flow of the best kernel with {self.found.stopping.n_train:,} training samples: training and left-out "
                "squared error; the rule is where to stop, the band what is not told apart from it.",
            ),
        ]  # fmt: skip
        if self.pictures is not None and len(named):
            shown = len(self.pictures)
            alt = f"The {shown} most suspicious images with their labels."
            figures.insert(0, figure("suspects", pictures(self.pictures, named.head(shown)), alt, alt))
        tables = []
        if len(named):
            rows = [
                row_of([str(r["row"]), str(r["label"]), str(r["suggested"]), f"{100 * r['wrong']:.0f} %"])
                for r in named.to_dict("records")
            ]
            caption = "The most suspicious labels; rows count from 0 in the order of the data"
            tables = [Table(caption, ["row", "label", "the others say", "probably wrong"], rows)]
        return Folded("labels", "Are the labels right?", self.sentences(), figures, tables)


def pictures(images: Tensor, named: pd.DataFrame) -> alt.TopLevelMixin:
    """Small pictures (n, channels, height, width), colours by the mean over channels, with label and suggestion above each."""
    import altair as alt
    import pandas as pd

    panels = []
    for image, words in zip(images, named.to_dict("records"), strict=True):
        grey = image.float().mean(0)
        height, width = grey.shape
        rows, columns = np.divmod(np.arange(height * width), width)
        pixels = pd.DataFrame({"x": columns, "y": rows, "value": grey.flatten().numpy()})
        panels.append(
            alt.Chart(pixels, title=alt.Title(f"{words['label']} ({words['suggested']}?)", fontSize=10))
            .mark_rect()
            .encode(
                x=alt.X("x:O", axis=None),
                y=alt.Y("y:O", axis=None),
                color=alt.Color("value:Q", legend=None, scale=alt.Scale(scheme="greys", reverse=True)),
            )
            .properties(width=56, height=56)
        )
    drawn: alt.TopLevelMixin = alt.concat(*panels, columns=6, spacing=8).resolve_scale(color="independent")
    return drawn


def _measure(scene: Scene) -> Labels | None:
    """Left-out predictions of the kernels of the sample; None for numbers and for few samples."""
    labels = scene.pilot.labels
    if labels is None or len(labels) < FEWEST or not scene.grams:
        return None
    grams, level, seed = scene.grams, scene.level, scene.seed
    found = label_noise_of_grams(grams, labels, classes=scene.problem.classes, rows=scene.index, level=level, seed=seed)
    suspects = found.flagged()[: 12 if found.learnt else 0]
    images = scene.native.inputs[suspects] if scene.native.inputs.ndim == 4 and len(suspects) else None
    return Labels(found, images)


LABELS = Section("labels", _measure, work=1.0, fits=lambda scene: scene.problem.n_classes is not None)
