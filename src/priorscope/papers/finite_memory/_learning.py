"""Learning with finite memory: by which start, by which memory and by which optimiser a good policy is found."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, rising
from priorscope.papers.finite_memory._exact_claims import SOURCE
from priorscope.statistics import group_interval

if TYPE_CHECKING:
    import altair as alt

MU, RESET = 0.1, 1e-4  # μ of Fig. 4; the source gives no restart rate there
RAM_STARTS = ("random", "linear", "columns", "ccp")
MEMENTO_STARTS = ("random", "cycles", "necklace")


def grid(scale: str) -> list[Point]:
    """The panels of Fig. 4 by gradient flow, and those that compare memories by Adam too."""
    columns = {"tiny": (2,), "small": (8, 20), "paper": (8, 20)}[scale]
    words = {"tiny": (2,), "small": (3, 4), "paper": (3, 4)}[scale]
    evaluations, seeds = {"tiny": (20, 2), "small": (2500, 20), "paper": (50_000, 20)}[scale]
    cells = [("ram", n, start, "flow") for n in columns for start in RAM_STARTS]
    cells += [("memento", m, start, "flow") for m in words for start in MEMENTO_STARTS]
    cells += [("ram", 4 ** (m - 1), "random", method) for m in words for method in ("flow", "adam")]
    cells += [("memento", m, "random", "adam") for m in words]
    return [
        {
            "memory": kind,
            "size": n,
            "start": start,
            "method": method,
            "evaluations": evaluations,
            "members": seeds,
            "seed": 0,
        }
        for kind, n, start, method in dict.fromkeys(cells)
    ]


def run(point: Point) -> Metrics:
    """q at the end and at its best for every member, along the way thinned; for comparison, what the known policies reach."""
    from priorscope import memory as finite

    world, size, members = finite.two_hypotheses(MU), point["size"], range(point["members"])
    if point["memory"] == "ram":
        rate, known = finite.best_exit_rate(size, world, RESET)
        chosen, start = finite.ram(size), finite.ram_start(size, point["start"], members, exit_rate=rate)
    else:
        chosen, known = finite.memento(size), _best_necklace(size)
        start = finite.memento_start(size, point["start"], members)
    found = finite.learn(start, chosen, world, reset=RESET, method=point["method"], evaluations=point["evaluations"])
    median = np.median(found.wrong, axis=0)
    return {
        "final": found.wrong[:, -1],
        "best": found.best,
        "evaluations_at": found.evaluations,
        "median": median,
        "known": known,
    }


def _best_necklace(m: int) -> float:
    """q of the best two rates of a necklace policy that starts on its chain."""
    from scipy.optimize import minimize

    from priorscope import memory as finite

    world, chosen = finite.two_hypotheses(MU), finite.necklace_memory(m)

    def wrong(logs: np.ndarray) -> float:
        end, inner = np.exp(np.minimum(logs, 0.0))
        return finite.performance(finite.necklace_policy(m, end, inner), chosen, world, reset=RESET).wrong

    found = minimize(wrong, np.log([RESET ** (2 / 3), RESET ** (1 / 3)]), method="Nelder-Mead", options={"xatol": 1e-3})
    return float(found.fun)


def cell(table: pd.DataFrame, memory: str, size: int, start: str, method: str = "flow") -> np.ndarray:
    """q of every member at its best."""
    rows = table[
        (table["memory"] == memory) & (table["size"] == size) & (table["start"] == start) & (table["method"] == method)
    ]
    if len(rows) != 1:
        raise NotMeasured(f"no runs of {memory} {size} from {start} by {method}")
    return np.asarray(rows.iloc[0]["best"], dtype=float)


def log_ratio(table: pd.DataFrame, worse: tuple[str, int, str, str], better: tuple[str, int, str, str]) -> Measured:
    """The mean logarithm of q in one cell minus that in another, members as draws."""
    groups = [np.log(cell(table, *worse)), np.log(cell(table, *better))]
    found = group_interval(groups, lambda g: float(g[0].mean() - g[1].mean()))
    medians = [float(np.median(np.exp(g))) for g in groups]
    return Measured(found, f"median q {medians[0]:.3g} and {medians[1]:.3g}, {len(groups[0])} members each")


def sensitivity(table: pd.DataFrame, n: int, m: int) -> Measured:
    """How much worse a random start is than one near the known policy: for ram, minus the same for memento (in logarithms)."""
    cells = [("ram", n, "random"), ("ram", n, "ccp"), ("memento", m, "random"), ("memento", m, "necklace")]
    groups = [np.log(cell(table, *one)) for one in cells]

    def difference(g: list[np.ndarray]) -> float:
        return float((g[0].mean() - g[1].mean()) - (g[2].mean() - g[3].mean()))

    return Measured(group_interval(groups, difference), f"memento alone {groups[2].mean() - groups[3].mean():.3g}")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Median q of the members against evaluations, one panel per memory."""
    import altair as alt

    rows = [
        {
            "panel": f"{r['memory']}({int(r['size'])})",
            "start": r["start"] if r["method"] == "flow" else f"{r['start']}, Adam",
            "evaluations": int(k),
            "wrong": float(q),
        }
        for r in table.to_dict("records")
        for k, q in zip(r["evaluations_at"], r["median"])
    ]
    known = [
        {"panel": f"{r['memory']}({int(r['size'])})", "wrong": float(r["known"])} for r in table.to_dict("records")
    ]
    long = pd.DataFrame(rows)
    x = alt.X("evaluations:Q", title="evaluations").scale(type="log")
    y = alt.Y("wrong:Q", title="plays on the worse arm q").scale(type="log")
    panels = []
    for panel in dict.fromkeys(long["panel"]):
        lines = (
            alt.Chart(long[long["panel"] == panel])
            .mark_line()
            .encode(x=x, y=y, color=alt.Color("start:N", title="start"))
        )
        rule = alt.Chart(pd.DataFrame([k for k in known if k["panel"] == panel][:1])).mark_rule(strokeDash=[4, 4])
        panels.append(alt.layer(lines, rule.encode(y="wrong:Q")).properties(width=190, height=170, title=panel))
    drawn: alt.ConcatChart = alt.concat(*panels, columns=3).resolve_scale(y="shared")
    return drawn


