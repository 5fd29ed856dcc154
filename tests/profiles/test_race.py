"""The race: what is measured is what is built, nobody ends it, it goes on where it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import priorscope as ps
from priorscope.judge import METRICS, Judgement, outputs_of
from priorscope.profiles import Contender, Kind
from priorscope.profiles._budget import seconds_of
from priorscope.profiles._ladder import Ladder
from priorscope.profiles._problem import problem_of
from priorscope.profiles._race import Race
from priorscope.profiles._record import grown


def table(n: int = 260, classes: bool = True, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    y = x[:, 0] + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=n)
    return x, (np.digitize(y, [-0.7, 0.7]) if classes else y)


def race_of(x: np.ndarray, y: np.ndarray, contenders: list[Contender], metric: str) -> Race:
    problem = problem_of(ps.data.from_arrays(x, y, test_fraction=0.0, dtype=torch.float64), None)
    return_to = Race(problem, METRICS[metric], Ladder.of(problem.structure), float(len(y)))
    return_to.enter(contenders)
    return return_to


def own(name: str, estimator: BaseEstimator) -> Contender:
    return Contender(name, "", Kind.ESTIMATOR, estimator, offered=True)


@pytest.mark.parametrize("metric", ["misclassification", "balanced-error", "log-loss"])
def test_every_error_is_that_of_the_estimator_fitted_and_asked(metric: str) -> None:
    x, y = table()
    rep = ps.profile(x, y, metric=metric, budget=25, deep=False, candidates=["fcn-1", "laplace", "linear", "SVM"])
    names = {row.kind for row in rep.rows}
    assert Kind.AVERAGE in names
    race = rep.race
    for row in rep.rows:
        record = race.records[row.name]
        errors = []
        for fold in record.folds(record.last):
            part = race.ladder.part(record.last, fold)
            made = clone(record.contender.estimator).fit(race.problem.x[part.train], race.problem.y[part.train])
            outputs = outputs_of(made, race.problem.x[part.test], 3)
            errors.append(race.metric.measure(race.problem.y[part.test], outputs).value)
        assert [record.trials[record.last][k].measured.value for k in record.folds(record.last)] == pytest.approx(
            errors, abs=1e-9
        )


def test_a_convolutional_kernel_that_remembers_gives_the_same_errors_as_one_that_does_not() -> None:
    data = ps.data.digits(classes="parity")
    x, y = data.inputs[:160].double(), data.train_labels[:160].numpy() % 2
    rep = ps.profile(x, y, candidates=["vec-1"], budget=25, deep=False)
    record = rep.race.records["vec-1"]
    machine = record.contender.estimator
    plain = clone(machine)
    plain.set_params(kernelmachine__arch=machine[-1].arch.model)
    part = rep.race.ladder.part(record.last, 0)
    made = plain.fit(rep.race.problem.x[part.train], rep.race.problem.y[part.train])
    found = rep.metric.measure(rep.race.problem.y[part.test], outputs_of(made, rep.race.problem.x[part.test], 2)).value
    assert record.trials[record.last][0].measured.value == pytest.approx(found, abs=1e-9)


def test_what_is_built_is_what_is_named() -> None:
    x, y = table(classes=False)
    rep = ps.profile(x, y, budget=25, deep=False, candidates=["linear", "fcn-1"])
    row = rep.row("fcn-1")
    values = rep.estimator("fcn-1").fit(x, y).predict(x[:5])
    assert values == pytest.approx(clone(row.estimator).fit(x, y).predict(x[:5]), abs=1e-9)
    assert repr(rep.build()) == repr(rep.estimator(rep.best.name))


class Refuses(ClassifierMixin, BaseEstimator):
    def fit(self, X: object, y: object) -> Refuses:
        raise RuntimeError("not today")


class Endless(RegressorMixin, BaseEstimator):
    def fit(self, X: object, y: object) -> Endless:
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), np.nan)


class Interrupts(ClassifierMixin, BaseEstimator):
    fits = 0

    def fit(self, X: object, y: object) -> Interrupts:
        type(self).fits += 1
        raise KeyboardInterrupt


def test_nobody_ends_the_race_by_failing() -> None:
    x, y = table()
    rep = ps.profile(x, y, candidates=["linear"], models=[Refuses()], budget=3, deep=False)
    assert [row.name for row in rep.rows] == ["linear"]
    assert any("Refuses" in note and "not today" in note for note in rep.notes)
    x, y = table(classes=False)
    rep = ps.profile(x, y, candidates=[Ridge()], models=[Endless()], budget=3, deep=False)
    assert any("not finite" in note for note in rep.notes)
    with pytest.raises(ValueError, match=r"nothing could be measured.*not finite"):
        ps.profile(x, y, candidates=[Endless()], budget=3, deep=False)


def test_a_stop_by_hand_keeps_what_is_known_and_it_goes_on() -> None:
    x, y = table(1200)
    race = race_of(
        x, y, [own("knn", KNeighborsClassifier()), own("logistic", LogisticRegression())], "misclassification"
    )
    race.records["interrupts"] = type(race.records["knn"])(
        Contender("interrupts", "", Kind.NETWORK, Interrupts(), first=9.0)
    )
    race.run(20.0)
    assert race.ended == "stopped"
    measured = {r.contender.name: r.last for r in race.measured}
    assert measured == {"knn": 0, "logistic": 0}
    del race.records["interrupts"]
    race.run(20.0)
    assert {r.contender.name: r.last for r in race.measured} == {"knn": race.ladder.top, "logistic": race.ladder.top}
    assert race.ended == "measured"


def test_the_better_one_is_named_and_the_worse_one_called_so() -> None:
    x, y = table(900)
    race = race_of(
        x, y, [own("knn", KNeighborsClassifier(15)), own("logistic", LogisticRegression())], "misclassification"
    )
    race.run(20.0)
    standing = race.standings()
    assert standing.order[0] == "knn"  # a product of two columns is nothing to a linear model
    assert standing.judged("logistic", "knn") is Judgement.WORSE
    assert standing.judged("knn", "knn") is Judgement.LEVEL


def test_two_of_the_same_are_level_for_their_luck_is_shared() -> None:
    x, y = table(600)
    same = [own("one", LogisticRegression()), own("two", LogisticRegression())]
    race = race_of(x, y, same, "misclassification")
    race.run(20.0)
    standing = race.standings()
    difference = standing.of("one") - standing.of("two")
    assert difference.std() < 0.8 * standing.of("one").std()  # independent ones would be 1.4 times as far apart


def test_pure_noise_is_not_said_to_learn_and_a_signal_is() -> None:
    said = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(150, 3)), rng.integers(0, 2, 150)
        said.append(ps.profile(x, y, budget=2, deep=False, candidates=["linear", KNeighborsClassifier()]).learns)
    assert True not in said
    x, y = table()
    assert ps.profile(x, y, budget=2, deep=False, candidates=["linear"]).learns is True
    constant = ps.profile(
        x, y.astype(float) + 0.01 * x[:, 3], budget=2, deep=False, candidates=[DummyRegressor()], classes="real"
    )
    assert constant.learns in (False, None)


def test_going_on_sharpens_and_adds_up() -> None:
    x, y = table(2000)
    rep = ps.profile(x, y, budget=0.2, deep=False, candidates=["linear", KNeighborsClassifier(), "fcn-1"])
    more = rep.continue_(4)
    assert more.cpu_seconds > rep.cpu_seconds
    assert sum(row.tested for row in more.rows) > sum(row.tested for row in rep.rows) or len(more.rows) > len(rep.rows)


def test_budgets_in_words() -> None:
    assert [seconds_of(b) for b in ("2 min", "90s", "1.5 minutes", "1 hour", 7)] == [120.0, 90.0, 90.0, 3600.0, 7.0]
    for wrong in ("soon", "-3 s", 0, True, float("inf")):
        with pytest.raises(ValueError, match="budget must be"):
            seconds_of(wrong)


def test_time_grows_as_a_power_and_no_faster_than_rows_beyond_a_bend() -> None:
    assert grown(100, 300, 2.0, None) == pytest.approx(9.0)
    assert grown(100, 400, 2.0, 200) == pytest.approx(4 * 2)
    assert grown(300, 600, 2.0, 200) == pytest.approx(2.0)
    assert grown(100, 200, 0.5, 50) == pytest.approx(2**0.5)
