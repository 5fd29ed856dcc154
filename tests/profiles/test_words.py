"""The sentences beside the table: no word contradicts a row, over made-up results of many shapes."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import priorscope as ps
from priorscope.judge import METRICS, Judgement, judge_draws, margin_of
from priorscope.profiles import ErrorCurve, Kind, Profile, Row
from priorscope.profiles._answer import Answer
from priorscope.profiles._learning import Learning
from priorscope.profiles._more_data import crossing, fall, floor_of
from priorscope.profiles._naming import called
from priorscope.profiles._phrases import number
from priorscope.profiles._result import Setting
from priorscope.profiles._words import sentences
from priorscope.statistics import Interval

NAMES = {
    Kind.KERNEL: ("fcn-3", "treats all directions alike"),
    Kind.NETWORK: ("convolutional network", "convolutional network, pooled over all places"),
    Kind.CLASSICAL: ("SVM", "support vector machine"),
    Kind.AVERAGE: ("the average of a and b", "the average of a and b"),
    Kind.ESTIMATOR: ("MyModel", ""),
}


@lru_cache(maxsize=200)
def carried(sizes, errors, to):
    """A curve carried on, remembered: it takes a while."""
    return ps.extrapolate(sizes, errors, to=to, tests=2000)


def made_row(
    value: float, spread: float, kind: Kind, name: str, n: int, to: int, **more: Any
) -> tuple[Row, np.ndarray]:
    """A row whose error was measured at half of ``n`` and at ``n``, and draws of its error at ``to``."""
    sizes = np.array([n // 2, n])
    errors = np.array([min(1.4 * value, 0.99), value])
    ahead = carried(tuple(sizes), tuple(errors), to)
    rng = np.random.default_rng(len(name) + int(1e6 * value))
    draws = np.minimum(value * np.exp(spread * rng.standard_normal(2000)), 1.0)
    low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95])
    curve = ErrorCurve(sizes, errors, errors * 0.9, errors * 1.1, ahead)
    words = NAMES[kind][1]
    estimator: Any = SimpleNamespace()
    row = Row(
        name, kind, words, curve, Interval(float(middle), float(low), float(high)), estimator, folds=5, tested=n, **more
    )
    return row, draws


def made(
    rows: list[tuple[float, float, Kind]],
    *,
    learns: list[bool | None] | None = None,
    own: tuple[int, ...] = (),
    metric: str = "misclassification",
    n: int = 1000,
    to: int | None = None,
    ended: str = "measured",
    target: float | None = None,
    why: str = "",
    about: str = "new rows",
    open_: tuple[int, ...] = (),
    luck: float = 1.0,
) -> Profile:
    """A profile of rows (error, spread on a log scale, kind): ``own`` are the user's, ``open_`` measured on half of the rows."""
    to = to or n
    learns = learns or [True] * len(rows)
    pairs = []
    for i, (value, spread, kind) in enumerate(rows):
        offered = i in own
        name = (
            f"{NAMES[Kind.ESTIMATOR][0]}{i}"
            if offered
            else f"{NAMES[kind][0]}-{i}"
            if kind is not Kind.KERNEL
            else f"k{i}"
        )
        row, draws = made_row(
            value, spread, kind, name, n // 2 if i in open_ else n, to, offered=offered, learns=learns[i]
        )
        pairs.append((row, draws))
    pairs.sort(key=lambda pair: float(pair[1].mean()))
    first = pairs[0][1]
    percent = METRICS[metric].percent
    margin = margin_of(float(np.median(first)), percent)
    table = [replace(pairs[0][0], standing=None)]
    for row, draws in pairs[1:]:
        low, middle, high = np.quantile(draws / first, [0.05, 0.5, 0.95])
        near = float((draws <= first + margin).mean())
        ratio = Interval(float(middle), float(low), float(high))
        table.append(replace(row, standing=judge_draws(draws - first, margin), ratio=ratio, near=near))
    e = table[0].estimate
    table[0] = replace(table[0], estimate=Interval(e.value * luck, e.low, e.high * luck))
    found = [row.learns for row in table]
    whole = True if True in found else None if None in found else False
    learning = Learning(whole, 0.04, n, 0.5, {row.name: row.learns for row in table})
    structure = SimpleNamespace(about=about)
    ladder = SimpleNamespace(
        sizes=(n // 2, n), folds=5, top=1, structure=structure, divided=((np.arange(n), np.arange(n)),) * 5
    )
    problem = SimpleNamespace(data=SimpleNamespace(name="made up"), task="classification", n=n, shape=(3,), n_classes=2)
    records = {
        row.name: SimpleNamespace(contender=SimpleNamespace(name=row.name, offered=row.offered), failed="")
        for row in table
    }
    refused = {row.name: 3.0 for row in table if row.now[0] < n}
    race: Any = SimpleNamespace(problem=problem, metric=METRICS[metric], ladder=ladder, to=float(to), ended=ended,
                                refused=refused, records=records, spent=1.0)  # fmt: skip
    setting = Setting(target, False, None, why, (), 0.9, 0)
    standings: Any = None
    return Profile(race, setting, Answer(tuple(table), standings, learning, luck))


WORDS = {number(i): i for i in range(13)}
ERRORS = [0.003, 0.02, 0.021, 0.023, 0.05, 0.2, 0.22, 0.6]
KINDS = st.sampled_from(list(Kind)[:4])
ROWS = st.lists(
    st.tuples(st.sampled_from(ERRORS), st.sampled_from([0.01, 0.05, 0.2, 0.6]), KINDS), min_size=1, max_size=7
)


def check(result: Profile) -> None:
    """Hold every sentence against the rows."""
    lines = result.verdict()
    text = " ".join(lines)
    best, metric = result.best, result.metric
    assert "signal" not in text
    assert not re.search(r"\b(nan|inf|None)\b", text)
    if result.learns is True:
        assert lines[0].startswith(f"Use {called(best)}: ")
        assert metric.number(best.estimate.value) in lines[0]
        assert metric.span(best.estimate) in lines[0]
        rest = [row for row in result.rows[1:] if row.learns is not False]
        worse = [row for row in rest if row.standing is Judgement.WORSE]
        unsure = [row for row in rest if row.standing in (Judgement.UNSURE, Judgement.BETTER)]
        level = [row for row in rest if row.standing is Judgement.LEVEL]
        assert ("Level with it:" in text) == bool(level)
        for row in level[:4]:
            assert row.name.split(" and ")[0] in text.split("Level with it:")[1]
        (worse_line,) = [
            line for line in lines if "clearly worse, the nearest" in line or ", is clearly worse" in line
        ] or [""]
        (unsure_line,) = [line for line in lines if "cannot be told apart from it yet" in line] or [""]
        assert bool(worse_line) == bool(worse)
        assert bool(unsure_line) == bool(unsure)
        if len(worse) > 1:
            assert WORDS[worse_line.split(" ")[0].lower()] == len(worse)
        if len(unsure) > 1:
            assert WORDS[unsure_line.split(" ")[0].lower()] == len(unsure)
        if worse:
            told = float(re.search(r"([\d.]+) times its error", worse_line)[1])  # type: ignore[index]
            assert told == pytest.approx(min(row.ratio.value for row in worse if row.ratio), abs=0.06)
        if unsure:  # what the group spans holds every one of them
            values = [row.estimate.value for row in (best, *unsure)]
            assert metric.number(min(values)).removesuffix(" %") in unsure_line
            assert metric.number(max(values)) in unsure_line
    else:
        assert "Use " not in text
        assert "would have shown" in lines[0]
        assert called(best) in text
    for row in result.rows:
        if row.offered:
            near = lines[: 2 + sum(r.offered for r in result.rows)]
            (line, *_) = [line for line in near if called(row) in line[:1].lower() + line[1:] or called(row) in line]
            assert metric.number(row.estimate.value) in line or metric.number(row.now[1].value) in line
    for line in lines:
        if "overtake it, from about" in line:
            far = 10 * result.to
            (row,) = [row for row in result.rows if called(row) in line]
            assert row.kind is not best.kind
            assert row.curve.at(far).value < result.at(far).value
        if "catch up at about" in line:
            (row,) = [row for row in result.rows if row.offered and row.name in line]
            n = crossing(result, row)
            assert n is not None
            assert row.curve.at(1.5 * n).value <= result.at(int(1.5 * n)).value * 1.001


@settings(max_examples=20, deadline=None)
@given(ROWS, st.data())
def test_no_sentence_contradicts_the_table(rows, data):
    count = len(rows)
    learns = data.draw(
        st.one_of(
            st.just([True] * count), st.lists(st.sampled_from([True, None, False]), min_size=count, max_size=count)
        )
    )
    check(
        made(
            rows,
            learns=learns,
            own=tuple(data.draw(st.sets(st.integers(0, count - 1), max_size=2))),
            open_=tuple(data.draw(st.sets(st.integers(0, count - 1), max_size=2))),
            ended=data.draw(st.sampled_from(["settled", "measured", "budget", "stopped"])),
            to=data.draw(st.sampled_from([None, 8000])),
            target=data.draw(st.sampled_from([None, 0.01, 0.9])),
            metric=data.draw(st.sampled_from(["misclassification", "auc", "rmse"])),
            luck=data.draw(st.sampled_from([1.0, 1.1])),
        )
    )


TWO = [(0.02, 0.05, Kind.NETWORK), (0.06, 0.05, Kind.CLASSICAL)]


def test_the_first_sentence_says_what_at_which_n_and_how_it_was_measured():
    said = sentences(made(TWO, n=1438))
    assert said[0] == (
        "Use the convolutional network-0 (convolutional network, pooled over all places): about 2.0 % wrong on new rows "
        f"({made(TWO, n=1438).metric.span(made(TWO, n=1438).best.estimate)}), measured on all 1,438 rows in 5 folds."
    )
    assert said[1] == "SVM-1, 3.0 times its error, is clearly worse."


def test_beyond_the_data_it_says_forecast():
    said = sentences(made(TWO, to=20_000))[0]
    assert "at 20,000 rows, a forecast (" in said
    assert "measured on all 1,000 rows in 5 folds it had 2.0 %" in said
    assert "forecast" not in sentences(made(TWO))[0]


def test_groups_and_times_are_said():
    assert "on new groups" in sentences(made(TWO, about="new groups"))[0]
    assert "at later times" in sentences(made(TWO, about="later times"))[0]


def test_a_metric_that_was_chosen_stands_behind_the_first_sentence():
    assert sentences(made(TWO, why="Class b is rare."))[1] == "Class b is rare."


@pytest.mark.parametrize(
    ("learns", "start"),
    [(None, "Nothing seen: a gain over guessing"), (False, "Nothing to be learnt was seen: a gain over guessing")],
)
def test_nothing_seen_says_how_small_a_gain_would_have_shown(learns, start):
    said = sentences(made(TWO, learns=[learns, False]))
    assert said[0].startswith(start)
    assert "a gain over guessing of 4.0 points or more would have shown at these 1,000 rows" in said[0]
    assert ("more rows would" in said[0]) == (learns is None)
    assert not any("More data, forecast" in line for line in said)


def test_the_users_model_is_answered_by_name():
    said = sentences(made(TWO, own=(1,)))
    assert said[1].startswith("Your model MyModel1: about 6.0 % wrong on new rows (")
    assert "clearly worse than the first, 3.0 times its error (4.0 points more)" in said[1]
    assert "catch up" in said[1]
    first = sentences(made(TWO, own=(0,)))
    assert first[0].startswith("Use your model MyModel0: ")
    assert first[1].startswith("The best beside your own is the support vector machine (SVM-1)")
    broken = made(TWO)
    lost = type(broken.race.records["SVM-1"])(
        contender=type(broken.race)(name="Mine", offered=True), failed="it wants text"
    )
    broken.race.records["Mine"] = lost
    assert "Your model Mine has no error: it wants text." in sentences(broken)


def test_more_data_has_gains_with_intervals_and_a_floor():
    result = made([(0.1, 0.05, Kind.CLASSICAL)])
    (line,) = [line for line in sentences(result) if line.startswith("More data")]
    twice, ten = fall(result, 2), fall(result, 10)
    assert (
        f"twice the rows (2,000) would take {100 * twice.value:.1f} points ({100 * twice.low:.1f}–{100 * twice.high:.1f})"
        in line
    )
    assert f"{100 * ten.value:.1f} points" in line
    assert twice.value <= ten.value <= result.best.estimate.value - floor_of(result.best).low
    assert result.metric.span(floor_of(result.best)) in line


def test_a_target_below_the_floor_is_not_reachable_and_gets_no_count():
    result = made([(0.3, 0.02, Kind.CLASSICAL)], target=0.05)
    flat = ps.extrapolate([125, 250, 500, 1000], [0.31, 0.303, 0.301, 0.3], to=1000, tests=20_000, kind="linear")
    object.__setattr__(result.best.curve, "ahead", flat)
    (line,) = [line for line in sentences(result) if line.startswith("To be 5.0 % wrong")]
    assert "not reachable with these predictors" in line
    assert f"the floor is about {result.metric.number(floor_of(result.best).value)}" in line
    near = made([(0.1, 0.02, Kind.CLASSICAL)], target=0.09)
    (line,) = [line for line in sentences(near) if line.startswith("To be 9.0 % wrong")]
    assert "should take about" in line
    assert not any("To be" in line for line in sentences(made([(0.1, 0.02, Kind.CLASSICAL)])))


def test_another_kind_that_overtakes_is_named_with_its_size():
    flat, steep = (0.05, 0.02, Kind.CLASSICAL), (0.052, 0.02, Kind.NETWORK)
    result = made([flat, steep])
    row = result.row("convolutional network-1")
    ahead = ps.extrapolate([125, 250, 500, 1000], [0.4, 0.2, 0.1, 0.052], to=1000, tests=20000, kind="network")
    object.__setattr__(row.curve, "ahead", ahead)
    (line,) = [line for line in sentences(result) if "overtake it, from about" in line]
    assert called(row) in line
    n = crossing(result, row, 10.0)
    assert n is not None
    assert 1000 < n < 10_000


def test_what_another_minute_would_settle_and_what_a_stop_keeps():
    close = [(0.02, 0.4, Kind.NETWORK), (0.021, 0.4, Kind.CLASSICAL)]
    text = " ".join(sentences(made(close, ended="budget", open_=(1,))))
    assert "Another minute would settle some of it" in text
    assert "would measure more of SVM-1" in text
    text = " ".join(sentences(made(close, ended="stopped")))
    assert "all that was measured is kept" in text
    text = " ".join(sentences(made(close)))
    assert "minute" not in text
    assert "only more rows would settle it" in text


def test_an_average_says_what_it_averages():
    said = sentences(made([(0.02, 0.05, Kind.AVERAGE)]))
    assert said[0].startswith("Use the average of a and b")
    assert any("mean of what they say" in line for line in said)


def test_a_wrong_sentence_is_seen(monkeypatch):
    result = made(TWO)
    check(result)
    said = [line.replace("is clearly worse", "is level with it") for line in sentences(result)]
    monkeypatch.setattr("priorscope.profiles._words.sentences", lambda _: said)
    with pytest.raises(AssertionError):
        check(result)
