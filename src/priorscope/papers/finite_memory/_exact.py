"""What finite memories can reach at best: columns of confidence, necklaces, and the law of exploration, all exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from priorscope.lab import Metrics, Paper, Point
from priorscope.papers.finite_memory._exact_claims import CLAIMS, SOURCE

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

EXIT = 1e-120  # of the columns, where their limit is asked for: far below the least q, 1e-61
END = 1e-60  # of the ends of a chain of necklaces, over the rate inside


def grid(scale: str) -> list[Point]:
    """Columns, exploration, learning near a column, chains and necklace policies; nothing is drawn but the starts of learning."""
    sizes = {"tiny": (2, 4), "small": (1, 2, 4, 8, 16), "paper": (1, 2, 4, 8, 16, 32, 64)}[scale]
    resets = {"tiny": 2, "small": 5, "paper": 9}[scale]
    words = {"tiny": (2, 3), "small": (2, 3, 4, 5), "paper": (2, 3, 4, 5, 6)}[scale]
    letters = range(2, {"tiny": 5, "small": 14, "paper": 15}[scale])
    mus = (0.1, 0.5)
    points: list[Point] = [{"kind": "column", "n": n, "mu": mu} for n in sizes for mu in mus]
    points += [{"kind": "arms", "n": n, "high": a, "low": b} for n in (2, 3, 4) for a, b in ((0.7, 0.4), (0.9, 0.8))]
    points += [
        {"kind": "explore", "n": n, "mu": mu, "reset": 10.0 ** (k - 8)}
        for n in sizes
        if n > 1
        for mu in mus
        for k in range(resets)
    ]
    points += [
        {"kind": "local", "n": n, "mu": mu, "reset": r, "evaluations": 20 if scale == "tiny" else 2000}
        for n in {"tiny": (2,), "small": (2, 4, 8), "paper": (2, 4, 8, 16)}[scale]
        for mu in mus
        for r in (1e-2, 1e-4)
    ]
    points += [{"kind": "chain", "m": m} for m in letters]
    points += [
        {"kind": "necklace", "m": m, "mu": mu, "inner": e}
        for m in words
        for mu in mus
        for e in (0.1, 0.01, 0.001, 1e-5)
    ]
    points += [
        {"kind": "necklace-arms", "m": m, "high": a, "low": b}
        for m in (3, 5)[: len(words) - 1]
        for a, b in ((0.7, 0.4),)
    ]
    return [{**point, "seed": 0} for point in points]


def run(point: Point) -> Metrics:
    """One exact value; for *local*, the least q that eight flows from near the best column found."""
    from priorscope import memory as finite

    kind = point["kind"]
    if kind == "column":
        return {"wrong": finite.column_wrong(point["n"], point["mu"], exit_rate=EXIT, reset=0.0)}
    if kind == "arms":
        world = finite.bernoulli([[point["high"], point["low"]]])
        return {"wrong": finite.column_wrong(point["n"], world, exit_rate=EXIT, reset=0.0)}
    if kind == "explore":
        rate, wrong = finite.best_exit_rate(point["n"], point["mu"], point["reset"])
        return {"rate": rate, "wrong": wrong}
    if kind == "local":
        n, world, reset = point["n"], finite.two_hypotheses(point["mu"]), point["reset"]
        rate, best = finite.best_exit_rate(n, world, reset)
        start = finite.ram_start(n, "ccp", range(8), exit_rate=rate)
        found = finite.learn(start, finite.ram(n), world, reset=reset, evaluations=point["evaluations"])
        return {"wrong": float(found.best.min()), "column": best}
    if kind == "chain":
        return {"length": len(finite.necklace_chain(point["m"])), "necklaces": finite.count_necklaces(point["m"])}
    world = (
        finite.two_hypotheses(point["mu"]) if kind == "necklace" else finite.bernoulli([[point["high"], point["low"]]])
    )
    inner = point.get("inner", 1e-5)
    policy = finite.necklace_policy(point["m"], END * inner, inner)
    return {"wrong": finite.performance(policy, finite.necklace_memory(point["m"]), world, reset=0.0).wrong}


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: q of the best column against the restart rate. Right: q of necklace policies as they slow down."""
    import altair as alt

    columns = table[table["kind"] == "explore"].assign(states=lambda t: t["n"].astype(int).astype(str))
    left = (
        alt.Chart(columns)
        .mark_line(point=True)
        .encode(
            x=alt.X("reset:Q", title="restart rate r").scale(type="log"),
            y=alt.Y("wrong:Q", title="plays on the worse arm q").scale(type="log"),
            color=alt.Color("states:O", title="memory states M", sort=None),
            strokeDash=alt.StrokeDash("mu:N", title="μ"),
        )
        .properties(width=280, height=240, title="Columns of confidence at their best exit rate")
    )
    chains = table[table["kind"] == "necklace"].assign(plays=lambda t: t["m"].astype(int).astype(str))
    right = (
        alt.Chart(chains)
        .mark_line(point=True)
        .encode(
            x=alt.X("inner:Q", title="rate of moves between necklaces ε₁").scale(type="log"),
            y=alt.Y("wrong:Q", title="plays on the worse arm q").scale(type="log"),
            color=alt.Color("plays:O", title="remembered plays m", sort=None),
            strokeDash=alt.StrokeDash("mu:N", title="μ"),
        )
        .properties(width=280, height=240, title="Necklace policies without restarts")
    )
    drawn: alt.HConcatChart = alt.hconcat(left, right).resolve_scale(color="independent")
    return drawn


PAPER = Paper("memory-exact", "What finite memories reach at best", SOURCE, 2, grid, run, CLAIMS, chart)
