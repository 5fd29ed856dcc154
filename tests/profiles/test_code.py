"""What ``rep.code()`` prints is what ``rep.build()`` gives: executed, it predicts the same, on images, tables and frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

import priorscope as ps
from priorscope.profiles import Profile
from priorscope.profiles._code import _split, _wrapped


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    made = pd.DataFrame({"size": rng.normal(size=90), "town": rng.choice(["Rom", "Bonn"], 90)})
    made.loc[3, "size"] = np.nan
    return made, np.where(made["town"] == "Rom", 2.0, 0.0) + made["size"].fillna(0).to_numpy() ** 2


def digits() -> tuple[np.ndarray, np.ndarray]:
    found = load_digits()
    return found.images[:120], found.target[:120]


CASES = {
    "digits": (digits, ["fcn-1", "gap-1", "linear"], 8),
    "wine": (lambda: load_wine(return_X_y=True), ["laplace", "linear", "dense network"], 6),
    "iris": (lambda: load_iris(return_X_y=True), ["fcn-3-erf", "random trees"], 4),
    "frame": (frame, ["fcn-1", "linear", "boosted trees"], 4),
}


def said(rep: Profile, kind: str | None, x: object, y: object) -> np.ndarray:
    """Run the lines, without their last, and predict."""
    space = {"X": x, "y": y, "X_new": x}
    exec(rep.code(kind), space)
    model: object = space["model"]
    return np.asarray(model.predict(x))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CASES)
def test_the_code_executed_predicts_what_the_built_estimator_predicts(name):
    make, candidates, budget = CASES[name]
    x, y = make()
    rep = ps.profile(x, y, candidates=candidates, budget=budget, deep=False)
    kinds = [None, *(k for k, kind in (("kernel", "kernel machine"), ("classical", "classical model"), ("average", "average"))
                     if rep.best_of(kind) is not None)]  # fmt: skip
    for kind in kinds:
        if kind == "average" and "dense network" in rep.best_of("average").name:
            continue  # trained for as long as the clock says
        built = rep.build(kind).fit(x, y)
        assert np.array_equal(said(rep, kind, x, y), np.asarray(built.predict(x))), (kind, rep.code(kind))


def test_all_settings_are_written_and_only_those_that_differ():
    x, y = load_iris(return_X_y=True)
    rep = ps.profile(x, y, candidates=[LogisticRegression(C=0.5, max_iter=300)], budget=2, deep=False)
    assert rep.code().splitlines() == [
        "from sklearn.linear_model import LogisticRegression",
        "",
        "model = LogisticRegression(C=0.5, max_iter=300)",
        "model.fit(X, y)",
        "model.predict(X_new)",
    ]


def test_a_balanced_metric_is_written_with_its_decision():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    rep = ps.profile(x, x[:, 0] > 1.7, candidates=["linear"], budget=2, deep=False)
    assert rep.metric.value == "balanced-error"
    assert "ps.sklearn.BalancedDecision(" in rep.code()


def test_long_calls_are_wrapped_at_their_arguments():
    call = f'f("a, b", x=({", ".join(["1"] * 40)}), y=[1, 2])'
    assert _split('"a, b", x=(1, 2), y=[3]') == ['"a, b"', "x=(1, 2)", "y=[3]"]
    lines = _wrapped(call).splitlines()
    assert lines[0] == "f("
    assert lines[1] == '    "a, b",'
    assert eval(_wrapped(call), {"f": lambda a, x, y: (a, x, y)}) == ("a, b", (1,) * 40, [1, 2])
    assert _wrapped("f(1)") == "f(1)"
