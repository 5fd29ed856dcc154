"""The bandit as a Gymnasium environment, so that agents of other libraries meet the exact optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorscope.checks import check, number
from priorscope.memory._bandit import Bandit
from priorscope.memory._memory import Memory

try:
    import gymnasium
except ImportError as error:  # an extra
    raise ImportError("memory.gymnasium_env needs Gymnasium: pip install 'priorscope[memory]'.") from error

__all__ = ["BanditEnv"]


class BanditEnv(gymnasium.Env[np.int64, np.int64]):
    """A memory in a bandit: actions are those of the memory, observations what the policy sees, rewards those of the plays.

    An episode is one stay under one hypothesis: after each play it ends with probability ``reset``, which is what a discount
    of 1 - reset means (Geiger, Eloy & Wyart 2021, Lemma 2.1). ``info`` tells whether the play was wrong, for measuring only.
    A library that remembers by itself takes ``memento(1)``: the last arm and its outcome.

    Example:
        >>> from priorscope.memory import memento, two_hypotheses
        >>> env = BanditEnv(memento(2), two_hypotheses(0.1), reset=0.01)
        >>> observation, _ = env.reset(seed=0)
        >>> observation, reward, ended, cut, info = env.step(1)
        >>> reward in (-1.0, 1.0), int(env.action_space.n), int(env.observation_space.n)
        (True, 2, 16)
    """

    metadata: dict[str, list[str]] = {"render_modes": []}

    def __init__(self, memory: Memory, bandit: Bandit, *, reset: float) -> None:
        check("BanditEnv", "reset", reset, number(least=0, below=1))
        memory.require(bandit)
        self.memory, self.bandit, self._rate = memory, bandit, reset
        self.action_space = gymnasium.spaces.Discrete(memory.n_actions)
        self.observation_space = gymnasium.spaces.Discrete(memory.n_observations)
        self._restart = memory.restart(bandit)
        self._hypothesis = self._state = 0

    def _draw(self, law: NDArray[np.float64]) -> int:
        return int(self.np_random.choice(len(law), p=law))

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.int64, dict[str, object]]:
        """A new hypothesis, and the memory as a restart leaves it."""
        super().reset(seed=seed)
        self._hypothesis = self._draw(self.bandit.prior)
        self._state = self._draw(self._restart[self._hypothesis])
        return np.int64(self.memory.observation[self._state]), {}

    def step(self, action: np.int64 | int) -> tuple[np.int64, float, bool, bool, dict[str, bool]]:
        """Play, see the outcome, and remember."""
        if not self.action_space.contains(action):
            raise ValueError(
                f"an action of {self.memory.name} is a number below {self.memory.n_actions}; got {action!r}."
            )
        arm = int(self.memory.arm[action])
        outcome = self._draw(self.bandit.laws[self._hypothesis, arm])
        branch = self._draw(self.memory.chances[self._state, action, outcome])
        self._state = int(self.memory.successors[self._state, action, outcome, branch])
        ended = bool(self.np_random.random() < self._rate)
        told = {"wrong": bool(self.bandit.wrong[self._hypothesis, arm])}
        return np.int64(self.memory.observation[self._state]), float(self.bandit.rewards[outcome]), ended, False, told
