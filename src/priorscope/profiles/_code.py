"""The few lines of Python that build a row of a profile without the profile."""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from priorscope import sklearn as ours
from priorscope.profiles._build import chosen_rows, encoder, estimator_of, takes_any_rows
from priorscope.profiles._row import EstimatorRecipe
from priorscope.sklearn import BalancedDecision, KernelMachine, Shrink, TrainedNetwork

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile

__all__ = ["code"]


def code(result: Profile, kind: str | None = None) -> str:
    """Lines that build the winner (or the best of a kind), fit it and predict: see :meth:`Profile.code`."""
    row = result.best if kind is None else chosen_rows(result, kind)[0]
    estimator = estimator_of(row, result)
    balanced = isinstance(estimator, BalancedDecision)
    estimator = estimator.estimator if balanced else estimator
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    needs: set[str] = set()
    model = "" if isinstance(row.recipe, EstimatorRecipe) or row.recipe.candidate is None else row.recipe.candidate.code
    made = [_written(step, needs, model) for step in steps]
    if balanced:
        made[-1] = f"ps.sklearn.BalancedDecision({made[-1]})"
        needs.add("import priorscope as ps")
    if not takes_any_rows(estimator, result):
        made.insert(0, _written(encoder(result), needs))
    made = [_wrapped(line, 60 if len(made) == 1 else 56) for line in made]
    if len(made) > 1:
        needs.add("from sklearn.pipeline import make_pipeline")
        inside = "\n".join("    " + line.replace("\n", "\n    ") + "," for line in made)
        text = f"model = make_pipeline(\n{inside}\n)"
    else:
        text = f"model = {made[0]}"
    order = sorted(needs, key=lambda line: (not line.startswith("import"), line))
    return "\n".join([*order, "", text, "model.fit(X, y)", "model.predict(X_new)"])


def _wrapped(call: str, width: int) -> str:
    """A call on one line, or with one argument per line where it is too long."""
    if len(call) <= width or call.endswith("()"):
        return call
    name, _, rest = call.partition("(")
    return f"{name}(\n" + "".join(f"    {one},\n" for one in _split(rest[:-1])) + ")"


def _split(arguments: str) -> list[str]:
    """Arguments at the commas that are in no brackets.

    Example:
        >>> _split("'fcn-3', input_shape=(1, 8, 8)")
        ["'fcn-3'", 'input_shape=(1, 8, 8)']
    """
    found, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _written(step: BaseEstimator, needs: set[str], model: str = "") -> str:
    """One estimator as a call, with the arguments that differ from their defaults; imports are added to ``needs``.

    ``model`` is the call that makes the model, where it has no name.
    """
    kind = type(step)
    if kind in (getattr(ours, name) for name in ours.__all__):
        needs.add("import priorscope as ps")
        place = "ps." if isinstance(step, KernelMachine) else "ps.sklearn."
    else:
        package = ".".join(itertools.takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
        needs.add(f"from {package} import {kind.__name__}")
        place = ""
    return f"{place}{kind.__name__}({', '.join(_arguments(step, needs, model))})"


def _arguments(step: BaseEstimator, needs: set[str], model: str = "") -> list[str]:
    """The arguments of a call: the model first, then those that are not as by default."""
    given = []
    values = step.get_params(deep=False)
    for name, parameter in inspect.signature(type(step).__init__).parameters.items():
        if name not in values or (isinstance(step, KernelMachine) and name in ("whiten", "flips")):
            continue  # what a machine tries beside its kernel is left to it
        value = values[name]
        if isinstance(value, BaseEstimator):
            named = f"{name}=" if parameter.kind is parameter.KEYWORD_ONLY else ""
            given.append(named + _written(value, needs))
        elif name in ("arch", "model") and isinstance(step, KernelMachine | TrainedNetwork):
            given.append(repr(value) if isinstance(value, str) else model or "your_model")
        elif isinstance(step, Shrink) or (not _same(value, parameter.default) and name != "task"):
            prefix = "" if isinstance(step, Shrink) else f"{name}="
            given.append(f"{prefix}{float(f'{value:.4g}') if isinstance(value, float) else value!r}")
    return given


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default
