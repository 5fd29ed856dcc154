"""Models with symmetries built in, each part beside what it replaces, in one run.

Run: python benchmarks/equivariance.py [--json benchmarks/results/equivariance.json] [--only invariant]

Every section is a function that prints its table and gives back rows; SECTIONS lists them.

``invariant``: the kernel over the eight symmetries of the square against eight plain kernels, each computed alone; processor
time, the least of several repeats taken in turn, so that other programs on the machine disturb both alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from _results import row, write

import priorscope as ps

Rows = list[dict[str, Any]]


def in_turn(first: Callable[[], object], second: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Least processor seconds of two functions that are run in turn, after one run of each that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 1):
        for one, seen in zip((first, second), times):
            start = time.process_time()
            one()
            if repeat:
                seen.append(time.process_time() - start)
    return min(times[0]), min(times[1])


def invariant(repeats: int = 5) -> Rows:
    """An averaged kernel over |G| = 8 against eight times the plain one."""
    rows: Rows = []
    for plain, n in ((ps.models.gap(3), 150), (ps.models.vec(3), 300), (ps.models.fcn(3), 600)):
        averaged = ps.models.invariant(plain, "p4m")
        x = torch.randn(n, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        averaged.average((1, 8, 8))  # the test of joint invariance, once for every shape
        alone, together = in_turn(partial(plain.kernel, x), partial(averaged.kernel, x), repeats)
        times = together / alone
        print(
            f"{plain.name}-3, n = {n}: plain {alone:.4f} s, averaged over 8 moves {together:.4f} s: {times:.2f} times"
        )
        note = f"one averaged kernel takes as long as {times:.2f} plain ones"
        rows.append(row(f"{averaged.name}, depth 3, n = {n}", together, 8 * alone, "eight plain kernels", note=note))
    return rows


SECTIONS: dict[str, Callable[[], Rows]] = {"invariant": invariant}


def main(only: str | None = None, path: str | None = None) -> Rows:
    """Run the sections, or one; write their rows."""
    rows = [line for name, section in SECTIONS.items() if only in (None, name) for line in section()]
    if path:
        write(path, "equivariance", rows)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(SECTIONS), help="one section")
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    main(options.only, options.json)
