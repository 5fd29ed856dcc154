"""A policy as a graph: states as dots, moves as arrows, weighted by how often they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import check, number
from priorscope.memory._bandit import Bandit
from priorscope.memory._loop import Loop
from priorscope.memory._memory import Memory
from priorscope.printing import printed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["PolicyGraph", "policy_graph"]


@printed
@dataclass(frozen=True)
class PolicyGraph:
    """The moves a policy makes: one row per pair of states that follow each other, most frequent first.

    Example:
        >>> from priorscope.memory import column_of_confidence, ram, two_hypotheses
        >>> graph = policy_graph(column_of_confidence(3, 0.05), ram(3), two_hypotheses(0.2), reset=1e-4)
        >>> graph.table().columns.tolist()
        ['from', 'to', 'flow', 'visits']
    """

    names: tuple[str, ...]
    visits: NDArray[np.float64]
    flows: NDArray[np.float64]  # (states, states): moves per play

    def table(self) -> pd.DataFrame:
        """One row per move that is ever made, with how often it is made and how often its origin is visited."""
        import pandas as pd

        rows, columns = np.nonzero(self.flows > 1e-12)
        order = np.argsort(-self.flows[rows, columns], kind="stable")
        rows, columns = rows[order], columns[order]
        return pd.DataFrame(
            {
                "from": [self.names[k] for k in rows],
                "to": [self.names[k] for k in columns],
                "flow": self.flows[rows, columns],
                "visits": self.visits[rows],
            }
        )

    def places(self) -> NDArray[np.float64]:
        """Coordinates of the states: along the first slow mode of the moves, states that share it side by side."""
        n = len(self.names)
        both = self.flows + self.flows.T
        weights = np.sqrt(both)
        degree = weights @ np.ones(n)
        laplacian = np.diag(degree) - weights
        scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
        _, modes = np.linalg.eigh(scale[:, None] * laplacian * scale)
        x = np.argsort(np.argsort(scale * modes[:, 1], kind="stable"), kind="stable") / max(n - 1, 1)
        y = scale * modes[:, 2] if n > 2 else np.zeros(n)
        spread = np.ptp(y)
        return np.stack([x, (y - y.min()) / spread if spread > 0 else np.zeros(n)], 1)

    def chart(self) -> alt.TopLevelMixin:
        """States sized by visits, moves as lines sized by flow."""
        import altair as alt
        import pandas as pd

        place = self.places()
        at = {name: place[k] for k, name in enumerate(self.names)}
        moves = self.table()
        moves = moves[moves["from"] != moves["to"]]
        moves = moves.assign(
            x=[at[name][0] for name in moves["from"]],
            y=[at[name][1] for name in moves["from"]],
            x2=[at[name][0] for name in moves["to"]],
            y2=[at[name][1] for name in moves["to"]],
        )
        dots = pd.DataFrame({"state": self.names, "visits": self.visits, "x": place[:, 0], "y": place[:, 1]})
        across = alt.X("x:Q", axis=None, scale=alt.Scale(padding=30))
        up = alt.Y("y:Q", axis=None, scale=alt.Scale(padding=30))
        width = alt.StrokeWidth("flow:Q", scale=alt.Scale(type="log", range=[0.3, 5]), legend=None)
        lines = (
            alt.Chart(moves)
            .mark_rule(opacity=0.5)
            .encode(
                x=across,
                y=up,
                x2="x2:Q",
                y2="y2:Q",
                strokeWidth=width,
                tooltip=["from", "to", "flow"],
            )
        )
        points = (
            alt.Chart(dots)
            .mark_circle(opacity=1)
            .encode(
                x=across,
                y=up,
                size=alt.Size("visits:Q", title="share of time", scale=alt.Scale(range=[20, 900])),
                color=alt.Color("visits:Q", legend=None),
                tooltip=["state", "visits"],
            )
        )
        words = alt.Chart(dots).mark_text(dy=-22, fontSize=10).encode(x=across, y=up, text="state:N")
        return alt.layer(lines, points, words).properties(width=620, height=260)


def policy_graph(
    policy: ArrayLike, memory: Memory, bandit: Bandit, *, reset: float, hypothesis: int = 0, by: int | None = None
) -> PolicyGraph:
    """The moves of a policy under one hypothesis; states that share the first ``by`` letters of their name are one dot.

    By default a dot is a state without the outcomes it remembers: confidence and arm, or the word of arms.

    Example:
        >>> from priorscope.memory import column_of_confidence, ram, two_hypotheses
        >>> graph = policy_graph(column_of_confidence(3, 0.05), ram(3), two_hypotheses(0.2), reset=1e-4)
        >>> sorted(graph.names)
        ['1A', '1B', '2A', '2B', '3A', '3B']
    """
    check("policy_graph", "reset", reset, number(least=0, below=1))
    if not 0 <= hypothesis < bandit.n_hypotheses:
        raise ValueError(f"policy_graph needs a hypothesis from 0 to {bandit.n_hypotheses - 1}; got {hypothesis}.")
    loop = Loop(memory, bandit)
    chosen = loop.checked(policy)
    (laws,) = loop.occupancy(chosen, reset).numpy()
    (decisions,) = loop.decisions(chosen).numpy()  # (states, decided)
    ahead = np.zeros((loop.n_decided, memory.n_states))
    np.add.at(ahead, (np.arange(loop.n_decided)[:, None], loop.to.numpy()), loop.weights[hypothesis].numpy())
    law = laws[hypothesis]
    flows = law[:, None] * (decisions @ ahead)
    depth = memory.plays.shape[1]
    short = [name[: by if by is not None else len(name) - depth] for name in memory.letters]
    names = tuple(dict.fromkeys(short))
    groups = np.eye(len(names))[[names.index(name) for name in short]]
    return PolicyGraph(names, law @ groups, groups.T @ flows @ groups)
