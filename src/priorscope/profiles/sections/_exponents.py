"""In how many dimensions the data live, and the exponent that each kernel machine should reach on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from priorscope.probes import ExpectedExponents, effective_dimension, expected_exponents
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._section import Finding, Section

if TYPE_CHECKING:
    from priorscope.profiles._page_folded import Folded
    from priorscope.profiles._page_sections import Figures

__all__ = ["EXPONENTS", "Exponents"]

FEWEST = 100  # samples below which kernel components say nothing


@dataclass(frozen=True)
class Exponents(Finding):
    """The expected exponents, as a finding of a profile."""

    found: ExpectedExponents = field(repr=False)

    def sentences(self) -> list[str]:
        """The dimension, then one sentence per kernel machine."""
        return self.found.sentences()

    def plain(self) -> dict[str, object]:
        """Dimension, exponents and sentences."""
        return {
            "dimension": self.found.dimension.overlay,
            "exponents": self.found.table().to_dict("records"),
            "sentences": self.sentences(),
        }

    def page(self, figure: Figures) -> Folded:
        """A table with the exponent of each kernel machine and what limits it."""
        from priorscope.profiles._page_folded import Folded, Table
        from priorscope.profiles._page_sections import row_of

        rows = [
            row_of(
                [
                    str(r["candidate"]),
                    f"n^-{r['beta']:.2f} ({r['low']:.2f} to {r['high']:.2f})",
                    str(r["limited_by"]),
                    f"n^-{r['allowed']:.1f}",
                ]
            )
            for r in self.found.table().to_dict("records")
        ]
        caption = (
            "Exponent of the squared error by kernel components of the sample looked at; in brackets the range of three "
            "estimators"
        )
        columns = ["architecture", "error falls like", "limited by", "its smoothness would allow"]
        table = Table(caption, columns, rows)
        return Folded("exponents", "How fast errors should fall", self.sentences()[:1], (), [table])


def _measure(scene: Scene) -> Exponents | None:
    """Dimension of the inputs as kernels see them, and exponents on the sample; None where there is too little."""
    rows = scene.small.inputs.flatten(1).double().numpy()
    if not scene.grams or len(np.unique(rows, axis=0)) < FEWEST:
        return None
    dimension = effective_dimension(rows, subsets=3)
    return Exponents(expected_exponents(rows, scene.pilot.targets, scene.grams, dimension=dimension))


EXPONENTS = Section("exponents", _measure, 0.5, lambda scene: len(scene.index) >= FEWEST)
