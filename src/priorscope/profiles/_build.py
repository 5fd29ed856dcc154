"""From a profile to something that predicts: the rows that may still be best, as one estimator of scikit-learn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from priorscope.models import Kernel, UserNetwork
from priorscope.probes import empirical_ntk
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._row import EstimatorRecipe, KernelRecipe, NetworkRecipe, Row
from priorscope.profiles._standing import Standing
from priorscope.sklearn import BalancedDecision, Encode, KernelMachine, Shortlist, Shrink, TrainedNetwork

if TYPE_CHECKING:
    from priorscope.profiles._candidates import Candidate
    from priorscope.profiles._result import Profile

__all__ = ["build", "chosen_rows", "encoder", "estimator_of", "own_estimator", "takes_any_rows"]

_MOST = {Kind.KERNEL: 3, Kind.CLASSICAL: 4, Kind.ESTIMATOR: 2, Kind.NETWORK: 1}  # members of a shortlist
_LEADING = (Standing.BEST, Standing.FIRST, Standing.ONLY, Standing.LEVEL)
_BATCH = 32  # of the networks that a profile trains
_KINDS = {
    "kernel": (Kind.KERNEL,),
    "network": (Kind.NETWORK,),
    "classical": (Kind.CLASSICAL, Kind.ESTIMATOR),
}
_METRICS = {
    Metric.MISCLASSIFICATION: "error",
    Metric.BALANCED_ERROR: "balanced",
    Metric.AUC: "auc",
    Metric.LOG_LOSS: "log-loss",
}


class TangentKernel:
    """The tangent kernel of a finite network at its present weights, as a model with a kernel.

    Example:
        >>> import torch
        >>> TangentKernel(torch.nn.Linear(2, 1, bias=False)).kernel(torch.eye(2)).ntk.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, network: nn.Module) -> None:
        self.network = network

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] = ("ntk",)) -> Kernel:
        """The kernel between two batches; there is no other than the tangent kernel."""
        found = empirical_ntk(self.network, x1.float(), None if x2 is None else x2.float()).detach()
        return Kernel(ntk=found.to(x1.dtype))


def build(result: Profile, kind: str | None = None) -> Shortlist:
    """The estimator of a profile: see :meth:`Profile.build`."""
    metric = _METRICS.get(result.metric, "error" if result.task == "classification" else "squared")
    if result.metric is Metric.SQUARED_ERROR:
        metric = "squared"
    members = [(row.name, estimator_of(row, result)) for row in chosen_rows(result, kind)]
    positions = result.input_shape if len(result.input_shape) > 1 else None
    return Shortlist(members, task=result.task, metric=metric, input_shape=positions)


def chosen_rows(result: Profile, kind: str | None = None) -> list[Row]:
    """The rows of a shortlist, best first: up to three kernel machines, those with features, four classical models, two
    estimators of the user.

    They are those that are not clearly worse than the first, and the best of each kind in any case. Kernels with features take
    part in any case too: from a pilot nobody knows when features will be found. A network takes part where it is first or
    level, for it takes longest to measure again; of networks asked for, the first only.
    """
    kinds = tuple(_MOST) if kind is None else _kinds(kind)
    if not any(row.kind in kinds for row in result.rows):
        raise ValueError(f"the profile has no {kind} to build; it has {_present(result)}.")
    found: list[Row] = []
    for one in kinds:
        rows = [row for row in result.rows if row.kind is one]
        if one is Kind.NETWORK and kind is None:
            rows = [row for row in rows if row.standing in _LEADING or row is result.best]
        learnt = [row for row in rows if one is Kind.KERNEL and isinstance(row.recipe, EstimatorRecipe)]
        rows = [row for row in rows if row.name not in {other.name for other in learnt}]
        near = [row for row in rows if not row.standing.clearly_behind]
        found += (near or rows[:1])[: _MOST[one]] + learnt
    names = {row.name for row in found}
    return [row for row in result.rows if row.name in names]


def _kinds(kind: str) -> tuple[Kind, ...]:
    if kind in _KINDS:
        return _KINDS[kind]
    raise ValueError(f"build takes {', '.join(map(repr, _KINDS))} or nothing; got {kind!r}.")


