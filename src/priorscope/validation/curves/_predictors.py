"""Predictors whose learning curves are measured, as a race of the profile measures them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["PREDICTORS", "Predictor"]

SECONDS = 1.0  # of processor time that one fit may take where an estimator looks at the clock


@dataclass(frozen=True)
class Predictor:
    """An estimator, its kind of prior, and the largest training size that a few seconds allow; ``image``: wants positions."""

    kind: str
    make: Callable[[str], BaseEstimator]
    largest: int = 8192
    image: bool = False


def _tuned(name: str) -> Callable[[str], BaseEstimator]:
    def make(task: str) -> BaseEstimator:
        from priorscope.sklearn import Tuned

        return Tuned(name, task=task, max_seconds=SECONDS)

    return make


def _machine(features: str | None) -> Callable[[str], BaseEstimator]:
    def make(task: str) -> BaseEstimator:
        from priorscope.sklearn import KernelMachine

        return KernelMachine("fcn-2", task=task, features=features)

    return make


def _network(model: str) -> Callable[[str], BaseEstimator]:
    def make(task: str) -> BaseEstimator:
        from priorscope.sklearn import TrainedNetwork

        return TrainedNetwork(model, task=task, max_seconds=SECONDS)

    return make


def _neighbours(task: str) -> BaseEstimator:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), KNeighborsClassifier() if task == "classification" else KNeighborsRegressor()
    )


PREDICTORS = {
    "linear": Predictor("linear", _tuned("linear")),
    "random trees": Predictor("tree", _tuned("random trees")),
    "boosted trees": Predictor("tree", _tuned("boosted trees"), 4096),
    "neighbours": Predictor("neighbours", _neighbours),
    "support vectors": Predictor("kernel", _tuned("SVM"), 4096),
    "kernel machine": Predictor("kernel", _machine(None), 2048),
    "kernel machine, features": Predictor("kernel", _machine("learn"), 1024),
    "dense network": Predictor("network", _network("dense"), 4096),
    "convolutional network": Predictor("network", _network("convolutional"), 2048, image=True),
}
