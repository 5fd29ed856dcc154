"""From a profile to an estimator: the shortlist, its form of inputs, and code that stands without the profile."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, SVR

import priorscope as ps
from priorscope.profiles import EstimatorRecipe, KernelRecipe, Kind, NetworkRecipe, Profile, Standing
from priorscope.profiles._build import chosen_rows, estimator_of

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(90, 2)), columns=["a", "b"]).assign(kind=RNG.choice(["u", "v"], 90))
Y = np.where(FRAME["a"] + 2.0 * (FRAME["kind"] == "v") > 1, "yes", "no")


@pytest.fixture(scope="module")
def found() -> Profile:
    """A profile of a frame with a row of every kind, the network's and the classical model's made up."""
    made = ps.profile(FRAME, Y, deep=False, trials=False)
    kernels = [row for row in made.rows if row.kind is Kind.KERNEL]
    plain = (row for row in kernels if isinstance(row.recipe, KernelRecipe))  # rows with features are estimators
    kernel = next(row for row in plain if isinstance(row.recipe.candidate.model, ps.models.Architecture))
    candidate = kernel.recipe.candidate
    network = replace(kernel, name="net", kind=Kind.NETWORK, recipe=NetworkRecipe(candidate, 32, 0.01, 100))
    svm = replace(kernel, name="svm", kind=Kind.CLASSICAL, recipe=EstimatorRecipe(SVC(C=3.0)))
    rows = [replace(network, standing=Standing.WORSE), replace(svm, standing=Standing.LEVEL)]
    return replace(made, rows=(*(row for row in made.rows if row.kind is Kind.KERNEL), *rows))


def test_the_shortlist_holds_what_may_be_best_and_the_best_of_each_kind(found: Profile) -> None:
    names = [row.name for row in chosen_rows(found)]
    assert names[0] == found.best.name
    assert "svm" in names
    assert "net" not in names  # clearly worse
    assert [row.name for row in chosen_rows(found, "network")] == ["net"]
    assert {row.kind for row in chosen_rows(found, "kernel")} == {Kind.KERNEL}
    with pytest.raises(ValueError, match="build takes 'kernel', 'network', 'classical' or nothing; got 'svm'"):
        found.build("svm")
    only = replace(found, rows=found.rows[:1])
    with pytest.raises(ValueError, match="the profile has no network to build; it has kernel machines"):
        only.build("network")


def test_a_network_is_trained_for_as_many_epochs_as_on_the_pilot(found: Profile) -> None:
    """300 steps of 32 samples on the largest part, n of them, are 300 · 32 / n epochs."""
    row = next(row for row in found.rows if row.name == "net")
    n = row.curve.last[0]
    assert n == row.curve.sizes[-1] > 32
    made = estimator_of(replace(row, recipe=replace(row.recipe, steps=300, rate=0.012345)), found)
    assert (made.epochs, made.min_steps, made.width) == (math.ceil(300 * 32 / n), 100, 32)
    assert made.learning_rate == 0.0123
    assert estimator_of(replace(row, recipe=replace(row.recipe, steps=7)), found).min_steps == 7


def test_the_goal_is_half_the_error_of_the_best_row_by_default(found: Profile) -> None:
    assert found.target_error == pytest.approx(found.rows[0].now[1].value / 2)
    assert found.rows[0].needed.error == found.target_error


@pytest.mark.parametrize("kind", [None, "kernel", "network", "classical"])
def test_every_kind_is_fitted_on_the_form_that_was_profiled(found: Profile, kind: str | None) -> None:
    model = clone(found.build(kind))
    train, test = np.arange(90) % 3 > 0, np.arange(90) % 3 == 0
    model.fit(FRAME[train], Y[train])
    assert model.score(FRAME[test], Y[test]) > 0.8
    assert model.predict_proba(FRAME[test]).shape == (30, 2)
    names = model.report_.chosen.removeprefix("the average of ").replace(" and ", ", ").split(", ")
    assert set(names) <= {row.name for row in found.rows}
    guess = max(np.mean(Y == "yes"), np.mean(Y == "no"))
    assert guess < 0.75  # and it can fail


def test_a_built_model_in_cross_validation(found: Profile) -> None:
    assert cross_val_score(found.build("classical"), FRAME, Y, cv=3).mean() > 0.8


@pytest.mark.parametrize("kind", [None, "kernel", "network", "classical"])
def test_the_code_runs_and_predicts_as_the_row_does(found: Profile, kind: str | None) -> None:
    text = found.code(kind)
    assert len(text.splitlines()) < 17
    scope = {"X": FRAME[:60], "y": Y[:60], "X_new": FRAME[60:]}
    exec(compile(text, "code", "exec"), scope)
    row = chosen_rows(found, kind)[0]
    coded = ps.sklearn.Encode().fit(FRAME[:60])
    again = estimator_of(row, found).fit(coded.transform(FRAME[:60]), Y[:60])
    wanted = again.predict(coded.transform(FRAME[60:]))
    np.testing.assert_array_equal(scope["model"].predict(FRAME[60:]), wanted)


def test_large_images_are_shrunk_for_kernels_and_kept_for_networks() -> None:
    images = RNG.normal(size=(40, 20, 20))
    labels = images[:, 5:15, 5:15].mean((1, 2)) > 0
    made = ps.profile(images, labels, deep=False, trials=False, candidates=[ps.models.vec(1)])
    assert made.input_shape == (1, 20, 20)
    assert made.kernel_shape == (1, 14, 14)
    kernel = next(row for row in made.rows if row.kind is Kind.KERNEL)
    shrink = estimator_of(kernel, made).steps[0][1]
    assert (tuple(shrink.input_shape), tuple(shrink.shape)) == ((1, 20, 20), (1, 14, 14))
    network = replace(kernel, kind=Kind.NETWORK, recipe=NetworkRecipe(kernel.recipe.candidate, 8, 0.01, 10))
    assert estimator_of(network, made).input_shape == (1, 20, 20)
    assert "averaged from 20×20 to 14×14" in " ".join(made.notes)
    assert "ps.sklearn.Shrink((1, 20, 20), (1, 14, 14))" in made.code("kernel")
    assert made.build("kernel").fit(images, labels).predict(images[:3]).shape == (3,)


def test_numbers_are_fitted_in_the_unit_of_the_profile_whatever_theirs_is() -> None:
    """An SVM's margin and strength are in units of its targets: in a profile these have variance one, and what is built must
    not depend on whether y is in millimetres or in kilometres. The control is the same SVM on y as it is."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 2))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=80)
    guesses = []
    for unit in (1e-4, 1e4):
        made = ps.profile(x, unit * y, deep=False, trials=False)
        row = replace(made.rows[0], name="svr", kind=Kind.CLASSICAL, recipe=EstimatorRecipe(SVR(C=1.0)))
        with_svm = replace(made, rows=(row, *made.rows[1:]))
        model = estimator_of(row, with_svm).fit(x[:60], unit * y[:60])
        guesses.append(model.predict(x[60:]) / unit)
        scope = {"X": x[:60], "y": unit * y[:60], "X_new": x[60:]}
        exec(compile(with_svm.code(), "code", "exec"), scope)
        np.testing.assert_allclose(scope["model"].predict(x[60:]) / unit, guesses[-1])
    np.testing.assert_allclose(guesses[0], guesses[1], rtol=1e-6)
    assert np.corrcoef(guesses[0], y[60:])[0, 1] > 0.9
    assert np.ptp(SVR(C=1.0).fit(x[:60], 1e-4 * y[:60]).predict(x[60:])) == 0


def test_every_row_takes_what_the_profile_was_given() -> None:
    """Images given as images: the estimator of each row is fitted to images, and to flat rows just so."""
    x = np.random.default_rng(0).normal(size=(80, 1, 4, 4))
    y = (x[:, 0, 0, 0] > 0).astype(int)
    rep = ps.profile(x, y, deep=False, candidates=["fcn-1"], classical=True)
    assert {row.kind for row in rep.rows} == {Kind.KERNEL, Kind.NETWORK, Kind.CLASSICAL}
    for row in rep.rows:
        as_images, flat = (rep.estimator(row.name).fit(rows, y) for rows in (x, x.reshape(80, -1)))
        assert (as_images.predict(x) == flat.predict(x.reshape(80, -1))).all()
        assert (as_images.predict(x) == y).mean() > 0.9
