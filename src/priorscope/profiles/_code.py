"""The lines of Python that build a row of a profile without the profile: the same estimator, argument for argument."""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import priorscope as ps
from priorscope import models
from priorscope import sklearn as ours
from priorscope.contracts import name_of
from priorscope.models import RememberedKernel
from priorscope.profiles._build import built, row_of_kind
from priorscope.profiles._contender import undecided
from priorscope.sklearn import Average

if TYPE_CHECKING:
    from priorscope.profiles._candidates import Candidate
    from priorscope.profiles._result import Profile

__all__ = ["code"]

_WIDTH = 80


def code(result: Profile, kind: str | None = None) -> str:
    """Lines that build the first row (or the first of a kind), fit it and predict: see :meth:`Profile.code`."""
    row = result.best if kind is None else row_of_kind(result, kind)
    writer = _Writer(result)
    made = writer.written(built(result, row), writer.candidate_of(row.name))
    needs = sorted(writer.needs, key=lambda line: (not line.startswith("import"), line))
    left = [f"# {name}: the model that was given to the profile" for name in writer.given]
    return "\n".join([*needs, *left, "", f"model = {_wrapped(made)}", "model.fit(X, y)", "model.predict(X_new)"])


class _Writer:
    """Writes estimators as calls, and remembers what has to be imported and what only the user has."""

    def __init__(self, result: Profile) -> None:
        self.result = result
        self.needs: set[str] = set()
        self.given: list[str] = []

    def candidate_of(self, name: str) -> Candidate | None:
        """The architecture behind a row."""
        return self.result.race.records[name].contender.candidate

    def written(self, step: BaseEstimator, candidate: Candidate | None) -> str:
        """One estimator as a call, with the arguments that differ from their defaults."""
        if isinstance(step, Pipeline):
            self.needs.add("from sklearn.pipeline import make_pipeline")
            return f"make_pipeline({', '.join(self.written(one, candidate) for _, one in step.steps)})"
        return f"{self._place(type(step))}({', '.join(self._arguments(step, candidate))})"

    def _place(self, kind: type) -> str:
        """The name by which a class is called, imported where it has to be."""
        name = kind.__name__
        for room, prefix in ((ps, "ps."), (models, "ps.models."), (ours, "ps.sklearn.")):
            if name in room.__all__ and getattr(room, name) is kind:
                self.needs.add("import priorscope as ps")
                return f"{prefix}{name}"
        package = ".".join(itertools.takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
        self.needs.add(f"from {package} import {name}")
        return name

    def _arguments(self, step: BaseEstimator, candidate: Candidate | None) -> list[str]:
        """The settings of a step that are not its defaults, as they are written."""
        values, plain = step.get_params(deep=False), True
        found: list[str] = []
        for name, parameter in inspect.signature(type(step).__init__).parameters.items():
            if name not in values:
                continue
            value = values[name]
            if parameter.default is not parameter.empty and _same(value, parameter.default):
                plain = False  # a later argument needs its name
                continue
            written = (
                self._members(step)
                if isinstance(step, Average) and name == "members"
                else self._value(value, candidate)
            )
            named = (
                parameter.kind is parameter.KEYWORD_ONLY
                or not plain
                or (parameter.default is not parameter.empty and bool(found))
            )
            found.append(f"{name}={written}" if named else written)
        return found

    def _members(self, average: Average) -> str:
        pairs = [
            f"({_quoted(name)}, {self.written(undecided(one), self.candidate_of(name))})"
            for name, one in average.members
        ]
        return f"[{', '.join(pairs)}]"

    def _value(self, value: object, candidate: Candidate | None) -> str:
        """One setting as it is written."""
        if isinstance(value, BaseEstimator):
            return self.written(value, candidate)
        if isinstance(value, RememberedKernel):
            return f"{self._place(RememberedKernel)}({self._value(value.model, candidate)})"
        if isinstance(value, str):
            return _quoted(value)
        if value is None or isinstance(value, bool | int | float):
            return repr(value)
        if isinstance(value, np.generic):
            return repr(value.item())
        if isinstance(value, list | tuple):
            inner = ", ".join(self._value(v, candidate) for v in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self._value(v, candidate)}" for k, v in value.items()) + "}"
        return self._model(value, candidate)

    def _model(self, value: object, candidate: Candidate | None) -> str:
        """A model: the call that makes the architecture, a function by its import, else the user's own under a name."""
        if candidate is not None and (candidate.code or (candidate.family in models.NAMED and candidate.options)):
            self.needs.add("import priorscope as ps")
            if candidate.code:
                return candidate.code
            options = ", ".join(
                f"{name}={_quoted(given) if isinstance(given, str) else repr(given)}"
                for name, given in candidate.options.items()
            )
            return f"ps.models.{candidate.family}({options})"
        if candidate is not None and candidate.family in ("laplace", "gaussian"):
            self.needs.add("import priorscope as ps")
            return f"ps.models.{candidate.family}()"
        name = name_of(value)
        name = name if name.isidentifier() else "your_model"
        if name not in self.given:
            self.given.append(name)
        return name


def _quoted(text: str) -> str:
    """A text as people write it, in double quotes where that is as good."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in plain else plain


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and bool(value == default)


def _wrapped(call: str, indent: int = 0) -> str:
    """A call on one line, or with one argument per line where it is too long."""
    if len(call) + indent + 8 * (indent == 0) <= _WIDTH or call[-1] not in ")]" or call.endswith(("()", "[]")):
        return call
    opening = next((i for i, letter in enumerate(call) if letter in "(["), 0)
    inner = _split(call[opening + 1 : -1])
    space = " " * (indent + 4)
    lines = [f"{space}{_argument(one, indent + 4)},\n" for one in inner]
    return f"{call[: opening + 1]}\n{''.join(lines)}{' ' * indent}{call[-1]}"


def _argument(one: str, indent: int) -> str:
    """One argument, wrapped behind its name where it has one."""
    name, sign, value = one.partition("=")
    if sign and name.isidentifier():
        return f"{name}={_wrapped(value, indent + len(name) + 1) if len(one) + indent > _WIDTH else value}"
    return _wrapped(one, indent)


def _split(arguments: str) -> list[str]:
    """Arguments at the commas that are in no brackets and in no text.

    Example:
        >>> _split("'fcn, 3', input_shape=(1, 8, 8)")
        ["'fcn, 3'", 'input_shape=(1, 8, 8)']
    """
    found, depth, quote = [""], 0, ""
    for letter in arguments:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0 and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]
