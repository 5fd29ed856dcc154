"""Policy, memory and bandit as one Markov chain, reduced to what is known after a decision; values and exact gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from priorscope.checks import check, number
from priorscope.memory._bandit import Bandit
from priorscope.memory._memory import Memory
from priorscope.memory._steady_state import without_restarts
from priorscope.printing import printed

__all__ = ["Loop", "Performance", "performance"]

Array = NDArray[np.float64]
RESET = number(least=0, below=1)


@printed
@dataclass(frozen=True)
class Performance:
    r"""How a policy does in the long run: ``wrong`` is q, the share of plays on an arm that is not the best.

    ``reward`` is the mean reward per play, from which :math:`G = \mathrm{reward}/r` is the expected sum of discounted rewards
    with :math:`\gamma = 1 - r` (Geiger, Eloy & Wyart 2021, Lemma 2.1). For two hypotheses
    :math:`\mathrm{reward} = \mu(1-2q)`; the paper prints another factor.
    ``occupancy`` is the law of the state under each hypothesis.

    Example:
        >>> from priorscope.memory import ram, two_hypotheses
        >>> blind = np.full((4, 2), 0.5)
        >>> round(performance(blind, ram(1), two_hypotheses(0.1), reset=0.01).wrong, 6)
        0.5
    """

    wrong: float
    reward: float
    reset: float
    occupancy: Array

    @property
    def gain(self) -> float:
        """The expected sum of discounted rewards; infinite without restarts, unless nothing is earned."""
        if self.reset > 0:
            return self.reward / self.reset
        return float(np.sign(self.reward) * np.inf) if self.reward else 0.0


class Loop:
    """A memory in a bandit, prepared for many policies at once.

    What happens next depends on the state and the action only through the state *after the decision* (the plays that
    will be remembered, the arm): half as many as states for :func:`ram` and :func:`memento`, and linear systems of that size
    are all that is solved. Geiger, Eloy & Wyart (2021), Sec. 2.2, square the whole transition matrix instead.

    Example:
        >>> from priorscope.memory import memento, two_hypotheses
        >>> loop = Loop(memento(3), two_hypotheses(0.1))
        >>> loop.memory.n_states, loop.n_decided
        (64, 32)
    """

    def __init__(self, memory: Memory, bandit: Bandit) -> None:
        """Join actions that do the same, and tabulate where each leads and with which chance."""
        memory.require(bandit)
        self.memory, self.bandit = memory, bandit
        s, a, c, b = memory.successors.shape
        arm = np.broadcast_to(memory.arm[None, :, None], (s, a, 1))
        key = np.concatenate([arm, memory.successors.reshape(s, a, -1), memory.chances.reshape(s, a, -1)], -1)
        _, first, after = np.unique(key.reshape(s * a, -1), axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # by first appearance, so that for ram the decision is the action
        rows, after = key.reshape(s * a, -1)[first[order]], np.argsort(order)[after.ravel()]
        self.n_decided = len(rows)
        self.after = torch.from_numpy(after.reshape(s, a).astype(np.int64))
        self.decides_all = bool((after.reshape(s, a) == np.arange(len(rows))[:a]).all() and len(rows) == a)
        played = rows[:, 0].astype(np.int64)
        to = rows[:, 1 : 1 + c * b].astype(np.int64)
        weights = bandit.laws[:, played][..., None] * rows[:, 1 + c * b :].reshape(
            -1, c, b
        )  # (hypotheses, decided, c, b)
        self.to = torch.from_numpy(to)  # (decided, c b)
        self.weights = torch.from_numpy(weights.reshape(len(weights), len(rows), c * b))
        self.seen = torch.from_numpy(memory.observation)
        self.start = torch.from_numpy(memory.restart(bandit))  # (hypotheses, states)
        last = memory.plays[:, -1]
        self.reward = torch.from_numpy(bandit.rewards[last[:, 1]])  # (states,)
        self.wrong = torch.from_numpy(bandit.wrong[:, last[:, 0]].astype(np.float64))  # (hypotheses, states)
        self.prior = torch.from_numpy(bandit.prior)
        self.sees_all = bool((memory.observation == np.arange(s)).all())  # each state is an observation of its own

    def checked(self, policy: ArrayLike) -> Tensor:
        """A policy (observations, actions) as a tensor (1, observations, actions), each row a law."""
        wanted = (self.memory.n_observations, self.memory.n_actions)
        found = torch.from_numpy(np.array(policy, dtype=np.float64))
        if found.shape != wanted:
            raise ValueError(
                f"a policy for {self.memory.name} needs shape {wanted} (observations, actions); got {tuple(found.shape)}."
            )
        if not bool((found >= 0).all()) or not bool(((found.sum(-1) - 1).abs() < 1e-9).all()):
            raise ValueError("a policy needs one law per observation: no negative entries, each row summing to 1.")
        return found[None]

    def decisions(self, policies: Tensor) -> Tensor:
        """The chance of each state after the decision, from each state (n, states, decided)."""
        n, (s, a) = len(policies), self.after.shape
        by_state = policies if self.sees_all else policies[:, self.seen]
        if self.decides_all:
            return by_state
        out = torch.zeros(n, s, self.n_decided, dtype=torch.float64)
        return out.scatter_add_(2, self.after.expand(n, s, a), by_state)

    def moves(self, decisions: Tensor) -> Tensor:
        """From one state after a decision to the next (n, hypotheses, decided, decided)."""
        n, d = len(decisions), self.n_decided
        ahead = decisions[:, self.to.reshape(-1)].reshape(n, d, -1, d)
        return torch.einsum("eyc,nycz->neyz", self.weights, ahead)

    def arrivals(self, decided: Tensor) -> Tensor:
        """The law of the state that follows a law of what was decided: (n, hypotheses, decided) to (n, hypotheses, states)."""
        n, e, _ = decided.shape
        mass = (decided[..., None] * self.weights).reshape(n, e, -1)
        out = torch.zeros(n, e, self.memory.n_states, dtype=torch.float64)
        return out.scatter_add_(2, self.to.reshape(-1).expand(n, e, -1), mass)

    def occupancy(self, policies: Tensor, reset: float) -> Tensor:
        """The law of the state under each policy and hypothesis (n, hypotheses, states)."""
        decisions = self.decisions(policies)
        moves = self.moves(decisions)
        first = torch.einsum("es,nsy->ney", self.start, decisions)
        if reset == 0:
            laws = [without_restarts(m.numpy(), f.numpy()) for m, f in zip(moves.flatten(0, 1), first.flatten(0, 1))]
            return self.arrivals(torch.from_numpy(np.stack(laws)).reshape(first.shape))
        system = torch.eye(self.n_decided, dtype=torch.float64) - (1 - reset) * moves
        decided = torch.linalg.solve(system.mT, reset * first)
        return reset * self.start + (1 - reset) * self.arrivals(decided / decided.sum(-1, keepdim=True))

    def reward_and_gradient(self, policies: Tensor, reset: float) -> tuple[Tensor, Tensor, Tensor]:
        r"""Mean reward per play and q of each policy (n,), and the derivative of the reward (n, observations, actions).

        With the value after a decision u (rewards measured from their mean, so that nothing grows like 1/r),

        .. math:: \partial g/\partial\pi(a|o) = \sum_e P(e)\,(1-r) \sum_{s: o(s)=o} p_e(s)\, u_e(y(s,a)), \qquad
                  u_e = K_e (R - g_e) + (1-r)\, K_e \Pi\, u_e,

        derived from g = r G and Lemma 2.1 of Geiger, Eloy & Wyart (2021) by differentiating the linear system; one factorisation
        serves the law and, transposed, the values.
        """
        decisions = self.decisions(policies)
        moves = self.moves(decisions)
        system = torch.eye(self.n_decided, dtype=torch.float64) - (1 - reset) * moves
        factors = torch.linalg.lu_factor(system)
        first = torch.einsum("es,nsy->ney", self.start, decisions)
        decided = torch.linalg.lu_solve(*factors, (reset * first)[..., None], adjoint=True)[..., 0]
        law = reset * self.start + (1 - reset) * self.arrivals(decided / decided.sum(-1, keepdim=True))
        means = law @ self.reward  # (n, hypotheses)
        excess = self.reward - means[..., None]  # (n, hypotheses, states)
        ahead = torch.einsum("eyc,neyc->ney", self.weights, excess[:, :, self.to])
        values = torch.linalg.lu_solve(*factors, ahead[..., None])[..., 0]  # (n, hypotheses, decided)
        weighted = (1 - reset) * self.prior[:, None] * law
        by_decision = weighted.mT @ values  # (n, states, decided), summed over hypotheses
        by_state = by_decision  # (n, states, actions) once decisions are actions
        if not self.decides_all:
            by_state = by_decision.gather(2, self.after.expand(len(policies), *self.after.shape))
        gradient = by_state if self.sees_all else torch.zeros_like(policies).index_add_(1, self.seen, by_state)
        return means @ self.prior, torch.einsum("e,nes,es->n", self.prior, law, self.wrong), gradient


def performance(policy: ArrayLike, memory: Memory, bandit: Bandit, *, reset: float) -> Performance:
    """The exact long-run performance of a policy (observations, actions), with restarts or in the limit without them.

    Example:
        >>> from priorscope.memory import column_of_confidence, ram, two_hypotheses
        >>> policy = column_of_confidence(4, exit_rate=1e-9)
        >>> round(performance(policy, ram(4), two_hypotheses(0.1), reset=0).wrong, 4)
        0.1971
    """
    check("performance", "reset", reset, RESET)
    loop = Loop(memory, bandit)
    (law,) = loop.occupancy(loop.checked(policy), reset)
    wrong = float((loop.prior[:, None] * law * loop.wrong).sum())
    return Performance(wrong, float(loop.prior @ (law @ loop.reward)), float(reset), law.numpy())
