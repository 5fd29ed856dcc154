"""The environment of a learning system without a data set: arms with unknown reward laws, one of several hypotheses true."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import check, number
from priorscope.printing import printed

__all__ = ["Bandit", "arms_in_any_order", "bernoulli", "two_hypotheses"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class Bandit:
    r"""Arms whose reward laws are known up to the hypothesis.

    ``laws[e, k, c]`` is the chance of reward ``rewards[c]`` from arm k under hypothesis e, which is true with
    probability ``prior[e]`` and stays true until the next restart. Playing arm k is *wrong* where another arm has a higher
    mean reward. Geiger, Eloy & Wyart (2021), Sec. 2.3, has two arms, two rewards and two hypotheses
    (:func:`two_hypotheses`).

    Example:
        >>> slot = Bandit([[[0.5, 0.3, 0.2], [0.6, 0.0, 0.4]]], rewards=[0.0, 1.0, 10.0])  # one hypothesis, two arms
        >>> slot.means.round(3).tolist(), slot.wrong.tolist()
        ([[2.3, 4.0]], [[True, False]])
    """

    laws: Array
    rewards: Array = None  # type: ignore[assignment]  # set below; -1 and +1 for two outcomes
    prior: Array = None  # type: ignore[assignment]  # set below; equal chances

    def __post_init__(self) -> None:
        """Check laws, rewards and prior, and keep them as arrays."""
        laws = np.asarray(self.laws, dtype=np.float64)
        if laws.ndim != 3 or 0 in laws.shape:
            raise ValueError(
                f"a Bandit needs laws (hypotheses, arms, outcomes); got shape {laws.shape}. "
                "For arms that pay or do not, use bernoulli(success)."
            )
        if not (np.isfinite(laws).all() and (laws >= 0).all() and np.allclose(laws.sum(-1), 1, rtol=0, atol=1e-12)):
            raise ValueError(
                "a Bandit needs laws that are probabilities: none negative, each arm's outcomes summing to 1."
            )
        if self.rewards is None and laws.shape[2] != 2:
            raise ValueError(f"a Bandit with {laws.shape[2]} outcomes needs rewards, one number per outcome.")
        rewards = np.array([-1.0, 1.0]) if self.rewards is None else np.asarray(self.rewards, dtype=np.float64)
        if rewards.shape != laws.shape[2:] or not np.isfinite(rewards).all():
            raise ValueError(f"a Bandit needs {laws.shape[2]} finite rewards, one per outcome; got {rewards.tolist()}.")
        n = len(laws)
        prior = np.full(n, 1 / n) if self.prior is None else np.asarray(self.prior, dtype=np.float64)
        if prior.shape != (n,) or not ((prior >= 0).all() and np.isclose(prior.sum(), 1, rtol=0, atol=1e-12)):
            raise ValueError(f"a Bandit needs a prior of {n} probabilities that sum to 1; got {prior.tolist()}.")
        for name, value in (("laws", laws), ("rewards", rewards), ("prior", prior)):
            object.__setattr__(self, name, value)

    @property
    def n_hypotheses(self) -> int:
        """Number of hypotheses."""
        return int(self.laws.shape[0])

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return int(self.laws.shape[1])

    @property
    def n_outcomes(self) -> int:
        """Number of different rewards."""
        return int(self.laws.shape[2])

    @property
    def means(self) -> Array:
        """Mean reward of each arm under each hypothesis (hypotheses, arms)."""
        return np.asarray(self.laws @ self.rewards)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether another arm pays more (hypotheses, arms)."""
        means = self.means
        spread = np.ptp(self.rewards)
        return np.asarray(means < means.max(1, keepdims=True) - 1e-12 * spread)


def bernoulli(success: ArrayLike, prior: ArrayLike | None = None) -> Bandit:
    """Arms that pay +1 with the given chance, else -1: one row per hypothesis, one column per arm.

    Example:
        >>> bernoulli([[0.7, 0.4], [0.4, 0.7]]).means.round(3).tolist()
        [[0.4, -0.2], [-0.2, 0.4]]
    """
    chance = np.asarray(success, dtype=np.float64)
    if chance.ndim != 2 or not (np.isfinite(chance).all() and (chance >= 0).all() and (chance <= 1).all()):
        raise ValueError(f"bernoulli needs chances between 0 and 1 (hypotheses, arms); got {success!r}.")
    return Bandit(np.stack([1 - chance, chance], -1), prior=prior)  # type: ignore[arg-type]  # kept as an array


def two_hypotheses(mu: float) -> Bandit:
    r"""Two arms: A pays +1 with probability :math:`(1+\mu)/2` and B with :math:`(1-\mu)/2`, or the other way round.

    Geiger, Eloy & Wyart (2021), eq. 4; both hypotheses are equally likely.

    Example:
        >>> two_hypotheses(0.1).means.round(3).tolist()
        [[0.1, -0.1], [-0.1, 0.1]]
    """
    check("two_hypotheses", "mu", mu, number(above=0, below=1))
    high, low = (1 + mu) / 2, (1 - mu) / 2
    return bernoulli([[high, low], [low, high]])


def arms_in_any_order(success: ArrayLike) -> Bandit:
    """Arms with these chances to pay, in an order that the player does not know: one hypothesis per order, all equally likely.

    Example:
        >>> arms_in_any_order([0.7, 0.4, 0.4]).n_hypotheses  # equal arms make no new order
        3
    """
    chances = np.asarray(success, dtype=np.float64)
    if chances.ndim != 1 or not 2 <= len(chances) <= 6:
        raise ValueError(f"arms_in_any_order needs the chances of two to six arms; got {success!r}.")
    return bernoulli(sorted(set(itertools.permutations(chances.tolist())), reverse=True))
