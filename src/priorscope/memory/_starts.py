"""Where learning starts: logits of policies, from blind to nearly optimal, as the source compares them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from priorscope.checks import check, number, whole
from priorscope.memory._columns import column_of_confidence
from priorscope.memory._memory import Memory, memento
from priorscope.memory._necklace_policy import necklace_policy

__all__ = ["memento_start", "random_start", "ram_start"]

Array = NDArray[np.float64]
_NEAR = 1e-4  # added to every probability of a known policy, as in Fig. 2 and 4 of the source
NEVER = -np.inf  # the logit of an action that is ruled out


def random_start(memory: Memory, seeds: range, *, scale: float = 1.0) -> Array:
    """Normal logits for any memory (seeds, observations, actions).

    The scale is ours; the source gives none.

    Example:
        >>> from priorscope.memory import ram
        >>> random_start(ram(2), range(3)).shape
        (3, 8, 4)
    """
    check("random_start", "scale", scale, number(least=0))
    shape = (memory.n_observations, memory.n_actions)
    return np.stack([scale * np.random.default_rng(seed).standard_normal(shape) for seed in seeds])


def _near(policy: Array, seeds: range) -> Array:
    """Logits of a known policy after adding 1e-4 to every probability, with a ripple by which seeds differ."""
    ripple = np.stack([1 + 0.1 * np.random.default_rng(seed).uniform(-1, 1, policy.shape) for seed in seeds])
    mixed = policy + _NEAR * ripple
    return np.asarray(np.log(mixed / mixed.sum(-1, keepdims=True)))


def ram_start(
    n: int, kind: Literal["random", "linear", "columns", "ccp"], seeds: range, *, exit_rate: float = 0.01
) -> Array:
    """Logits for ``ram(n)``: memory jumps at random, to neighbours only, also keeping the arm, or nearly a column of confidence.

    *linear* rules out jumps beyond the neighbours; *columns* also repeats the last arm, unless the memory is at 1.
    Geiger, Eloy & Wyart (2021), Fig. 4; ``exit_rate`` is that of the *ccp*.

    Example:
        >>> logits = ram_start(3, "columns", range(2))
        >>> bool(np.isinf(logits[0, 4:]).any()), logits.shape
        (True, (2, 12, 6))
    """
    check("ram_start", "n", n, whole(1))
    if kind == "ccp":
        return _near(column_of_confidence(n, exit_rate), seeds)
    if kind not in ("random", "linear", "columns"):
        raise ValueError(f"ram_start knows random, linear, columns and ccp; got {kind!r}.")
    i, a, c, j, b = np.ogrid[:n, :2, :2, :n, :2]
    allowed = np.ones((n, 2, 2, n, 2), dtype=bool)
    if kind != "random":
        allowed &= (abs(i - j) <= 1) & (c >= 0) & (a >= 0) & (b >= 0)
    if kind == "columns":
        allowed &= (a == b) | (i == 0)
    draws = np.stack([np.random.default_rng(seed).standard_normal((4 * n, 2 * n)) for seed in seeds])
    return np.where(allowed.reshape(4 * n, 2 * n), draws, NEVER)


def memento_start(
    m: int, kind: Literal["random", "cycles", "necklace"], seeds: range, *, rates: tuple[float, float] = (0.01, 0.2)
) -> Array:
    """Logits for ``memento(m)``: at random, playing the oldest arm unless every reward spoke for one arm, or a necklace policy.

    In *cycles* a path between the necklaces has to be learnt; in *necklace* the rates alone, which start at ``rates`` (at
    the ends, inside). Geiger, Eloy & Wyart (2021), Fig. 4.

    Example:
        >>> memento_start(3, "cycles", range(2)).shape
        (2, 64, 2)
    """
    memory = memento(m)
    if kind == "random":
        return random_start(memory, seeds)
    if kind == "necklace":
        return _near(necklace_policy(m, *rates), seeds)
    if kind != "cycles":
        raise ValueError(f"memento_start knows random, cycles and necklace; got {kind!r}.")
    arms, paid = memory.plays[..., 0], memory.plays[..., 1]
    free = (paid == arms).all(1) | (paid == 1 - arms).all(1)  # every reward speaks for B, or every one for A
    policy = np.where(free[:, None], 0.5, np.eye(2)[arms[:, 0]])
    ripple = np.stack([np.random.default_rng(seed).standard_normal(policy.shape) for seed in seeds])
    mixed = policy + _NEAR
    return np.asarray(np.log(mixed / mixed.sum(-1, keepdims=True)) + np.where(free[:, None], ripple, 0.0))
