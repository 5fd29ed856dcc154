"""Kernels with features, where these pay on the pilot: inputs pass through what a first fit found to count."""

from __future__ import annotations

from priorscope.profiles._feature_trials import DISTANCE, FeatureTrial, feature_trials
from priorscope.profiles._kind import Kind
from priorscope.profiles._scene import Scene
from priorscope.profiles.sources._source import EstimatorOffer, Source
from priorscope.sklearn import KernelMachine

__all__ = ["FEATURES", "row_name"]

_WORDS = {
    "laplace": "rough functions of the distance",
    "gaussian": "smooth functions of the distance",
    "fcn": "a fully connected tangent kernel",
}


def row_name(kernel: str) -> str:
    """The name of the row of a kernel with features.

    Example:
        >>> row_name("laplace")
        'laplace + features'
    """
    return f"{kernel} + features"


def _offer(scene: Scene) -> list[EstimatorOffer]:
    """The best kernel of the distance and the fully connected one, each guided by the kernel it grows from, where it pays."""
    paying = [trial for trial in feature_trials(scene) if trial.pays]
    distance = [trial for trial in paying if trial.name in DISTANCE][:1]
    dense = [trial for trial in paying if trial.name not in DISTANCE]
    shape = tuple(scene.view.inputs.shape[1:]) if scene.view.inputs.ndim > 2 else None
    return [_row(trial, shape) for trial in (*distance, *dense)]


def _row(trial: FeatureTrial, shape: tuple[int, ...] | None) -> EstimatorOffer:
    return EstimatorOffer(
        row_name(trial.name),
        f"{_WORDS[trial.family]}, in a metric learnt from the slopes of a first fit",
        (KernelMachine(trial.name, features="learn", input_shape=shape, whiten=False, flips=False),),
        Kind.KERNEL,
        of="kernel regression alternated with its average gradient outer product; all settings by leave-one-out",
        like=trial.name,
        scaled=False,
    )


FEATURES = Source("features", _offer)
