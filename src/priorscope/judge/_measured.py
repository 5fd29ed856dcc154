"""An error measured on test rows, with what each row contributed, so that errors on the same rows can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measured"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    r"""An error, and its influence function on the test rows: were row i counted :math:`1 + w_i` times, the error would change by
    about :math:`\frac1n \sum_i w_i\, I_i` (Hampel 1974).

    Rows of one block are not independent: :meth:`by_block` adds them up.

    Example:
        >>> found = Measured(0.25, np.array([0.75, -0.25, -0.25, -0.25]))
        >>> round(found.standard_error(), 3)  # of a share of 1 in 4: (0.25 * 0.75 / 4) ** 0.5
        0.217
    """

    value: float
    influence: Array = field(repr=False)

    def by_block(self, blocks: NDArray[np.int64]) -> Array:
        """The part of each block in the error's luck: influences added up and divided by the number of rows."""
        found: Array = np.bincount(blocks, self.influence) / len(self.influence)
        return found

    def standard_error(self, blocks: NDArray[np.int64] | None = None) -> float:
        """How far the error lies from that of endlessly many test rows; rows of one block count as one draw."""
        each = self.influence / len(self.influence) if blocks is None else self.by_block(blocks)
        return float(np.sqrt((each**2).sum()))
