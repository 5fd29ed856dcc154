"""Left-out scores of the classes by the best few kernels, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorscope.inference import RidgePath
from priorscope.printing import printed

__all__ = ["LeftOut", "left_out"]

Array = NDArray[np.float64]
RIDGES = np.geomspace(1e-4, 30.0, 20)  # in units of the mean eigenvalue of the centred kernel
BEST = 3  # kernels whose scores are averaged


@printed
@dataclass(frozen=True, eq=False)
class LeftOut:
    """Scores (n, classes) of each sample by fits to all others, averaged over the best kernels, and their names."""

    scores: Array
    kernels: tuple[str, ...]

    @property
    def margin(self) -> Array:
        """The largest score minus the second one."""
        ordered = np.sort(self.scores, 1)
        found: Array = ordered[:, -1] - ordered[:, -2]
        return found

    def own_margin(self, labels: NDArray[np.int64]) -> Array:
        """The label's score minus the largest other one."""
        rows = np.arange(len(labels))
        own = self.scores[rows, labels]
        others = self.scores.copy()
        others[rows, labels] = -np.inf
        found: Array = own - others.max(1)
        return found


def left_out(grams: Mapping[str, Array], labels: NDArray[np.int64], n_classes: int) -> LeftOut:
    """Kernel ridge regression on the classes as 0 and 1; each kernel with the ridge of lowest left-out squared error."""
    targets = np.eye(n_classes)[labels]
    found = []
    for name, gram in grams.items():
        path = RidgePath.of_kernel(gram)
        scores = path.leave_one_out(targets, path.scale * RIDGES)
        errors = ((scores - targets) ** 2).sum(2).mean(1)
        best = int(errors.argmin())
        found.append((float(errors[best]), name, scores[best]))
    found.sort(key=lambda one: one[:2])
    return LeftOut(np.mean([one[2] for one in found[:BEST]], axis=0), tuple(one[1] for one in found[:BEST]))
