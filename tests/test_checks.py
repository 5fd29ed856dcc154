"""Every public function and class refuses numbers it cannot mean: fractions of steps, NaN, words, seeds of wrong type."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.checks import (
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    SEED,
    check,
    checked,
    each,
    number,
    optional,
    whole,
    word_or,
)

PARTS = ("data", "inference", "lab", "models", "probes", "profiles", "statistics", "system", "testing")
RESULTS = re.compile(
    r"^(Fitted\w*|Outcome|Covariance|Profile|ArchitectureProfile|Baseline|Paired|Step|Waiting|Backbone|Scene|Row|\w+Recipe|\w*Pilot|Frozen\w+|SampledKernel|Interval|PowerLaw|ModeBudget|Encoding"
    r"|RandomFeaturesRisk|TeacherExponent|ABCParametrisation|RigidMove|GridMove|LabelMove"
    r"|exact|Repair|HandOver|FoldTemperatures|\w*Verdict|Evidence|Expectation|ReadOptions|Record|Salvaged|Runs|TakenUp|SweepSummary|Paper|Claim)$"
)  # made by us, never by hand


def public(part: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    todo, seen = [importlib.import_module(f"priorscope.{part}")], set()
    while todo:
        module = todo.pop()
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                todo += [value] if value.__name__.startswith("priorscope.") else []
            elif callable(value) and id(value) not in seen and not isinstance(value, type(int | str)):
                seen.add(id(value))
                yield name, value


def is_result(name: str, value: object) -> bool:
    """What a probe gives: it has a table and a chart, or stands in the list above."""
    return bool(RESULTS.match(name)) or (inspect.isclass(value) and any(hasattr(value, n) for n in ("table", "chart")))


def bad_values(annotation: str) -> list[object]:
    """Values that no argument of this type can mean."""
    if "|None" not in annotation and annotation != "ArrayLike" and "None" not in annotation:
        missing: list[object] = [None]
    else:
        missing = []
    kind = annotation.replace("|None", "")
    if kind in ("int", "float"):
        return [*missing, math.nan, "x", [1, "x"], *([2.5, -3, True] if kind == "int" else [])]
    if re.fullmatch(r"(tuple|Sequence)\[(int|float)(,.*)?\]", kind):
        return [*missing, (math.nan,), ("x",), "x", *([(2.5,), (-3,)] if "int" in kind else [])]
    return []


UNCHECKED = {
    ("SamplesNeeded", "error"), ("SamplesNeeded", "value"), ("SamplesNeeded", "low"), ("SamplesNeeded", "high"),
    ("TwoSample", "distance"), ("TwoSample", "p_value"), ("Coupling", "residual"), ("Plan", "time"), ("Plan", "width"),
    ("Plan", "samples"),
}  # fmt: skip
"""Numbers that a probe found, in small results without a table."""


def arguments(part: str) -> Iterator[tuple[str, Callable[..., Any], inspect.Parameter]]:
    for name, value in public(part):
        try:
            parameters = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            continue
        for parameter in parameters:
            given = (name, parameter.name) not in UNCHECKED and parameter.kind is not parameter.POSITIONAL_ONLY
            if given and not is_result(name, value):
                yield name, value, parameter


@pytest.mark.parametrize("part", PARTS)
def test_numbers_that_cannot_be_meant_are_refused(part):
    """Decorate what this finds with ``priorscope.checks.checked``."""
    taken, tried = [], 0
    for name, target, parameter in arguments(part):
        for bad in bad_values(str(parameter.annotation).replace(" ", "")):
            tried += 1
            try:
                target(**{parameter.name: bad})
            except ValueError as error:
                if re.search(rf"needs .*\b{parameter.name}\b.*; got", str(error)):
                    continue
                taken.append(f"{name}({parameter.name}={bad!r}) says {error}")
            except Exception as error:
                taken.append(f"{name}({parameter.name}={bad!r}) raises {type(error).__name__}: {error}")
            else:
                taken.append(f"{name}({parameter.name}={bad!r}) is taken")
    assert tried > 4
    assert not taken, "\n".join(taken)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ps.inference.GradientDescent(learning_rate=-1),
            "GradientDescent needs a finite learning_rate > 0; got -1",
        ),
        (lambda: ps.inference.GradientDescent(learning_rate=math.inf), "finite learning_rate > 0; got inf"),
        (lambda: ps.inference.GradientDescent(steps=2.5), "whole number steps >= 1; got 2.5"),
        (lambda: ps.inference.GradientDescent(momentum=1.0), "0 <= momentum < 1; got 1.0"),
        (lambda: ps.inference.GradientDescent(betas=(0.9, math.nan)), "betas"),
        (lambda: ps.inference.KernelRegression(ridge=math.inf), "finite ridge >= 0; got inf"),
        (
            lambda: ps.inference.KernelRegression(learning_rate=0.1, steps=-3),
            "whole number steps >= 0, or None; got -3",
        ),
        (lambda: ps.inference.GaussianProcess(noise=math.nan), "GaussianProcess needs a finite noise >= 0; got nan"),
        (lambda: ps.inference.GradientFlow(alpha=[1.0, math.nan]), "finite alpha > 0 or such values"),
        (lambda: ps.inference.GradientFlow(record=-1), "record"),
        (lambda: ps.models.fcn(depth=0), "fcn needs a whole number depth >= 1; got 0"),
        (lambda: ps.models.gap(weight_variance=-1), "weight_variance >= 0; got -1. Pass a variance, not"),
        (lambda: ps.models.fcn().network((3,), width=0), "network needs a whole number width >= 1; got 0"),
        (lambda: ps.models.fcn().network((3, -1)), "network needs input_shape with every entry"),
        (lambda: ps.models.fcn().network((3,), seed="a"), "needs a whole number seed >= 0; got 'a'. Every draw"),
        (lambda: ps.models.lenet().network((1, 8, 8), seed=1.5), "whole number seed >= 0; got 1.5"),
        (
            lambda: ps.probes.average_geometry(torch.nn.Linear(3, 1), (3,), precision=5),
            "0 < precision < 1.*relative error",
        ),
        (lambda: ps.probes.average_geometry(torch.nn.Linear(3, 1), (0,)), "a probe needs shape with every entry"),
        (lambda: ps.forecast(np.ones((20, 2)), np.ones(20), ridge="best"), "finite ridge >= 0, or 'tuned'"),
        (lambda: ps.forecast(np.ones((20, 2)), np.ones(20), ridge=math.inf), "finite ridge >= 0, or 'tuned'"),
        (lambda: ps.profile(None, level=90), "profile needs a number 0 < level < 1; got 90"),
        (lambda: ps.System(None, None, None, members=0), "System needs a whole number members >= 1; got 0"),
    ],
)
def test_what_is_said(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("settings", [{"ridge": math.nan}, {"ridge": "x"}, {"time": -1.0}, {"input_shape": (1.5,)}])
def test_estimators_say_it_when_fitted(settings):
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    for kind in (ps.sklearn.NTKRegressor, ps.sklearn.NTKClassifier):
        with pytest.raises(ValueError, match=f"{kind.__name__} needs .*{next(iter(settings))}"):
            kind(**settings).fit(X, y)


def test_rules_take_what_they_should():
    for rule, good in (
        (whole(), (1, np.int64(3))),
        (POSITIVE, (1, 0.5, np.float32(2))),
        (NOT_NEGATIVE, (0, 0.0)),
        (FRACTION, (0.5,)),
        (SEED, (0, 2**40)),
        (number(above=0, infinite=True), (math.inf,)),
        (optional(whole()), (None, 1)),
        (each(POSITIVE, alone=True), (1.0, [1.0, 2], np.ones(3), torch.ones(2), (x for x in (1, 2)))),
    ):
        for value in good:
            check("f", "x", value, rule)


def test_rules_refuse_what_they_should():
    for rule, bad in (
        (whole(2, most=4), (1, 5, 2.0, True, "3")),
        (number(above=1, below=3), (1, 3, True, math.nan, "2")),
        (number(least=1), (0.9, math.inf)),
        (number(infinite=True), (math.nan,)),
        (optional(whole(2)), (1,)),
        (word_or(POSITIVE, "auto", "all"), ("best", 0.0, None)),
        (each(POSITIVE), (1.0, [], [[1.0, 2.0], [0.0, 1.0]], "12", [1.0, "x"])),
        (each(POSITIVE, alone=True), (0.0, [], [0.0])),
        (each(POSITIVE, empty=True), ([0.0], 1.0)),
    ):
        for value in bad:
            assert not rule.accepts(value), (rule.wanted, value)
            with pytest.raises(ValueError, match="f needs"):
                check("f", "x", value, rule)
    for rule, good in (
        (whole(2, most=4), (2, 4)),
        (word_or(POSITIVE, "auto", "all"), ("auto", "all", 2)),
        (each(POSITIVE), ([[1.0, 2.0], [3.0, 1.0]], torch.tensor(2.0), np.array(2.0))),
        (each(POSITIVE, empty=True), ([], [1.0])),
    ):
        for value in good:
            check("f", "x", value, rule)


def test_the_decorator_leaves_the_function_as_it_was():
    @checked(n=whole())
    def f(n: int, *, word: str = "a") -> str:
        """Say it."""
        return word * n

    assert f(2, word="b") == "bb"
    assert f.__doc__ == "Say it."
    assert list(inspect.signature(f).parameters) == ["n", "word"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        f(1, m=2)
    with pytest.raises(AssertionError, match="has no"):
        checked(m=whole())(f)
