"""The memory of a player: which state follows what was played, what was paid and what was written."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import check, whole
from priorscope.memory._bandit import Bandit

__all__ = ["Memory", "automaton", "memento", "ram"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_MOST = 2**20  # states times actions times outcomes: 8 MB of indices


@dataclass(frozen=True)
class Memory:
    """A finite memory: after action ``a`` in state ``s`` and outcome ``c`` it moves to ``successors[s, a, c, b]``.

    ``chances`` (same shape) are the probabilities of the branches ``b``. Action a plays arm ``arm[a]``. Each state
    remembers at least the last play: ``plays[s]`` (depth, 2) are the arms and outcomes it remembers, the latest last. The
    policy sees ``observation[s]``. A restart leads to state s with probability ``start[s]`` times the chances of the
    outcomes it remembers. Made by :func:`ram`, :func:`memento` or :func:`automaton`.

    Example:
        >>> box = ram(8)
        >>> box.n_states, box.n_actions, box.n_observations
        (32, 16, 32)
    """

    name: str
    arm: Whole = field(repr=False)
    successors: Whole = field(repr=False)
    chances: Array = field(repr=False)
    plays: Whole = field(repr=False)
    observation: Whole = field(repr=False)
    start: Array = field(repr=False)
    letters: tuple[str, ...] = field(repr=False)  # the name of each state

    @property
    def n_states(self) -> int:
        """Number of states, the last play included."""
        return len(self.plays)

    @property
    def n_actions(self) -> int:
        """Number of actions: an arm, and what to write."""
        return len(self.arm)

    @property
    def n_observations(self) -> int:
        """Number of things the policy can tell apart."""
        return int(self.observation.max()) + 1

    @property
    def n_arms(self) -> int:
        """Number of arms the memory is made for."""
        return int(self.arm.max()) + 1

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes the memory is made for."""
        return int(self.successors.shape[2])

    def require(self, bandit: Bandit) -> None:
        """Refuse a bandit with other arms or outcomes.

        Example:
            >>> from priorscope.memory import arms_in_any_order
            >>> ram(2).require(arms_in_any_order([0.5, 0.6, 0.7]))
            Traceback (most recent call last):
            ...
            ValueError: ram(2) is made for 2 arms and 2 outcomes; the bandit has 3 and 2. Build it with arms=3, outcomes=2.
        """
        if (self.n_arms, self.n_outcomes) != (bandit.n_arms, bandit.n_outcomes):
            raise ValueError(
                f"{self.name} is made for {self.n_arms} arms and {self.n_outcomes} outcomes; the bandit has {bandit.n_arms} "
                f"and {bandit.n_outcomes}. Build it with arms={bandit.n_arms}, outcomes={bandit.n_outcomes}."
            )

    def restart(self, bandit: Bandit) -> Array:
        """The law of the state after a restart (hypotheses, states): remembered outcomes are drawn from the bandit."""
        arms, outcomes = self.plays[..., 0], self.plays[..., 1]
        return np.asarray(self.start * bandit.laws[:, arms, outcomes].prod(-1))


def _letters(arms: int, outcomes: int) -> tuple[str, str]:
    signs = "-+" if outcomes == 2 else "".join(str(c) for c in range(outcomes))
    return "ABCDEFGHIJ"[:arms], signs


def _checked(who: str, arms: int, outcomes: int) -> None:
    check(who, "arms", arms, whole(2, most=10))
    check(who, "outcomes", outcomes, whole(2, most=10))


def ram(n: int, *, arms: int = 2, outcomes: int = 2) -> Memory:
    r"""Random access memory: ``n`` states that each action may rewrite at will, beside the last arm and outcome.

    An action is the pair (next memory state, arm); :math:`M_{\mathrm{eff}} = 4n` for two arms and two outcomes. It starts in
    memory state 1 with an arm at random. Geiger, Eloy & Wyart (2021), Definition 2.5.

    Example:
        >>> ram(2).letters[:4]
        ('1A-', '1A+', '1B-', '1B+')
    """
    check("ram", "n", n, whole(1, "A memory of one state remembers the last play alone."))
    _checked("ram", arms, outcomes)
    size = (n * arms * outcomes) * (n * arms) * outcomes
    if size > _MOST:
        raise ValueError(
            f"ram({n}) with {arms} arms has {size:,} transitions; at most {_MOST:,} fit. Use fewer states."
        )
    names, signs = _letters(arms, outcomes)
    i, a, c = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(arms), np.arange(outcomes), indexing="ij"))
    to, arm = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(arms), indexing="ij"))
    after = (to * arms + arm)[:, None] * outcomes + np.arange(outcomes)  # (actions, outcomes)
    successors = np.broadcast_to(after[None, :, :, None], (len(i), len(arm), outcomes, 1)).astype(np.int64)
    return Memory(
        f"ram({n})",
        arm.astype(np.int64),
        successors,
        np.ones(successors.shape),
        np.stack([a, c], -1)[:, None].astype(np.int64),
        np.arange(len(i)),
        np.where(i == 0, 1 / arms, 0.0),
        tuple(f"{x + 1}{names[y]}{signs[z]}" for x, y, z in zip(i, a, c)),
    )


