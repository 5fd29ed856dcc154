"""How much the first layer of a network has learnt to ignore directions of its input that do not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

from priorscope.contracts import guarded

__all__ = ["Compression", "compression"]


@dataclass(frozen=True)
class Compression:
    r"""Scales of first-layer weights of K members along and across the informative directions.

    Example:
        >>> Compression(np.array([3.0]), np.array([1.5])).ratio.tolist()
        [2.0]
    """

    parallel: np.ndarray  # (K,)
    perpendicular: np.ndarray  # (K,)

    @property
    def ratio(self) -> np.ndarray:
        r"""Compression :math:`\Lambda = W_\parallel/W_\perp` of each member: 1 without learning, larger after it."""
        return np.asarray(self.parallel / self.perpendicular)

    def table(self) -> pd.DataFrame:
        """One row per member."""
        import pandas as pd

        return pd.DataFrame({"parallel": self.parallel, "perpendicular": self.perpendicular, "ratio": self.ratio})

    def chart(self) -> alt.TopLevelMixin:
        """Scale along the informative directions against that across them, one point per member."""
        import altair as alt

        x, y = (
            alt.X("perpendicular:Q", title="weights across"),
            alt.Y("parallel:Q", title="weights along informative directions"),
        )
        chart: alt.TopLevelMixin = alt.Chart(self.table()).mark_point(filled=True, size=45).encode(x, y)
        return chart


@guarded()
def compression(weights: Tensor, informative: Tensor) -> Compression:
    r"""Compression of uninformative directions by first-layer weights (h, d), or (K, h, d) of K members.

    .. math:: \Lambda = \sqrt{\langle w_\parallel^2\rangle / \langle w_\perp^2\rangle}

    Means are over neurons and over an orthonormal basis of either space; ``informative`` (d, m) spans the directions on which
    labels depend. Paccolat et al. (2021), "Geometric compression of invariant manifolds in neural nets": in the feature regime
    :math:`\Lambda\sim\sqrt P`, and lazy training on inputs squeezed by Λ across those directions performs alike.

    Example:
        >>> w = torch.tensor([[4.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        >>> compression(w, torch.tensor([[1.0], [0.0], [0.0]])).ratio.round(3).tolist()
        [4.0]
    """
    w = weights[None] if weights.ndim == 2 else weights
    if w.ndim != 3 or informative.ndim != 2 or informative.shape[0] != w.shape[2]:
        raise ValueError(
            f"compression needs weights (h, d) or (K, h, d) and directions (d, m); got {tuple(weights.shape)} and "
            f"{tuple(informative.shape)}."
        )
    d, m = informative.shape
    if m >= d:
        raise ValueError(f"compression needs fewer informative directions than the {d} of the input; got {m}.")
    basis, _ = torch.linalg.qr(informative.to(w.dtype), mode="complete")  # the first m columns span the directions
    parts = (w.detach() @ basis).square().mean(1)  # (K, d)
    return Compression(parts[:, :m].mean(1).sqrt().numpy(), parts[:, m:].mean(1).sqrt().numpy())
