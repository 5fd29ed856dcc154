"""What the functions of the library gave when it was last looked at: the cheapest calls of each; ``make replay`` makes all."""

from __future__ import annotations

import json

import pytest
from recorder.__main__ import moved
from recorder._calls import CALLS
from recorder._defaults import moved_defaults

ROOMS = sorted({file.relative_to(CALLS).with_suffix("").parts[0] for file in CALLS.rglob("*.jsonl")})
BUDGET = 2.5  # processor seconds of a room; the first call of each function comes before the second of any


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_moved(room):
    told = moved([room], BUDGET)
    assert not told, (
        f"{len(told)} functions give something else than was recorded: {json.dumps(told, ensure_ascii=False)[:3000]} "
        f"If it is meant, run `make accept ROOM={room}` and look at the difference of tests/recorded/results."
    )


def test_no_default_changed():
    """Kept calls pass every argument, so that defaults are kept by themselves."""
    assert moved_defaults() == [], (
        "if it is meant, run `make accept`, and look at the difference of tests/recorded/defaults.txt"
    )
