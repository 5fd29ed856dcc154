"""One cycle of the learning rate, up and down, over steps that are counted or over processor time that is running out."""

from __future__ import annotations

import math
import time
from enum import StrEnum

import torch

from priorscope.checks import POSITIVE, checked, number, optional, whole

__all__ = ["Cycle", "Ended", "processor_seconds"]

_LOOKS = 0.02  # share of the seconds after which the time that steps take is known well enough, and is looked at again


class Ended(StrEnum):
    """What ended a training run.

    Example:
        >>> print(Ended.SECONDS)
        the seconds were spent
    """

    STEPS = "all steps were taken"
    HELD_OUT = "the held-out rows stopped getting better"
    SECONDS = "the seconds were spent"
    OWN = "a training function of the user's own returned"


def processor_seconds() -> float:
    """Seconds of this thread where torch uses one, else of the process.

    Example:
        >>> processor_seconds() <= processor_seconds()
        True
    """
    return time.thread_time() if torch.get_num_threads() == 1 else time.process_time()


@checked(steps=whole(), warm=number(least=0, below=1), max_seconds=optional(POSITIVE))
class Cycle:
    r"""The factor on the learning rate: up to 1 in a first share ``warm`` of the run, then down to 0 along a cosine.

    The run is ``steps`` long. With ``max_seconds`` of processor time the length is planned from the time that steps take: where
    they would not fit, the rest of the cycle goes by the clock, so that the rate has come down when the time is over (Smith &
    Topin 2019, "Super-convergence", for one cycle; the clock is ours). Runs that fit are the same with and without a limit.

    Example:
        >>> cycle = Cycle(steps=8, warm=0.25)
        >>> [round(cycle.factor(step / 8), 2) for step in range(9)]
        [0.04, 0.52, 1.0, 0.93, 0.75, 0.5, 0.25, 0.07, 0.0]
    """

    def __init__(self, steps: int, *, warm: float = 0.25, max_seconds: float | None = None) -> None:
        self.steps, self.warm, self.max_seconds = steps, warm, max_seconds
        self.began = processor_seconds()
        self._turned: tuple[float, float] | None = None  # where and when the clock took over
        self._next_look = 0.0

    @property
    def by_clock(self) -> bool:
        """Whether the steps do not fit into the seconds, so that time rules the rate."""
        return self._turned is not None

    @property
    def spent(self) -> float:
        """Processor seconds since it was made."""
        return processor_seconds() - self.began

    def progress(self, done: int) -> float:
        """The share of the run that is behind after ``done`` steps; 1 and more: it is over."""
        share = done / self.steps
        if self.max_seconds is None:
            return share
        spent = self.spent
        if self._turned is None and done >= 3 and spent >= self._next_look:
            self._next_look = spent + _LOOKS * self.max_seconds
            if spent > _LOOKS * self.max_seconds and spent > self.max_seconds * share:
                self._turned = (share, spent)
        if self._turned is None:
            return share if spent < self.max_seconds else 1.0
        start, when = self._turned
        left = max(self.max_seconds - when, 1e-9)
        return max(share, start + (1 - start) * (spent - when) / left)

    def factor(self, progress: float) -> float:
        """The factor on the rate at this share of the run."""
        if progress < self.warm:
            return 0.04 + 0.96 * progress / self.warm
        return 0.5 + 0.5 * math.cos(math.pi * min((progress - self.warm) / (1 - self.warm), 1.0))
