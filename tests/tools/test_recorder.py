"""Record and replay: what is written comes back, what moved is told, what cannot be written is left out."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from recorder._calls import Call, function_of
from recorder._compare import differences, steady
from recorder._replay import replayed
from recorder._summary import summary
from recorder._text import Reader, Unwritable, Writer

import priorscope as ps

ARCH = ps.models.gap(depth=1, kernel_size=3)
THINGS = {
    "numbers": [1, 2.5, float("inf"), True, None, 1 + 2j, b"\0\1", slice(1, None), range(3)],
    "array": np.arange(24.0).reshape(2, 3, 4),
    "tensor": torch.arange(20, dtype=torch.float32).reshape(4, 5).T,
    "whole numbers": torch.tensor([1, 2, 3]),
    "words": np.array(["a", None, 3.0], dtype=object),
    "frame": pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}, index=[3, 4]),
    "architecture": ARCH,
    "module": ARCH.network((3, 6, 6), width=4, outputs=1, seed=0),
    "classes and functions": [ps.System, torch.relu, np.exp],
    "sets": ({3, 1}, frozenset("ab"), {1: "a", (2, 3): "b"}),
}


@pytest.mark.parametrize("name", THINGS)
def test_what_is_written_comes_back(name, tmp_path):
    """The second answer: pandas, numpy and torch compare, and networks give the same outputs."""
    came = Reader(tmp_path)(Writer()(THINGS[name]))
    assert type(came) is type(THINGS[name])
    assert summary(came) == summary(THINGS[name])
    if name == "module":
        x = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(0))
        assert torch.equal(came(x), THINGS[name](x))
        assert came is not THINGS[name]
    elif isinstance(came, torch.Tensor):
        assert torch.equal(came, THINGS[name])
    elif isinstance(came, pd.DataFrame):
        pd.testing.assert_frame_equal(came, THINGS[name])


def test_the_same_object_is_the_same_again(tmp_path):
    x = torch.zeros(3)
    ring: list[object] = [x, x]
    ring.append(ring)
    came = Reader(tmp_path)(Writer()(ring))
    assert came[0] is came[1]
    assert came[2] is came


def test_files_come_back_with_what_is_in_them(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1,2\n")
    written = Writer()(file)
    (tmp_path / "room").mkdir()
    came = Reader(tmp_path / "room")(written)
    assert came.read_text() == "x,y\n1,2\n"
    assert came.is_relative_to(tmp_path / "room")


@pytest.mark.parametrize(
    "thing", [lambda: 0, io.StringIO(), torch.zeros(200_000), Path(__file__), type("Mine", (), {})()]
)
def test_what_cannot_be_made_anew_is_refused(thing):
    with pytest.raises(Unwritable):
        Writer()(thing)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x + 1e-6,
        lambda x: x.T.reshape(x.shape),  # the same numbers in another order
        lambda x: x.float(),
        lambda x: x[:-1],
        lambda x: torch.where(x == x.max(), -x, x),
    ],
)
def test_one_changed_number_moves_a_summary(change):
    x = torch.randn(7, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert differences(summary(x), summary(change(x)), 1e-9)
    assert not differences(summary(x), summary(x.clone() * (1 + 1e-13)), 1e-9)


def test_words_are_compared_exactly_and_their_numbers_by_size():
    assert differences("12 rows are level", "12 rows are worse", 1e-3)
    assert differences("12 rows", "13 rows", 1e-3)
    assert differences("off by 0.0101", "off by 0.0102", 1e-6)
    assert not differences("off by 0.010100001 or so", "off by 0.010100002 or so", 1e-6)


def test_what_differs_between_two_runs_is_not_compared_and_the_rest_gives_the_tolerance():
    first, second = {"a": [1.0, 2.0], "b": 5.0, "c": "yes"}, {"a": [1.0, 2.0 + 1e-7], "b": 7.0, "c": "yes"}
    told, apart = steady(first, second, 1e-3)
    assert told == {"a": [1.0, 2.0], "b": "?", "c": "yes"}
    assert apart == pytest.approx(5e-8)


def test_a_fault_is_noticed():
    """A call of the library, and the same with its axis changed."""
    errors = np.exp(np.random.default_rng(0).normal(size=(3, 4)) / 9) / np.array([1, 2, 4, 8]) ** 0.5
    write = Writer()
    call = Call("priorscope.statistics:fit_power_law", {"positional": [write([1.0, 2.0, 4.0, 8.0]), write(errors)]})
    told, _ = replayed(call)
    assert told == replayed(call)[0]
    raw = function_of(call.function)
    faulty = type(raw)(lambda *a, **k: raw.call(a[0][::-1], *a[1:], **k), raw.code)
    assert differences(told, replayed(call, raw=faulty)[0], 1e-9)