def memento(m: int, *, arms: int = 2, outcomes: int = 2) -> Memory:
    r"""The last ``m`` arms and outcomes, written by playing alone; :math:`M_{\mathrm{eff}} = 4^m` for two arms and two outcomes.

    The latest play stands on the right. It starts with arms at random. Geiger, Eloy & Wyart (2021), Definition 2.6 (whose
    example shifts the arms alone: the rewards move with them).

    Example:
        >>> short = memento(4)
        >>> now = short.letters.index("AABB++--")
        >>> short.letters[short.successors[now, 0, 1, 0]]  # A is played and pays
        'ABBA+--+'
    """
    check("memento", "m", m, whole(1))
    _checked("memento", arms, outcomes)
    n = (arms * outcomes) ** m
    if n * arms * outcomes > _MOST:
        raise ValueError(
            f"memento({m}) with {arms} arms and {outcomes} outcomes has {n:,} states; at most "
            f"{_MOST // (arms * outcomes):,} fit. Remember fewer plays."
        )
    names, signs = _letters(arms, outcomes)
    words, paid = np.divmod(np.arange(n), outcomes**m)  # oldest play in the highest digit
    a, c = np.meshgrid(np.arange(arms), np.arange(outcomes), indexing="ij")
    word = words[:, None, None] * arms % arms**m + a
    reward = paid[:, None, None] * outcomes % outcomes**m + c
    successors = (word * outcomes**m + reward)[..., None]

    def digits(value: NDArray[np.int64], base: int) -> NDArray[np.int64]:
        return np.stack([value // base**k % base for k in range(m - 1, -1, -1)], -1)

    plays = np.stack([digits(words, arms), digits(paid, outcomes)], -1)
    spelt = tuple("".join(names[k] for k in p[:, 0]) + "".join(signs[k] for k in p[:, 1]) for p in plays)
    return Memory(
        f"memento({m})",
        np.arange(arms),
        successors.astype(np.int64),
        np.ones(successors.shape),
        plays,
        np.arange(n),
        np.full(n, arms**-m, dtype=np.float64),
        spelt,
    )


def automaton(
    transition: ArrayLike, *, start: ArrayLike | None = None, sees_last: bool = False, name: str = "automaton"
) -> Memory:
    """A memory of your own: ``transition[i, u, k, c, j]`` is the chance to move from memory i to j.

    ``u`` is what the policy chooses to write (leave this axis out where it chooses nothing), ``k`` the arm just played,
    ``c`` its outcome. The policy sees the memory state, and the last play too with ``sees_last``. ``start`` is the law of
    the first memory state (default: the first), beside an arm at random.

    Example:
        >>> import numpy as np
        >>> stay = np.zeros((2, 2, 2, 2))  # two states: which arm was last, forgotten with chance 0.1
        >>> stay[:, 0, :, 0] = stay[:, 1, :, 1] = 0.9
        >>> stay[:, 0, :, 1] = stay[:, 1, :, 0] = 0.1
        >>> leaky = automaton(stay)
        >>> leaky.n_observations, leaky.n_states, leaky.n_actions
        (2, 8, 2)
    """
    table = np.asarray(transition, dtype=np.float64)
    if table.ndim == 4:
        table = table[:, None]
    if table.ndim != 5 or table.shape[0] != table.shape[4] or 0 in table.shape:
        raise ValueError(
            "an automaton needs transition (memory, [write,] arm, outcome, memory) with as many states before as after; "
            f"got shape {np.shape(transition)}."
        )
    n, writes, arms, outcomes, _ = table.shape
    if not (np.isfinite(table).all() and (table >= 0).all() and np.allclose(table.sum(-1), 1, rtol=0, atol=1e-12)):
        raise ValueError(
            "an automaton needs probabilities: transition must not be negative, and sum to 1 over its last axis."
        )
    law = np.eye(n)[0] if start is None else np.asarray(start, dtype=np.float64)
    if law.shape != (n,) or (law < 0).any() or not np.isclose(law.sum(), 1, rtol=0, atol=1e-12):
        raise ValueError(f"the start of an automaton needs {n} probabilities that sum to 1; got {law.tolist()}.")
    _checked("automaton", arms, outcomes)
    last = arms * outcomes
    if n * last * writes * arms * outcomes * n > 64 * _MOST:
        raise ValueError(
            f"an automaton of {n} states with {writes} writes and {arms} arms is too large; use fewer states."
        )
    i, a, c = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(arms), np.arange(outcomes), indexing="ij"))
    write, arm = (x.ravel() for x in np.meshgrid(np.arange(writes), np.arange(arms), indexing="ij"))
    after = arm[:, None] * outcomes + np.arange(outcomes)  # (actions, outcomes): the last play of the next state
    to = np.arange(n) * last + after[..., None]  # (actions, outcomes, memory)
    chances = table[i[:, None], write, arm]  # (states, actions, outcomes, memory)
    names, signs = _letters(arms, outcomes)
    return Memory(
        name,
        arm.astype(np.int64),
        np.broadcast_to(to, chances.shape).astype(np.int64),
        chances,
        np.stack([a, c], -1)[:, None].astype(np.int64),
        np.arange(len(i)) if sees_last else i.astype(np.int64),
        law[i] / arms,
        tuple(f"{x + 1}{names[y]}{signs[z]}" for x, y, z in zip(i, a, c)),
    )
