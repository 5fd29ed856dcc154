"""The Gymnasium environment obeys its own checker, and a policy played in it does as the exact value says."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.memory import column_of_confidence, gymnasium_env, performance, ram, two_hypotheses
from priorscope.statistics import seed_interval


def test_checker_of_gymnasium():
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium_env(ram(2), two_hypotheses(0.3), reset=0.1), skip_render_check=True)


def test_played_policy_meets_the_exact_value():
    reset, world, memory = 0.05, two_hypotheses(0.6), ram(3)
    policy = column_of_confidence(3, 0.2)
    env, rng = gymnasium_env(memory, world, reset=reset), np.random.default_rng(0)
    env.reset(seed=3)
    shares = []
    for _ in range(40):
        wrong, plays = 0, 0
        while plays < 300:
            observation, _ = env.reset()
            ended = False
            while not ended:
                observation, _, ended, _, info = env.step(rng.choice(memory.n_actions, p=policy[observation]))
                wrong, plays = wrong + info["wrong"], plays + 1
        shares.append(wrong / plays)
    exact = performance(policy, memory, world, reset=reset)
    # an episode counts plays alone; the exact chain counts the state after a restart too, which is wrong half of the time
    expected = (exact.wrong - reset * 0.5) / (1 - reset)
    seen = seed_interval(shares)
    assert abs(seen.value - expected) < 2 * (seen.high - seen.low)
    assert seen.high - seen.low < 0.05
    assert abs(seen.value - 0.5) > 0.1


def test_bad_action_is_told():
    env = gymnasium_env(ram(2), two_hypotheses(0.3), reset=0.1)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="below 4"):
        env.step(9)
