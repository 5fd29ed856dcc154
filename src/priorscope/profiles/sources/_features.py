"""The Laplace kernel with features: its inputs pass through what a first fit found to count."""

from __future__ import annotations

from priorscope.profiles._kind import Kind
from priorscope.profiles._scene import Scene
from priorscope.profiles.sources._source import EstimatorOffer, Source
from priorscope.sklearn import KernelMachine

__all__ = ["FEATURES", "MOST_INPUTS", "NAME"]

NAME = "laplace + features"
MOST_INPUTS = 200  # numbers per input up to which features are learnt on every part of the pilot
FEWEST = 40  # samples of a draw below which a quarter of them teaches nothing about directions


def _offer(scene: Scene) -> list[EstimatorOffer]:
    """One row, guided by the Laplace kernel it grows from; none where inputs are many or samples few."""
    plain = any(row.name == "laplace" for row in scene.rows)
    if not plain or scene.view.inputs[0].numel() > MOST_INPUTS or scene.view.design.n < FEWEST:
        return []
    shape = tuple(scene.view.inputs.shape[1:]) if scene.view.inputs.ndim > 2 else None
    words = "rough functions of the distance, in a metric learnt from the slopes of a first fit"
    return [
        EstimatorOffer(
            NAME,
            words,
            (KernelMachine("laplace", features="learn", input_shape=shape, whiten=False, flips=False),),
            Kind.KERNEL,
            of="kernel regression alternated with its average gradient outer product; all settings by leave-one-out",
            like="laplace",
            scaled=False,
        )
    ]


FEATURES = Source("features", _offer)
