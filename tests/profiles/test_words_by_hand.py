"""Which rows are shown and how the rest is told, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from priorscope.profiles import Kind, Metric, Standing
from priorscope.profiles._headline import _listed, _rest, called, head
from priorscope.profiles._text import _ROWS, _left_out, _shown
from priorscope.statistics import Interval


def row(name, kind=Kind.KERNEL, standing=Standing.WORSE, value=0.2, architecture=None):
    return SimpleNamespace(
        name=name,
        kind=kind,
        standing=standing,
        architecture=architecture,
        estimate=Interval(value, 0.8 * value, 1.2 * value),
    )


def result(*rows):
    def best_of(kind):
        return next((r for r in rows if r.kind is kind), None)

    return SimpleNamespace(
        rows=rows, best=rows[0], metric=Metric.MISCLASSIFICATION, to=1000, best_of=best_of,
        baseline=SimpleNamespace(value=0.5, words="always guessing the commonest class"),
    )  # fmt: skip


def test_the_first_rows_are_shown_and_the_best_of_every_other_kind():
    many = [row(f"k{i}") for i in range(_ROWS + 3)]
    assert [r.name for r in _shown(result(*many))] == [f"k{i}" for i in range(_ROWS)]
    assert _left_out(result(*many)) == "… and 3 more: rep.table()"
    assert _left_out(result(*many[:_ROWS])) == ""
    late = [*many, row("net", Kind.NETWORK), row("net 2", Kind.NETWORK), row("forest", Kind.CLASSICAL)]
    assert [r.name for r in _shown(result(*late))] == [*(f"k{i}" for i in range(_ROWS - 2)), "net", "forest"]
    early = [row("net", Kind.NETWORK), *many, row("net 2", Kind.NETWORK)]
    assert "net 2" not in [r.name for r in _shown(result(*early))]


def test_lists_and_the_rest_in_words():
    assert [_listed(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert _rest([row("a")], set()) == ["The other one is worse."]
    assert _rest([row("a"), row("b", standing=Standing.LITTLE_WORSE)], set()) == ["The other two are worse."]
    assert _rest([row("a"), row("b")], {"a"}) == ["The other one is worse."]
    assert _rest([row("a"), row("b")], {"a", "b"}) == []
    mixed = [row("a"), row("b"), row("c", standing=Standing.UNSURE), row("d", standing=Standing.LEARNS_NOTHING)]
    assert [line.split(" ")[0] for line in _rest(mixed, set())] == ["Two", "One", "One"]
    assert _rest(mixed, {"a", "b", "c"}) == ["The other one learns nothing."]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.KERNEL, "the kernel machine fcn-2"),
        (Kind.NETWORK, "the network lap-3"),
        (Kind.ESTIMATOR, "your estimator fcn-2"),
        (Kind.CLASSICAL, "fcn-2"),
    ],
)
def test_rows_are_called_by_their_kind(kind, words):
    assert called(row("fcn-2", kind, architecture="lap-3")) == words


def test_the_head_names_the_best_what_is_level_and_the_best_of_other_kinds():
    best = row("fcn-2", standing=Standing.BEST, value=0.1)
    level = [row(f"l{i}", standing=Standing.LEVEL, value=0.11) for i in range(6)]
    net, forest = row("net", Kind.NETWORK, architecture="lap-1"), row("forest", Kind.CLASSICAL)
    said = head(result(best, *level, net, forest, row("last", standing=Standing.UNSURE)))
    assert said[0].startswith("Use the kernel machine fcn-2: ")
    assert "at 1,000 samples" in said[0]
    assert said[1].startswith("Level with it: the kernel machine l0 (")
    assert "l3" in said[1]
    assert "l4" not in said[1]
    assert said[1].endswith("and two more.")
    assert said[2].startswith("Forest: ")
    assert said[3].startswith("If you want a network, lap-1: ")
    assert said[4].startswith("The other one has a higher estimate")
    assert len(said) == 5
    four = head(result(best, *level[:4]))
    assert "more" not in four[1]
    nothing = head(result(row("a", standing=Standing.LEARNS_NOTHING)))
    assert nothing[0].startswith("Nothing tried here is forecast to learn anything from 1,000 samples")
