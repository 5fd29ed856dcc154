"""The samples a profile looks at: one or several pilots, small for kernels, at their own size for networks of the user."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.data import Dataset
from priorscope.probes.curves.pilot import Pilot, Prepared, draw_pilot
from priorscope.profiles._design import Design
from priorscope.profiles._held_out import Truth

__all__ = ["View", "look"]

_MOST_DRAWS = 3  # of flat features; two of images and signals, whose kernels cost more
_MOST_SAMPLES = 1000  # of all draws together, beyond which there is one


@dataclass(frozen=True)
class View:
    """All draws: inputs (draws × n, …) small and native, targets, labels, and the first draw as data sets and pilots."""

    design: Design
    truth: Truth
    inputs: Tensor = field(repr=False)
    native_inputs: Tensor = field(repr=False)
    index: NDArray[np.int64] = field(repr=False)  # rows of the data
    small: Dataset
    native: Dataset
    pilot: Pilot = field(repr=False)
    native_pilot: Pilot = field(repr=False)

    def draw(self, k: int) -> Tensor:
        """Small inputs of one draw."""
        return self.inputs[k * self.design.n : (k + 1) * self.design.n]


def _whole(pilot: Pilot, inputs: Tensor) -> Pilot:
    """The pilot as all of a data set of its own rows."""
    return replace(pilot, index=np.arange(len(pilot)), inputs=inputs)


def look(prepared: Prepared, seed: int) -> View:
    """Draw the pilot (the one a forecast draws) and, where there are samples enough, others beside it."""
    ready = prepared.data
    drawn = draw_pilot(ready, prepared.pilot, seed)
    n, have = len(drawn), len(ready.train)
    most = _MOST_DRAWS if len(ready.input_shape) == 1 else 2
    draws = max(min(most, have // n, _MOST_SAMPLES // n), 1)
    index = np.random.default_rng(seed).permutation(have)[: draws * n]  # begins with the rows of draw_pilot
    assert np.array_equal(index[:n], drawn.index)
    rows = torch.as_tensor(index)
    native = prepared.native(rows)
    targets = ready.targets[rows].double().numpy()
    labels = None
    if drawn.labels is not None:
        labels = ((targets[:, 0] > 0) if targets.shape[1] == 1 else targets.argmax(1)).astype(np.int64)
    first = native.take(torch.arange(n))
    return View(
        Design.of(n, draws=draws, labels=labels, seed=seed),
        Truth(targets, labels, prepared.unit or 1.0),
        ready.inputs[rows],
        native.inputs,
        index,
        ready.take(rows[:n]),
        first,
        _whole(drawn, drawn.inputs),
        _whole(drawn, first.inputs),
    )
