"""Policies learnt by exact gradients: gradient flow as the source has it, or Adam; many seeds in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from priorscope.checks import check, number, whole
from priorscope.memory._bandit import Bandit
from priorscope.memory._loop import Loop
from priorscope.memory._memory import Memory
from priorscope.printing import printed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Learning", "learn"]

Array = NDArray[np.float64]
Measure = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
_GROW, _SHRINK = 1.5, 0.35  # of a step that was accepted, refused
_FALL = 1e-12  # a reward that falls by no more than this has not fallen


@printed
@dataclass(frozen=True)
class Learning:
    """What learning found: ``wrong`` (seeds, records) is q along the way, ``policies`` those with the least q of each seed.

    ``evaluations`` counts values with gradients; ``times`` (seeds, records) are those of the flow, in units of eq. 3 of the
    source (steps for Adam).

    Example:
        >>> from priorscope.memory import ram, random_start, two_hypotheses
        >>> found = learn(random_start(ram(2), range(3)), ram(2), two_hypotheses(0.5), reset=0.01, evaluations=50)
        >>> bool((found.best < found.wrong[:, 0]).all()), found.policies.shape
        (True, (3, 8, 4))
    """

    method: str
    evaluations: NDArray[np.int64]
    times: Array = field(repr=False)
    wrong: Array = field(repr=False)
    best: Array
    policies: Array = field(repr=False)

    def table(self) -> pd.DataFrame:
        """One row per seed and record."""
        import pandas as pd

        seeds, records = self.wrong.shape
        return pd.DataFrame(
            {
                "seed": np.repeat(np.arange(seeds), records),
                "evaluations": np.tile(self.evaluations, seeds),
                "time": self.times.ravel(),
                "wrong": self.wrong.ravel(),
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """q against evaluations, one thin line per seed and the median as a thick one."""
        import altair as alt

        table = self.table()
        x = alt.X("evaluations:Q", title="evaluations of value and gradient").scale(type="symlog")
        y = alt.Y("wrong:Q", title="plays on the worse arm q").scale(type="log")
        base = alt.Chart(table).encode(x=x, y=y)
        thin = base.mark_line(opacity=0.25, strokeWidth=1).encode(detail="seed:N")
        median = base.mark_line(strokeWidth=3).encode(y=alt.Y("median(wrong):Q"))
        drawn: alt.TopLevelMixin = alt.layer(thin, median).properties(title=self.method)
        return drawn


def learn(
    logits: ArrayLike,
    memory: Memory,
    bandit: Bandit,
    *,
    reset: float,
    method: Literal["flow", "adam"] = "flow",
    evaluations: int = 1000,
    rate: float = 0.03,
    max_turn: float = 1e-2,
    records: int = 60,
) -> Learning:
    r"""Climb the gain from softmax policies with these ``logits`` (seeds, observations, actions); -inf rules an action out.

    *flow* follows :math:`\dot w = \partial G/\partial w` (Geiger, Eloy & Wyart 2021, eq. 3) by Euler steps, each seed with its
    own length: a step is taken when the gradient turns by :math:`\|g_i-g_{i+1}\|^2/(\|g_i\|\|g_{i+1}\|)` < ``max_turn``
    (default 1e-2; the source has 1e-4 for networks and none here) and the gain does not fall. *adam* takes
    ``evaluations`` steps of size ``rate``. Neither samples: value and gradient are exact.

    Example:
        >>> from priorscope.memory import column_limit, ram, ram_start, two_hypotheses
        >>> start = ram_start(2, "ccp", range(2), exit_rate=0.02)
        >>> found = learn(start, ram(2), two_hypotheses(0.5), reset=1e-4, evaluations=60)
        >>> bool((found.best > column_limit(2, 0.5)).all())
        True
    """
    check(
        "learn",
        "reset",
        reset,
        number(above=0, below=1, advice="Learning needs restarts: the gain of r = 0 is infinite."),
    )
    check("learn", "evaluations", evaluations, whole(2))
    check("learn", "rate", rate, number(above=0))
    check("learn", "max_turn", max_turn, number(above=0))
    check("learn", "records", records, whole(2))
    loop = Loop(memory, bandit)
    w = torch.from_numpy(np.array(logits, dtype=np.float64))
    wanted = (memory.n_observations, memory.n_actions)
    if (
        w.ndim != 3
        or tuple(w.shape[1:]) != wanted
        or not bool(torch.isfinite(w).any(-1).all())
        or bool(w.isnan().any())
    ):
        raise ValueError(
            f"learn needs logits (seeds, {wanted[0]}, {wanted[1]}) for {memory.name}, with a finite one per observation; "
            f"got {tuple(w.shape)}."
        )

    def measure(w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        policies = torch.softmax(w, -1)
        reward, wrong, slope = loop.reward_and_gradient(policies, reset)
        return reward, wrong, policies * (slope - (policies * slope).sum(-1, keepdim=True)) / reset

    keep = _Record(w, evaluations, records)
    if method == "flow":
        _flow(w, measure, evaluations, max_turn, keep)
    elif method == "adam":
        _adam(w, measure, evaluations, rate, keep)
    else:
        raise ValueError(f"learn knows the methods flow and adam; got {method!r}.")
    return Learning(
        method,
        np.array(keep.at),
        np.stack(keep.times, 1),
        np.stack(keep.wrong, 1),
        keep.best.numpy(),
        torch.softmax(keep.policies, -1).numpy(),
    )


class _Record:
    """q at some evaluations, spaced evenly in their logarithm, and the best policy of each seed."""

    def __init__(self, w: Tensor, evaluations: int, records: int) -> None:
        self.due = set(np.unique(np.geomspace(1, evaluations, records).round().astype(int)).tolist())
        self.at: list[int] = []
        self.times: list[Array] = []
        self.wrong: list[Array] = []
        self.best = torch.full((len(w),), torch.inf, dtype=torch.float64)
        self.policies = w.clone()

    def see(self, count: int, time: Tensor, w: Tensor, wrong: Tensor) -> None:
        better = wrong < self.best
        self.best = torch.where(better, wrong, self.best)
        self.policies = torch.where(better[:, None, None], w, self.policies)
        if count in self.due:
            self.at.append(count)
            self.times.append(time.numpy().copy())
            self.wrong.append(wrong.numpy().copy())


def _flow(w: Tensor, measure: Measure, evaluations: int, max_turn: float, keep: _Record) -> None:
    """Euler steps of adaptive length; a refused step counts as an evaluation."""
    reward, wrong, slope = measure(w)
    time = torch.zeros(len(w), dtype=torch.float64)
    step = 0.1 / slope.flatten(1).norm(dim=1).clamp(min=1e-300)
    keep.see(1, time, w, wrong)
    for count in range(2, evaluations + 1):
        ahead = torch.where(torch.isfinite(w), w + step[:, None, None] * slope, w)
        reward1, wrong1, slope1 = measure(ahead)
        before, after = slope.flatten(1).norm(dim=1), slope1.flatten(1).norm(dim=1)
        turn = (slope1 - slope).flatten(1).square().sum(1) / (before * after).clamp(min=1e-300)
        accept = (turn < max_turn) & (reward1 >= reward - _FALL) & torch.isfinite(turn)
        pick = accept[:, None, None]
        w, slope = torch.where(pick, ahead, w), torch.where(pick, slope1, slope)
        reward, wrong = torch.where(accept, reward1, reward), torch.where(accept, wrong1, wrong)
        time = torch.where(accept, time + step, time)
        step = torch.where(accept, _GROW * step, _SHRINK * step)
        keep.see(count, time, w, wrong)


def _adam(w: Tensor, measure: Measure, evaluations: int, rate: float, keep: _Record) -> None:
    """Kingma & Ba (2015), Algorithm 1, with their β1 = 0.9, β2 = 0.999."""
    first, second = torch.zeros_like(w), torch.zeros_like(w)
    for count in range(1, evaluations + 1):
        _, wrong, slope = measure(w)
        keep.see(count, torch.full((len(w),), float(count - 1), dtype=torch.float64), w, wrong)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope.square()
        size = (first / (1 - 0.9**count)) / ((second / (1 - 0.999**count)).sqrt() + 1e-8)
        w = torch.where(torch.isfinite(w), w + rate * size, w)
