"""Processor time and memory that a fit may take, and how many landmarks they allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from priorscope.inference import processor_seconds

__all__ = ["Budget", "Progress"]

Progress = Callable[[float, float], None]  # of the share that is done and the processor seconds that are left
PRODUCT = 2.2e-11  # processor seconds of a multiplication and addition in single precision, in large products
FACTOR = 5e-11  # and in double precision, in factors and their inverses
RIDGES = 5  # that are tried on all rows
FEWEST = 1000  # landmarks below which rows are dropped before more landmarks are


@dataclass(frozen=True)
class Budget:
    """What is left of ``seconds`` of processor time and ``memory`` in bytes; None is as much as it takes.

    Example:
        >>> round(Budget(10.0).left), Budget().left
        (10, inf)
    """

    seconds: float | None = None
    memory: float | None = None
    progress: Progress | None = None
    began: float = field(default_factory=processor_seconds)

    @property
    def left(self) -> float:
        """Processor seconds that are left."""
        return inf if self.seconds is None else max(self.seconds - (processor_seconds() - self.began), 0.0)

    def allows(self, seconds: float) -> bool:
        """Whether something that takes so long still fits, with some room."""
        return seconds <= 0.8 * self.left

    @staticmethod
    def exact(n: int) -> float:
        """Processor seconds of the exact solution for n rows, its kernel and left-out errors among them."""
        return RIDGES * n**3 * FACTOR / 2 + 4e-8 * n**2

    @staticmethod
    def of_landmarks(n: int, m: int, kept: int, pair: float) -> float:
        """Processor seconds of m landmarks, where one value of the kernel takes ``pair`` seconds."""
        return n * m * (pair + m * PRODUCT / 2) + RIDGES * m**2 * (m / 3 + kept) * FACTOR

    @staticmethod
    def bytes_of(m: int, kept: int) -> float:
        """Bytes that the matrices of m landmarks take together."""
        return 40.0 * m**2 + 24.0 * kept * m + 1e8

    def fitting(self, n: int, wanted: int, kept: int, pair: float) -> tuple[int, int]:
        """How many rows and landmarks fit: landmarks give way first, down to a thousand, then rows.

        Example:
            >>> Budget(1e9).fitting(10**6, 4000, 4000, 1e-8)
            (1000000, 4000)
            >>> rows, landmarks = Budget(30.0).fitting(10**6, 4000, 4000, 1e-8)
            >>> rows == 10**6, 1000 < landmarks < 1500, Budget(3.0).fitting(10**6, 4000, 4000, 1e-8)[1]
            (True, True, 1000)
        """
        m = wanted
        while m > 50 and self.memory is not None and self.bytes_of(m, kept) > self.memory:
            m = int(0.93 * m)
        while m > FEWEST and not self.allows(self.of_landmarks(n, m, kept, pair)):
            m = max(int(0.93 * m), FEWEST)
        rows = n
        while rows > 2 * m and not self.allows(self.of_landmarks(rows, m, min(kept, rows), pair)):
            rows = int(0.9 * rows)
        return rows, m