def _present(result: Profile) -> str:
    return ", ".join(dict.fromkeys(row.kind.plural for row in result.rows)) or "no rows"


def estimator_of(row: Row, result: Profile) -> BaseEstimator:
    """The predictor of one row as an estimator that takes flat rows of numbers.

    Where predictors were compared by balanced error it decides as it was measured (:class:`BalancedDecision`).
    """
    found = _plain(row, result)
    return BalancedDecision(found) if result.metric is Metric.BALANCED_ERROR else found


def takes_any_rows(estimator: BaseEstimator, result: Profile) -> bool:
    """Whether an estimator takes what the profile was given: frames, images and signals as they are, beside flat rows."""
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else estimator
    return isinstance(first, KernelMachine) or not (result.framed or len(result.input_shape) > 1)


def encoder(result: Profile) -> Encode:
    """What makes flat rows of numbers of the profile's inputs."""
    return Encode(input_shape=tuple(result.input_shape) if len(result.input_shape) > 1 else None)


def own_estimator(row: Row, result: Profile) -> BaseEstimator:
    """The predictor of one row as an estimator that takes what the profile was given: see :meth:`Profile.estimator`."""
    found = estimator_of(row, result)
    inner = found.estimator if isinstance(found, BalancedDecision) else found
    return found if takes_any_rows(inner, result) else make_pipeline(encoder(result), found)


def _plain(row: Row, result: Profile) -> BaseEstimator:
    """The predictor of one row with its own decision."""
    if isinstance(row.recipe, KernelRecipe):
        return _kernel(row.recipe, result)
    if isinstance(row.recipe, NetworkRecipe):
        return _network(row, row.recipe, result)
    assert isinstance(row.recipe, EstimatorRecipe)
    steps = [StandardScaler()] if row.recipe.scaled else []
    if not row.recipe.native and result.kernel_shape != result.input_shape:
        steps.insert(0, Shrink(tuple(result.input_shape), tuple(result.kernel_shape)))
    made = clone(row.recipe.estimator)
    if result.task == "regression" and not isinstance(made, KernelMachine):  # in a profile targets have unit variance
        made = TransformedTargetRegressor(made, transformer=StandardScaler())
    return make_pipeline(*steps, made) if steps else made


def _by_name(candidate: Candidate) -> Any:
    """The name of an architecture where a name says it all, else the model itself."""
    plain = not candidate.code and (bool(candidate.options) or candidate.family == candidate.name)
    return candidate.name if plain else candidate.model


def _kernel(recipe: KernelRecipe, result: Profile) -> BaseEstimator:
    """A kernel machine at the size that kernels were measured at; ridge by leave-one-out at fit."""
    assert recipe.candidate is not None
    shape = result.kernel_shape if len(result.kernel_shape) > 1 else None
    found = recipe.candidate.model
    if isinstance(found, UserNetwork):  # at the size of networks, and with their kernel as they start
        whole = result.input_shape if len(result.input_shape) > 1 else None
        return KernelMachine(TangentKernel(found), kind="ntk", task=result.task, input_shape=whole)
    model = _by_name(recipe.candidate)
    machine = KernelMachine(model, kind=recipe.kernel, task=result.task, input_shape=shape, whiten=False, flips=False)
    if shape is None or result.kernel_shape == result.input_shape:
        return machine
    return make_pipeline(Shrink(tuple(result.input_shape), tuple(result.kernel_shape)), machine)


def _network(row: Row, recipe: NetworkRecipe, result: Profile) -> BaseEstimator:
    """A network trained for as many epochs as did best on the pilot."""
    assert recipe.candidate is not None
    model = _by_name(recipe.candidate)
    tokens = isinstance(model, UserNetwork) and model.takes_tokens
    epochs = recipe.steps * _BATCH / row.curve.last[0]
    return TrainedNetwork(
        model,
        task=result.task,
        width=recipe.width or 1,
        learning_rate=float(f"{recipe.rate:.3g}"),
        epochs=math.ceil(epochs),
        min_steps=min(recipe.steps, 100),
        input_shape=tuple(result.input_shape) if len(result.input_shape) > 1 else None,
        tokens=tokens,
    )
