"""How close a classifier is to a solution of its margin problem: the numbers, the sentence, the picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Margin"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Margin:
    r"""A network's margins and its distance from the conditions of Karush, Kuhn and Tucker (KKT) of the largest margin.

    ``margin`` is the normalised :math:`\gamma = \min_i q_i(w)/\|w\|^D`; ``ratio`` is the margin as a share of the largest that
    the gradients of the network at these weights allow, 1 at a KKT point and only there. ``gap`` :math:`= 1 -
    \text{ratio}^2` is the sum of ``stationarity`` squared, :math:`\|w - \sum_i\lambda_i\nabla q_i\|^2/\|w\|^2`, and twice
    ``complementarity``, :math:`D\sum_i\lambda_i(q_i - 1)/\|w\|^2`, at weights scaled to :math:`\min_i q_i = 1`, with the
    multipliers :math:`\lambda` that make it least. ``margins`` (n,) are those of the samples over the smallest, ``multipliers``
    (n,) sum over the rivals of a class; samples with one above zero are the network's support vectors.

    Example:
        >>> import torch
        >>> from priorscope.probes import margin
        >>> line = torch.nn.Linear(2, 1, bias=False)
        >>> _ = torch.nn.init.ones_(line.weight)
        >>> found = margin(line, torch.tensor([[2.0, 1.0], [-1.0, -2.0]]), torch.tensor([1.0, -1.0]))
        >>> round(found.ratio, 6), found.degree, found.n_support  # the largest margin there is
        (1.0, 1.0, 2)
    """

    degree: float
    margin: float
    ratio: float
    stationarity: float
    complementarity: float
    margins: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    weight_norm: float
    parameters: tuple[str, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """The duality gap of the margin problem linearised here, relative to the squared norm of the weights."""
        return 1 - self.ratio**2

    @property
    def n_support(self) -> int:
        """How many samples carry the solution: those with a multiplier above a millionth of the largest."""
        top = float(self.multipliers.max())
        return int((self.multipliers > 1e-6 * top).sum()) if top > 0 else 0

    def sentence(self) -> str:
        """How close the network is to a solution of its margin problem, in one sentence."""
        if self.ratio > 0.999:
            place = "is a solution of its margin problem to first order"
        elif self.ratio > 0.95:
            place = "is close to a solution of its margin problem"
        else:
            place = "is not near a solution of its margin problem"
        return (
            f"The network {place}: its margin is {100 * self.ratio:.3g} % of the largest that its own gradients allow, and "
            f"{self.n_support} of {len(self.margins)} samples would carry that solution (degree {self.degree:g}, normalised "
            f"margin {self.margin:.3g})."
        )

    def __str__(self) -> str:
        return "\n".join([self.sentence(), *(f"Note: {note}" for note in self.notes)])

    def table(self) -> pd.DataFrame:
        """One row per sample: its margin over the smallest one, and its multiplier."""
        import pandas as pd

        rows = np.arange(len(self.margins))
        return pd.DataFrame({"row": rows, "margin": self.margins, "multiplier": self.multipliers})

    def chart(self) -> alt.TopLevelMixin:
        """Multipliers against margins: at a solution only samples at margin 1 have one."""
        import altair as alt

        drawn: alt.Chart = (
            alt.Chart(self.table())
            .mark_circle(opacity=0.6)
            .encode(
                x=alt.X("margin:Q", title="margin over the smallest").scale(type="log", nice=False),
                y=alt.Y("multiplier:Q", title="multiplier"),
                tooltip=["row:Q", "margin:Q", "multiplier:Q"],
            )
        )
        return drawn
