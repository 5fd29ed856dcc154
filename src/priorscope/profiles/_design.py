"""Which samples every predictor is trained on and tested on: the same for all, so that they can be compared sample by sample."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Design", "Part"]

FOLDS = 8
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """One training set and the samples left to test on; ``eighths`` of a draw are trained on.

    Example:
        >>> Part(0, 0, 2, np.arange(4), np.arange(4, 16)).size
        4
    """

    draw: int
    turn: int
    eighths: int
    train: Rows = field(repr=False)
    test: Rows = field(repr=False)

    @property
    def size(self) -> int:
        """Number of training samples."""
        return len(self.train)


@dataclass(frozen=True)
class Design:
    """Samples of all draws one after another, each draw cut into eight folds that are joined in a ring.

    A part with ``turn`` k and m eighths is trained on folds k, …, k + m - 1 and tested on the others: parts of one turn are
    nested, and over all turns every sample is tested equally often. ``labels`` (None in regression) are spread evenly over
    the folds.

    Example:
        >>> design = Design.of(16, draws=1)
        >>> [len(p.train) for p in design.parts((2, 6), turns=(0,))], design.sizes((2, 6)).tolist()
        ([4, 12], [4, 12])
    """

    n: int  # samples per draw
    draws: int
    folds: tuple[tuple[Rows, ...], ...] = field(repr=False)  # of each draw

    @classmethod
    def of(cls, n: int, *, draws: int, labels: NDArray[np.int64] | None = None, seed: int = 0) -> Design:
        """A design of ``draws`` times ``n`` samples; fewer than 16 in a draw make folds of one sample."""
        rng = np.random.default_rng([seed, 17])
        folds = []
        for draw in range(draws):
            order = rng.permutation(n)
            if labels is not None:
                order = order[np.argsort(labels[draw * n : (draw + 1) * n][order], kind="stable")]
            shift = int(rng.integers(FOLDS))
            folds.append(tuple(np.sort(order[(k + shift) % FOLDS :: FOLDS]) + draw * n for k in range(FOLDS)))
        return cls(n, draws, tuple(folds))

    def __len__(self) -> int:
        return self.n * self.draws

    @property
    def eighths(self) -> tuple[int, ...]:
        """Training sizes for predictors that cost next to nothing: as many as leave at least four samples to train on."""
        return tuple(m for m in range(1, FOLDS) if self.n * m // FOLDS >= 4)

    @property
    def few(self) -> tuple[int, ...]:
        """Training sizes for predictors that cost time: a quarter, a half, three quarters."""
        return tuple(m for m in (2, 4, 6) if self.n * m // FOLDS >= 4)

    def sizes(self, eighths: tuple[int, ...]) -> NDArray[np.int64]:
        """Training samples at so many eighths."""
        return np.array([round(self.n * m / FOLDS) for m in eighths], dtype=np.int64)

    def part(self, draw: int, turn: int, eighths: int) -> Part:
        """One part."""
        ring = [self.folds[draw][(turn + k) % FOLDS] for k in range(FOLDS)]
        return Part(draw, turn, eighths, np.concatenate(ring[:eighths]), np.concatenate(ring[eighths:]))

    def parts(
        self, eighths: tuple[int, ...], turns: tuple[int, ...] = tuple(range(FOLDS)), *, spread: bool = False
    ) -> list[Part]:
        """Parts of all draws; ``spread``: each turn in one draw only, the draws taking turns."""
        found = []
        for m in eighths:
            for i, turn in enumerate(turns):
                draws = [i % self.draws] if spread else range(self.draws)
                found += [self.part(draw, turn, m) for draw in draws]
        return found
