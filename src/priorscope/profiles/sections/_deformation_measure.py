"""Measure deformations by one pixel: do labels survive, how sensitive fresh networks are, and what training on them gives."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from priorscope.contracts import is_network_family
from priorscope.data import Deform
from priorscope.inference import Ended
from priorscope.judge import Measured, Metric
from priorscope.models import UserNetwork
from priorscope.probes import Stability, stability
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._contender import Contender, undecided
from priorscope.profiles._ladder import Part
from priorscope.profiles._network import fresh_network, operations_per_sample
from priorscope.profiles._scene import Paired, Scene
from priorscope.profiles._trial import fitted_outputs, judged
from priorscope.sklearn import TrainedNetwork

__all__ = ["Effect", "TrainedOnDeformed", "stability_of", "train_on_deformed"]

Array = NDArray[np.float64]
_WORK = 3e9  # floating-point operations per architecture: a fraction of a second
_SETTINGS = ((5, 201), (5, 101), (3, 51), (1, 25))  # fresh networks, images: the first that fits
_WIDE = {True: 16, False: 256}  # channels or neurons
_DEARER = 2.0  # times what training on plain images takes, about
_SHARE = 0.8  # of the seconds left, that training may take


class Effect(StrEnum):
    """What training on deformed images does to the error; the value is the word in JSON."""

    LOWERS = "lowers"
    RAISES = "raises"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class TrainedOnDeformed:
    """Errors of one network trained on plain and on deformed images, on the same test rows.

    Example:
        >>> TrainedOnDeformed("convolutional network", Paired(1000, 0.04, 0.02, 0.005)).effect.value
        'lowers'
    """

    name: str
    errors: Paired

    @property
    def effect(self) -> Effect:
        """What is certain of the difference on the test rows."""
        return Effect.LOWERS if self.errors.lower else Effect.RAISES if self.errors.higher else Effect.UNKNOWN

    def sentence(self, metric: Metric) -> str:
        """What training on deformed images does, at the size where it was measured."""
        says = {
            Effect.LOWERS: "lowers its error",
            Effect.RAISES: "raises its error",
            Effect.UNKNOWN: "changes its error by less than can be told",
        }[self.effect]
        e = self.errors
        return (
            f"Training the {self.name} on images that are deformed anew at every step {says}: from {metric.number(e.before)} to "
            f"{metric.number(e.after)} at {e.n:,} samples."
        )


def stability_of(candidate: Candidate, scene: Scene, deform: Deform) -> Stability | str:
    """R of fresh networks of a candidate; a note where it takes too long, nothing in it where there is nothing to say."""
    model, inputs = candidate.model, scene.native.inputs
    if isinstance(model, UserNetwork) and model.takes_tokens:
        return f"{candidate.name}: takes tokens, which cannot be deformed"
    if not isinstance(model, UserNetwork) and not is_network_family(model):
        return ""  # a kernel without networks
    shape, outputs = tuple(inputs.shape[1:]), scene.native.n_outputs
    width = _WIDE[any(p.ndim > 2 for p in fresh_network(candidate, shape, outputs, 1, 0).parameters())]
    first = fresh_network(candidate, shape, outputs, width, scene.seed)
    each = 3 * operations_per_sample(first, inputs)  # three passes: as they are, deformed, with noise
    fitting = [(nets, images) for nets, images in _SETTINGS if each * images * nets <= _WORK]
    if not fitting:
        return f"{candidate.name}: its stability was not measured, a pass through its networks takes too long"
    nets, images = fitting[0]
    drawn = [first, *(fresh_network(candidate, shape, outputs, width, scene.seed + k) for k in range(1, nets))]
    return stability(drawn, inputs[:images], deform, n_images=images, name=candidate.name, seed=scene.seed)


def train_on_deformed(scene: Scene, deform: Deform) -> TrainedOnDeformed | str:
    """The best network of the race once more on the largest part that the time allows, every batch deformed.

    It is the same estimator but for ``augment``, on the same training and test rows; a note where it cannot be done.
    """
    began, race = clock.process_time(), scene.race
    for row in scene.rows:
        record = race.records[row.name]
        estimator = undecided(record.contender.estimator)
        if not isinstance(estimator, TrainedNetwork) or isinstance(record.contender.estimator, Pipeline):
            continue
        if estimator.augment is not None or estimator.tokens:
            continue
        for rung in reversed(record.rungs):
            fold = record.folds(rung)[0]
            plain = record.trials[rung][fold]
            left = scene.seconds - (clock.process_time() - began)
            if _DEARER * plain.seconds > _SHARE * left:
                continue
            part = race.ladder.part(rung, fold)
            moved, cut = _trained(scene, record.contender, part, deform, _SHARE * left)
            if cut:  # fewer steps would be compared, not other images
                return (
                    f"{row.name}: training it on deformed images as long as on plain ones takes more time than was left"
                )
            still = plain.measured
            if str(Ended.SECONDS) in plain.notes:  # the race was short of time: both are trained without haste
                still, _ = _trained(scene, record.contender, part, None, _SHARE * left)
            blocks = race.problem.structure.blocks[part.test]
            luck = np.bincount(blocks, still.influence - moved.influence) / len(part.test)
            noise = float(np.sqrt((luck**2).sum()))
            return TrainedOnDeformed(row.name, Paired(len(part.train), still.value, moved.value, noise))
        return f"{row.name}: was not trained on deformed images, which would take too long"
    return ""


def _trained(
    scene: Scene, contender: Contender, part: Part, augment: Deform | None, seconds: float
) -> tuple[Measured, bool]:
    """The error of a network of the race whose batches are changed so, and whether the clock cut its training short."""
    again = clone(contender.estimator)
    names = {name.split("__")[-1]: name for name in again.get_params()}
    again.set_params(**{names["augment"]: augment, names["max_seconds"]: max(seconds, 0.5)})
    outputs, *_, ended = fitted_outputs(again, scene.problem, part, contender.native)
    return judged(scene.problem, scene.metric, part, outputs), str(Ended.SECONDS) in ended
