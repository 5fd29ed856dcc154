"""Are necklace policies the best with the last plays as memory? The source's conjecture, learnt and by an explicit policy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_least, near
from priorscope.memory import necklace_limit
from priorscope.papers.finite_memory._exact_claims import SOURCE
from priorscope.papers.finite_memory._learning import MU
from priorscope.statistics import exact

if TYPE_CHECKING:
    import altair as alt

RESETS = (1e-4, 1e-6, 1e-8, 1e-10)
RATES = (1e-1, 1e-2, 1e-3, 1e-4)  # of the policy that goes two ways; its ends are left at the fourth power


def grid(scale: str) -> list[Point]:
    """Learnt: memories of two and three plays (four on clusters), restarts towards zero. With four plays the explicit policy."""
    words, resets, evaluations, members = {
        "tiny": ((2,), RESETS[:1], 20, 2),
        "small": ((2, 3), RESETS, 2500, 20),
        "paper": ((2, 3, 4), RESETS, 50_000, 20),
    }[scale]
    learnt = [
        {"part": "learnt", "m": m, "reset": r, "evaluations": evaluations, "members": members, "seed": 0}
        for m in words
        for r in resets
    ]
    return learnt + [{"part": "two ways", "m": 4, "rate": e, "members": 1, "seed": 0} for e in RATES]


def run(point: Point) -> Metrics:
    """The chance q to play the worse arm: the least that each member learns, or that of the explicit policy at r = 0."""
    from priorscope import memory as finite

    memory, members = finite.memento(point["m"]), range(point["members"])
    if point["part"] == "two ways":
        policy = finite.two_way_policy(point["rate"], point["rate"] ** 4)
        return {"wrong": finite.performance(policy, memory, finite.two_hypotheses(MU), reset=0).wrong}
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
    rows = table[(table.part == "learnt") & (table.m == m)].sort_values("reset")
    if rows.empty:
        raise NotMeasured(f"no runs of memento {m}")
    ratios = [float(np.min(best)) / necklace_limit(m, MU) for best in rows.best]
    told = ", ".join(f"{ratio:.4f} at r = {r:g}" for r, ratio in zip(rows.reset, ratios))
    return Measured(exact(ratios[0]), f"{told}; q* {necklace_limit(m, MU):.6f}")


def two_ways(table: pd.DataFrame, over: float) -> Measured:
    """The least q of the explicit policy at r = 0, over a limit."""
    rows = table[table.part == "two ways"].sort_values("rate", ascending=False)
    told = ", ".join(f"{q:.6f} at ε = {e:g}" for q, e in zip(rows.wrong, rows.rate))
    return Measured(exact(float(rows.wrong.min()) / over), f"q {told}; over {over:.6f}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """The least q over q* against the restart rate, one line per memory; at one, necklaces are reached."""
    import altair as alt

    learnt = table[table.part == "learnt"]
    rows = pd.DataFrame(
        {"m": m, "reset": r, "ratio": float(np.min(best)) / necklace_limit(int(m), MU)}
        for m, r, best in zip(learnt.m, learnt.reset, learnt.best)
    )
    line: alt.Chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            alt.X("reset:Q", title="restart rate r").scale(type="log"),
            alt.Y("ratio:Q", title="least q learnt over q* of necklaces").scale(type="log"),
            alt.Color("m:N", title="plays remembered m"),
        )
    )
    ways = table[table.part == "two ways"].assign(ratio=lambda t: t.wrong / necklace_limit(4, MU))
    rules = [alt.Chart().mark_rule(strokeDash=[4, 4]).encode(y=alt.datum(1))]
    rules += [
        alt.Chart().mark_rule(color="firebrick").encode(y=alt.datum(float(q))) for q in [ways.ratio.min()] if len(ways)
    ]
    drawn: alt.TopLevelMixin = alt.layer(line, *rules)
    return drawn


CLAIMS = (
    Claim(
        "M.13",
        f"{SOURCE}, Sec. 6",
        "for r to zero no policy with the last plays as memory is better than the best necklace policy (conjectured there; "
        "the best found with m = 3 and m = 4 are said to be necklace policies)",
        checks=(
            Check("least q learnt over q*, m = 3", partial(least_over_limit, m=3), at_least(1)),
            Check(
                "q of a policy that goes two ways over q*, m = 4",
                partial(two_ways, over=necklace_limit(4, MU)),
                at_least(1),
            ),
        ),
        finding="with m = 4 a policy that goes up through the necklace ABAB and down through AABB visits all six necklaces, of "
        "which a chain has five, and plays the worse arm less than half as often as the best necklace policy (M.15)",
    ),
    Claim(
        "M.14",
        f"{SOURCE}, Theorem 4.3 and Fig. 4 C",
        "for m = 2 and m = 3 the best policies that are learnt come to the necklaces' q* for r to zero",
        checks=tuple(
            Check(f"least q over q*, m = {m}", partial(least_over_limit, m=m), near(1, within=0.05)) for m in (2, 3)
        ),
        reach=("evaluations",),
    ),
    Claim(
        "M.15",
        "priorscope, derived beside the runs",
        "with m = 4 a policy reaches q = 1/(1+α^-20) for r to zero, where necklace policies reach 1/(1+α^-16)",
        measure=partial(two_ways, over=1 / (1 + ((1 + MU) / (1 - MU)) ** 20)),
        expect=near(1, within=1e-3),
    ),
)

PAPER = Paper(
    "necklace-conjecture", "Are necklace policies the best?", SOURCE, 2, grid, run, CLAIMS, chart, members="members"
)