def _ordered(n: int) -> tuple[Check, ...]:
    return tuple(
        Check(
            f"{worse} over {better}, M = {n}",
            partial(log_ratio, worse=("ram", n, worse, "flow"), better=("ram", n, better, "flow")),
            rising(),
        )
        for worse, better in pairwise(RAM_STARTS)
    )


def _memories(method: str) -> tuple[Check, ...]:
    return tuple(
        Check(
            f"ram({4 ** (m - 1)}) over memento({m})",
            partial(log_ratio, worse=("ram", 4 ** (m - 1), "random", method), better=("memento", m, "random", method)),
            rising(),
        )
        for m in (3, 4)
    )


CLAIMS = (
    Claim(
        "M.10",
        f"{SOURCE}, Fig. 4 A, B",
        "with random access memory, policies learnt from random logits are worst, then those from jumps to neighbours, "
        "then from columns, and those from near the column of confidence are best",
        checks=(*_ordered(8), *_ordered(20)),
    ),
    Claim(
        "M.11",
        f"{SOURCE}, Fig. 4 C, D",
        "what is learnt with the last plays as memory depends less on the start than with random access memory",
        checks=(
            Check("ram(8) minus memento(3)", partial(sensitivity, n=8, m=3), rising()),
            Check("ram(20) minus memento(4)", partial(sensitivity, n=20, m=4), rising()),
        ),
    ),
    Claim(
        "M.12",
        f"{SOURCE}, Fig. 4 E, F",
        "from random logits, gradient flow finds better policies with the last plays as memory than with random access "
        "memory of the same size",
        checks=_memories("flow"),
    ),
    Claim(
        "M.12b",
        "priorscope; the source learns by gradient flow only",
        "the same ranking under Adam: it belongs to the memories, not to the optimiser",
        checks=_memories("adam"),
        finding="under Adam from random logits the ranking turns round: random access memory learns the better policies",
    ),
)

PAPER = Paper("memory-learning", "Which memories learn well, from which start", SOURCE, 1, grid, run, CLAIMS, chart)
