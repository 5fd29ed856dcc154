"""Are necklace policies the best with the last plays as memory? The source's conjecture, towards the limit of its theorem."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_least, near
from priorscope.papers.finite_memory._exact_claims import SOURCE
from priorscope.papers.finite_memory._learning import MU
from priorscope.statistics import exact

if TYPE_CHECKING:
    import altair as alt

__all__ = ["PAPER"]

RESETS = (1e-4, 1e-6, 1e-8, 1e-10)


def grid(scale: str) -> list[Point]:
    """Memories of two to four plays, restarts towards zero; many starts that repeat the oldest play, by gradient flow."""
    words, resets, evaluations, members = {
        "tiny": ((2,), RESETS[:1], 20, 2),
        "small": ((2, 3, 4), RESETS, 2500, 20),
        "paper": ((2, 3, 4), RESETS, 50_000, 20),
    }[scale]
    return [
        {"m": m, "reset": r, "evaluations": evaluations, "members": members, "seed": 0} for m in words for r in resets
    ]


def run(point: Point) -> Metrics:
    """The least chance q to play the worse arm that each member learns."""
    from priorscope import memory as finite

    memory, members = finite.memento(point["m"]), range(point["members"])
    found = finite.learn(
        finite.memento_start(point["m"], "cycles", members),
        memory,
        finite.two_hypotheses(MU),
        reset=point["reset"],
        method="flow",
        evaluations=point["evaluations"],
    )
    return {"best": found.best}


def least_over_limit(table: pd.DataFrame, m: int) -> Measured:
    """The least q learnt at the smallest restart rate, over the theorem's q* for necklaces."""
    from priorscope.memory import necklace_limit

    rows = table[table.m == m].sort_values("reset")
    if rows.empty:
        raise NotMeasured(f"no runs of memento {m}")
    ratios = [float(np.min(best)) / necklace_limit(m, MU) for best in rows.best]
    told = ", ".join(f"{ratio:.4f} at r = {r:g}" for r, ratio in zip(rows.reset, ratios))
    return Measured(exact(ratios[0]), f"{told}; q* {necklace_limit(m, MU):.6f}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """The least q over q* against the restart rate, one line per memory; at one, necklaces are reached."""
    import altair as alt

    from priorscope.memory import necklace_limit

    rows = pd.DataFrame(
        {"m": m, "reset": r, "ratio": float(np.min(best)) / necklace_limit(int(m), MU)}
        for m, r, best in zip(table.m, table.reset, table.best)
    )
    line = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            alt.X("reset:Q", title="restart rate r").scale(type="log"),
            alt.Y("ratio:Q", title="least q learnt over q* of necklaces").scale(type="log"),
            alt.Color("m:N", title="plays remembered m"),
        )
    )
    both: alt.TopLevelMixin = line + alt.Chart().mark_rule(strokeDash=[4, 4]).encode(y=alt.datum(1))
    return both


CLAIMS = (
    Claim(
        "M.13",
        f"{SOURCE}, Sec. 6",
        "for r to zero no policy with the last plays as memory is better than the best necklace policy (conjectured there; "
        "the best found with m = 3 and m = 4 are said to be necklace policies)",
        checks=tuple(Check(f"least q over q*, m = {m}", partial(least_over_limit, m=m), at_least(1)) for m in (3, 4)),
    ),
    Claim(
        "M.14",
        f"{SOURCE}, Theorem 4.3 and Fig. 4 C",
        "for m = 2 and m = 3 the best policies that are learnt come to the necklaces' q* for r to zero",
        checks=tuple(
            Check(f"least q over q*, m = {m}", partial(least_over_limit, m=m), near(1, within=0.05)) for m in (2, 3)
        ),
    ),
)

PAPER = Paper(
    "necklace-conjecture", "Are necklace policies the best?", SOURCE, 1, grid, run, CLAIMS, chart, members="members"
)
