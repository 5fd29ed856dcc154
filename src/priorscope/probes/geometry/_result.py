"""The average geometry as a result: matrix, errors, eigen-system, pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor

from priorscope.printing import printed
from priorscope.probes.geometry._pictures import modes_picture

if TYPE_CHECKING:
    import altair as alt

__all__ = ["AverageGeometry"]


@printed
@dataclass(frozen=True)
class AverageGeometry:
    """G with Monte-Carlo errors; ``matrix`` and ``standard_error`` are (D, D), flattened inputs on both axes.

    Example:
        >>> G = AverageGeometry(torch.diag(torch.tensor([3.0, 1.0])), torch.zeros(2, 2), (2,), 10)
        >>> G.eigenvalues.tolist(), round(G.effective_rank, 3), G.condition_number
        ([3.0, 1.0], 1.6, 3.0)
    """

    matrix: Tensor
    standard_error: Tensor
    input_shape: tuple[int, ...]
    n_models: int
    n_probes: int = 0
    engine: str = ""
    readout: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def relative_error(self) -> float:
        """Frobenius norm of the standard errors over that of G."""
        return float(self.standard_error.norm() / self.matrix.norm())

    @cached_property
    def _eigen(self) -> tuple[Tensor, Tensor]:
        lam, vectors = torch.linalg.eigh(self.matrix.double())
        return lam.flip(0), vectors.flip(1)

    @property
    def eigenvalues(self) -> Tensor:
        """Eigenvalues, largest first."""
        return self._eigen[0]

    @property
    def modes(self) -> Tensor:
        """Eigenvectors as columns (D, D), in the order of the eigenvalues."""
        return self._eigen[1]

    @property
    def effective_rank(self) -> float:
        """Participation ratio (Σλ)² / Σλ²: D for a multiple of the identity, 1 for one direction."""
        lam = self.eigenvalues.clamp(min=0)
        return float(lam.sum() ** 2 / (lam**2).sum())

    @property
    def condition_number(self) -> float:
        """Largest over smallest eigenvalue; infinite when the smallest is not positive (rank or noise)."""
        low = float(self.eigenvalues[-1])
        return float(self.eigenvalues[0]) / low if low > 0 else float("inf")

    def score(self, x: Tensor) -> Tensor:
        """(x/‖x‖)ᵀ G (x/‖x‖) of each row: how visible a sample is to models at initialisation."""
        flat = x.flatten(1).to(self.matrix)
        unit = flat / flat.norm(dim=1, keepdim=True).clamp(min=1e-30)
        found: Tensor = ((unit @ self.matrix) * unit).sum(1)
        return found

    def table(self) -> pd.DataFrame:
        """One row an eigenvalue: rank, eigenvalue, its share of the trace, running share."""
        lam = self.eigenvalues
        share = lam / lam.sum()
        return pd.DataFrame(
            {
                "rank": range(1, len(lam) + 1),
                "eigenvalue": lam.tolist(),
                "share": share.tolist(),
                "cumulative": share.cumsum(0).tolist(),
            }
        )

    def chart(self) -> alt.LayerChart:
        """Eigenvalue against rank on log axes."""
        import altair as alt

        table = self.table()
        table = table[table["eigenvalue"] > 0]
        chart: alt.LayerChart = (
            alt.Chart(table, title=f"Spectrum of the average geometry ({self.n_models:,} models)")
            .mark_line(point=len(table) <= 100)
            .encode(
                x=alt.X("rank:Q", title="rank k", axis=alt.Axis(grid=False, tickCount=5)).scale(type="log", nice=False),
                y=alt.Y("eigenvalue:Q", title="eigenvalue λₖ", axis=alt.Axis(format=".0e", tickCount=5)).scale(
                    type="log"
                ),
                tooltip=["rank", "eigenvalue", "share"],
            )
            .properties(width=420, height=280)
        )
        return chart

    def picture(self, limit: int = 64) -> alt.Chart:
        """G itself as an image, averaged in blocks down to ``limit`` rows where it is larger."""
        import altair as alt

        matrix = self.matrix.float()
        if len(matrix) > limit:
            matrix = torch.nn.functional.interpolate(matrix[None, None], size=(limit, limit), mode="area")[0, 0]
        top = float(matrix.abs().max())
        rows = [{"i": i, "j": j, "G": float(v)} for i, row in enumerate(matrix.tolist()) for j, v in enumerate(row)]
        chart: alt.Chart = (
            alt.Chart(pd.DataFrame(rows), title="Average geometry G")
            .mark_rect()
            .encode(
                x=alt.X("j:O", axis=None),
                y=alt.Y("i:O", axis=None),
                color=alt.Color("G:Q", legend=alt.Legend(format=".1e")).scale(
                    scheme="purpleorange", domain=[-top, top]
                ),
            )
            .properties(width=280, height=280)
        )
        return chart

    def modes_picture(self, n_modes: int = 4) -> alt.FacetChart:
        """The leading and the trailing eigenvectors as images (for inputs that are images; channels averaged)."""
        D = len(self.matrix)
        ranks = sorted({*range(min(n_modes, D)), *range(max(D - n_modes, 0), D)})
        return modes_picture(self.modes, self.input_shape, ranks, n_modes)
