"""Small deformations of the images: do labels survive them, which architectures do, and does training on them help?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from priorscope.probes import Shared
from priorscope.profiles._metric import Metric
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._deformation_measure import deformation_profile, train_on_deformed
from priorscope.profiles.sections._deformation_result import DeformationProfile
from priorscope.profiles.sections._section import Finding, Section

if TYPE_CHECKING:
    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["DEFORMATIONS", "Deformations"]

CLAIMS = ("D.4", "D.5", "D.6", "D.13", "D.19")  # of the record, on which the section rests


@dataclass(frozen=True)
class Deformations(Finding):
    """What was found of deformations by one pixel, as a finding of a profile; ``metric`` is the profile's."""

    found: DeformationProfile
    metric: Metric

    def sentences(self) -> list[str]:
        """Labels, architectures, training."""
        return self.found.sentences(self.metric)

    def plain(self) -> dict[str, object]:
        """All numbers and sentences."""
        return self.found.as_dict(self.metric)

    def page(self, figure: Figures) -> Folded:
        """Pictures, the chart and the table of architectures."""
        from priorscope.profiles.sections._deformation_page import deformation_page

        return deformation_page(self.found, self.metric, figure, CLAIMS)


def _measure(scene: Scene) -> Deformations | None:
    """Labels, every architecture before and after its trial, and the best network trained on deformed images."""
    made = {name: trial.made for name, trial in scene.trials.items()}
    candidates = {c.name: c.candidate for c in scene.measured}
    found = deformation_profile(scene.view, scene.symmetries, list(candidates.values()), made, seed=scene.seed)
    if found is None:
        return None
    if scene.trials and found.labels.shared is not Shared.NO:
        best = min(scene.trials, key=lambda name: scene.trials[name].ahead.log)
        again = train_on_deformed(scene, candidates[best], scene.trials[best], found.deform)
        if isinstance(again, str):
            found = replace(found, notes=(*found.notes, again))
        else:
            found = replace(found, training=again)
    return Deformations(found, scene.metric)


DEFORMATIONS = Section("deformations", _measure, deep=True, work=5.0)
