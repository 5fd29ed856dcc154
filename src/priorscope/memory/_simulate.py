"""The process itself, played by chance: what the exact values are checked against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import SEED, check, number, whole
from priorscope.memory._bandit import Bandit
from priorscope.memory._loop import Loop
from priorscope.memory._memory import Memory
from priorscope.statistics import Interval, seed_interval

__all__ = ["Simulation", "simulate"]


@dataclass(frozen=True)
class Simulation:
    """Shares of wrong plays and mean rewards over independent players, with 95 % intervals.

    Example:
        >>> Simulation(Interval(0.5, 0.4, 0.6), Interval(0.0, -0.1, 0.1), plays=100).plays
        100
    """

    wrong: Interval
    reward: Interval
    plays: int


def _draw(laws: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One index per row of laws (n, choices)."""
    sums = laws.cumsum(-1)
    return np.asarray((rng.random((len(laws), 1)) * sums[:, -1:] >= sums).sum(-1).clip(max=laws.shape[1] - 1))


def simulate(
    policy: ArrayLike,
    memory: Memory,
    bandit: Bandit,
    *,
    reset: float,
    players: int = 200,
    steps: int = 2000,
    warm_up: int | None = None,
    seed: int = 0,
) -> Simulation:
    """Let independent players follow the policy; plays after ``warm_up`` (default: a third of the steps) count.

    Example:
        >>> from priorscope.memory import column_of_confidence, performance, ram, two_hypotheses
        >>> world, policy = two_hypotheses(0.5), column_of_confidence(2, 0.1)
        >>> seen = simulate(policy, ram(2), world, reset=0.05, seed=1)
        >>> seen.wrong.contains(performance(policy, ram(2), world, reset=0.05).wrong)
        True
    """
    check("simulate", "reset", reset, number(above=0, below=1))
    check("simulate", "players", players, whole(2))
    check("simulate", "steps", steps, whole(2))
    check("simulate", "seed", seed, SEED)
    start = steps // 3 if warm_up is None else warm_up
    if not 0 <= start < steps:
        raise ValueError(f"simulate needs a warm_up below its {steps} steps; got {warm_up}.")
    loop = Loop(memory, bandit)
    (laws,) = loop.checked(policy).numpy()
    rng = np.random.default_rng(seed)
    restart, reward, wrong = memory.restart(bandit), loop.reward.numpy(), loop.wrong.numpy()

    def begin(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        e = _draw(np.broadcast_to(bandit.prior, (n, bandit.n_hypotheses)), rng)
        return e, _draw(restart[e], rng)

    e, s = begin(players)
    totals = np.zeros((2, players))
    for step in range(steps):
        if step >= start:
            totals += np.stack([wrong[e, s], reward[s]])
        action = _draw(laws[memory.observation[s]], rng)
        outcome = _draw(bandit.laws[e, memory.arm[action]], rng)
        branch = _draw(memory.chances[s, action, outcome], rng)
        s = memory.successors[s, action, outcome, branch]
        again = np.flatnonzero(rng.random(players) < reset)
        e[again], s[again] = begin(len(again))
    means = totals / (steps - start)
    return Simulation(seed_interval(means[0]), seed_interval(means[1]), players * (steps - start))
