"""What `fit` gives back: predictions, the path that led to them, and the seconds it took."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, whole
from priorscope.printing import printed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fitted", "Trajectory", "log_times"]


@checked(first=POSITIVE, last=POSITIVE, count=whole())
def log_times(first: float, last: float, count: int = 30) -> Tensor:
    """Times equally spaced in their logarithm, both ends included.

    Example:
        >>> log_times(1, 100, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    if not 0 < first <= last:
        raise ValueError(f"log_times needs 0 < first <= last; got first={first}, last={last}.")
    times = torch.from_numpy(np.geomspace(first, last, count))
    return times


@printed
@dataclass(frozen=True)
class Trajectory:
    """Training seen at some times; member axis K last in ``loss`` when several networks trained together.

    ``outputs`` holds training predictions (T, [K,] n, outputs) and ``params`` flat weights (T, K, P), when asked for.

    Example:
        >>> Trajectory(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 1.0])).table().shape
        (2, 3)
    """

    times: Tensor  # (T,)
    loss: Tensor  # (T,) or (T, K)
    outputs: Tensor | None = None
    params: Tensor | None = field(default=None, repr=False)

    def table(self) -> pd.DataFrame:
        """Tidy DataFrame with columns time, member, loss."""
        import pandas as pd

        loss = self.loss.reshape(len(self.times), -1).detach().cpu().numpy()
        n_times, n_members = loss.shape
        return pd.DataFrame(
            {
                "time": np.repeat(self.times.cpu().numpy(), n_members),
                "member": np.tile(np.arange(n_members), n_times),
                "loss": loss.ravel(),
            }
        )


class Fitted(ABC):
    """A trained system: ``predict``, ``trajectory``, ``seconds``.

    Example:
        >>> class Constant(Fitted):
        ...     trajectory, seconds = Trajectory(torch.zeros(1), torch.zeros(1)), 0.0
        ...     def predict(self, inputs):
        ...         return torch.ones(len(inputs), 1)
        >>> Constant()(torch.zeros(2, 3)).flatten().tolist()
        [1.0, 1.0]
    """

    trajectory: Trajectory
    seconds: float

    @abstractmethod
    def predict(self, inputs: Tensor) -> Tensor:
        """Predictions (n, outputs); (K, n, outputs) for an ensemble."""

    def __call__(self, inputs: Tensor) -> Tensor:
        return self.predict(inputs)
