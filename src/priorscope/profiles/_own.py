"""Models that the user brings, as contenders: estimators, modules, factories, architectures, names."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from torch import nn

from priorscope.contracts import is_kernel_model, is_network_maker, name_of
from priorscope.models import from_factory, load
from priorscope.profiles._candidates import Candidate, named_candidate
from priorscope.profiles._contender import Contender
from priorscope.profiles._defaults import classical_contenders, kernel_contender, network_contenders, small_shape
from priorscope.profiles._kind import Kind
from priorscope.profiles._problem import Problem
from priorscope.sklearn import TrainedNetwork

__all__ = ["own_contenders"]


def own_contenders(model: object, problem: Problem, *, offered: bool = True) -> list[Contender]:
    """What takes part for one model of the user: an estimator as it is, an architecture as kernel machine and as network, any
    module or factory as a network trained as its owner would; texts are names of the table or ``package.module:factory``.
    """
    if isinstance(model, Contender):
        return [model]
    if isinstance(model, BaseEstimator):
        return [Contender(name_of(model), "", Kind.ESTIMATOR, model, None, 1.0, 1.0, offered=offered)]
    if isinstance(model, Candidate):
        return [kernel_contender(model, problem)]
    if isinstance(model, str):
        known = {c.name: c for c in (*classical_contenders(problem), *network_contenders(problem))}
        if model in known:
            return [known[model]]
        named = named_candidate(model, small_shape(problem.shape))
        if named is not None:
            return [kernel_contender(named, problem)]
        return _by_model(load(model), model.rpartition(":")[2], problem)
    return _by_model(model, None, problem)


def _by_model(model: object, name: str | None, problem: Problem) -> list[Contender]:
    """A model with a kernel as a kernel machine, anything that makes a module as a network."""
    label = name or name_of(model)
    if isinstance(model, BaseEstimator):
        return own_contenders(model, problem)
    if not isinstance(model, nn.Module) and not is_kernel_model(model) and callable(model):
        made = from_factory(model, tuple(problem.shape), problem.outputs, 0)
        if is_kernel_model(made):
            return _by_model(made, label, problem)
    if is_kernel_model(model):
        candidate = Candidate(label, model, "user", "your model, by its closed-form kernel")
        return [
            Contender(
                label,
                "",
                Kind.KERNEL,
                kernel_contender(candidate, problem).estimator,
                "kernel",
                2.0,
                0.5,
                candidate,
                True,
            )
        ]
    if is_network_maker(model):
        maker = model

        def drawn(seed: int) -> nn.Module:
            return maker.network(tuple(problem.shape), outputs=problem.outputs, seed=seed)

        return _by_model(drawn, label, problem)
    if not callable(model):
        raise TypeError(
            f"a model must be an estimator, an Architecture, an nn.Module or a factory; got {type(model).__name__}."
        )
    shape = tuple(problem.shape) if problem.positions else None
    network = TrainedNetwork(model, task=problem.task, input_shape=shape)
    return [Contender(label, "", Kind.NETWORK, network, "network", 0.5, 2.0, offered=True)]
