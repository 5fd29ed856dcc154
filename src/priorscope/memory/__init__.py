"""Learning systems without a data set: an environment takes the place of data, a memory that of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from priorscope.memory._bandit import Bandit, arms_in_any_order, bernoulli, two_hypotheses
from priorscope.memory._columns import (
    best_exit_rate,
    column_limit,
    column_of_confidence,
    column_wrong,
    exit_rate_law,
    hellman_cover_limit,
)
from priorscope.memory._graph import PolicyGraph, policy_graph
from priorscope.memory._learning import Learning, learn
from priorscope.memory._loop import Loop, Performance, performance
from priorscope.memory._memory import Memory, automaton, memento, ram
from priorscope.memory._necklace_policy import necklace_limit, necklace_memory, necklace_policy, two_way_policy
from priorscope.memory._necklaces import chain_bound, count_necklaces, necklace_chain, necklace_of
from priorscope.memory._simulate import Simulation, simulate
from priorscope.memory._starts import memento_start, ram_start, random_start
from priorscope.memory._steady_state import steady_state, without_restarts
from priorscope.memory._walks import chance_to_cross, mass_at_far_end

if TYPE_CHECKING:
    from priorscope.memory._gymnasium import BanditEnv

__all__ = [
    "Bandit",
    "Learning",
    "Loop",
    "Memory",
    "Performance",
    "PolicyGraph",
    "Simulation",
    "arms_in_any_order",
    "automaton",
    "bernoulli",
    "best_exit_rate",
    "chain_bound",
    "chance_to_cross",
    "column_limit",
    "column_of_confidence",
    "column_wrong",
    "count_necklaces",
    "exit_rate_law",
    "gymnasium_env",
    "hellman_cover_limit",
    "learn",
    "mass_at_far_end",
    "memento",
    "memento_start",
    "necklace_chain",
    "necklace_limit",
    "necklace_memory",
    "necklace_of",
    "necklace_policy",
    "performance",
    "policy_graph",
    "ram",
    "ram_start",
    "random_start",
    "simulate",
    "steady_state",
    "two_hypotheses",
    "two_way_policy",
    "without_restarts",
]


def gymnasium_env(memory: Memory, bandit: Bandit, *, reset: float) -> BanditEnv:
    """The bandit as a Gymnasium environment; needs the extra ``priorscope[memory]``.

    Example:
        >>> env = gymnasium_env(ram(4), two_hypotheses(0.1), reset=0.01)
        >>> int(env.action_space.n), int(env.observation_space.n)
        (8, 16)
    """
    from priorscope.memory._gymnasium import BanditEnv

    return BanditEnv(memory, bandit, reset=reset)
