"""The average gradient outer product as a result: rows of gradients, from which spectrum, directions and errors follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from priorscope.probes.geometry._correlation import matrix_correlation
from priorscope.probes.geometry._pictures import modes_picture

if TYPE_CHECKING:
    import altair as alt

__all__ = ["GradientOuterProduct"]

DENSE = 3000  # inputs up to which M is formed


@dataclass(frozen=True)
class GradientOuterProduct:
    r"""M = E[∇f ∇fᵀ] by the gradients it is a mean of: ``rows`` (units, r, D), :math:`M = \frac1u\sum_{ur} g_{ur}g_{ur}^\top`.

    A unit is what is drawn at random and what errors are over: a sample, or a network where several were averaged (``unit``).
    Above 3,000 inputs M is never formed: its modes come from a ``LinearOperator``.

    Example:
        >>> M = GradientOuterProduct(torch.tensor([[[2.0, 0.0]], [[0.0, 1.0]]]), (2,))
        >>> M.matrix.tolist(), M.importances.tolist()
        ([[2.0, 0.0], [0.0, 0.5]], [0.8, 0.2])
    """

    rows: Tensor = field(repr=False)
    input_shape: tuple[int, ...]
    name: str = ""
    unit: str = "sample"
    n_modes: int = 16
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dim(self) -> int:
        """Number of inputs D."""
        return int(self.rows.shape[-1])

    @property
    def matrix_free(self) -> bool:
        """Whether there are too many inputs for M itself."""
        return self.dim > DENSE

    @property
    def _flat(self) -> Tensor:
        return self.rows.reshape(-1, self.dim)

    @cached_property
    def matrix(self) -> Tensor:
        """M (D, D) in float64; refused above 3,000 inputs."""
        if self.matrix_free:
            raise ValueError(
                f"M of {self.dim:,} inputs is not formed; use eigenvalues, modes, importances or operator, which do without it."
            )
        flat = self._flat.double()
        return flat.mT @ flat / len(self)

    def operator(self) -> LinearOperator:
        """M as scipy's LinearOperator: products with vectors from the gradients alone.

        Example:
            >>> (GradientOuterProduct(torch.tensor([[[3.0, 4.0]]]), (2,)).operator() @ np.array([1.0, 0.0])).tolist()
            [9.0, 12.0]
        """
        flat, n = self._flat.numpy(), len(self)

        def product(v: np.ndarray) -> np.ndarray:
            found: np.ndarray = flat.T @ (flat @ v.astype(flat.dtype)) / n
            return found.astype(np.float64)

        return LinearOperator((self.dim, self.dim), matvec=product, matmat=product, dtype=np.float64)

    @cached_property
    def _eigen(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues, largest first, and modes as columns: all of them where M is formed, else the first ``n_modes``."""
        if not self.matrix_free:
            lam, vectors = torch.linalg.eigh(self.matrix)
            return lam.flip(0).clamp(min=0), vectors.flip(1)
        flat = self._flat
        if len(flat) <= DENSE:  # from the products of the gradients with each other
            lam, left = torch.linalg.eigh((flat @ flat.mT).double() / len(self))
            kept = min(self.n_modes, len(flat))
            lam, left = lam.flip(0)[:kept].clamp(min=0), left.flip(1)[:, :kept]
            vectors = flat.mT.double() @ left
            return lam, vectors / vectors.norm(dim=0).clamp(min=1e-300)
        values, found = eigsh(self.operator(), k=self.n_modes, which="LA", v0=np.ones(self.dim))
        order = values.argsort()[::-1].copy()
        return torch.from_numpy(values[order]).clamp(min=0), torch.from_numpy(found[:, order].copy())

    @property
    def eigenvalues(self) -> Tensor:
        """Eigenvalues, largest first; the first ``n_modes`` where M is not formed."""
        return self._eigen[0]

    @property
    def modes(self) -> Tensor:
        """Eigenvectors as columns, in the order of the eigenvalues."""
        return self._eigen[1]

    @property
    def eigenvalue_errors(self) -> Tensor:
        r"""Standard errors over units, by first-order perturbation: of the mean of :math:`\sum_r (v_k\cdot g_{ur})^2`."""
        along = (self.rows.double() @ self.modes).square().sum(1)  # (units, modes)
        return _error(along)

    @property
    def trace(self) -> float:
        """E‖∇f‖²."""
        return float(self.rows.double().square().sum() / len(self))

    @property
    def importances(self) -> Tensor:
        """Diagonal of M over its trace (D,): the share of the squared slope that each input has."""
        own = self.rows.double().square().sum(1).mean(0)
        return own / own.sum().clamp(min=1e-300)

    @property
    def importance_errors(self) -> Tensor:
        """Standard errors of the importances over units, the trace moving along."""
        own = self.rows.double().square().sum(1)  # (units, D)
        total = own.mean(0).sum().clamp(min=1e-300)
        return _error(own - self.importances * own.sum(1, keepdim=True)) / total

    @property
    def effective_rank(self) -> float:
        """Participation ratio (Σλ)² / Σλ²: how many directions the function varies along."""
        flat = self._flat.double()
        if self.dim <= len(flat) and not self.matrix_free:
            squares = float(self.matrix.square().sum())
        else:
            squares = sum(float((part @ flat.mT).square().sum()) for part in flat.split(500)) / len(self) ** 2
        return self.trace**2 / max(squares, 1e-300)

    def correlation(self, other: GradientOuterProduct | Tensor) -> float:
        """Frobenius cosine of M with another matrix (:func:`matrix_correlation`)."""
        return matrix_correlation(self.matrix, other.matrix if isinstance(other, GradientOuterProduct) else other)

    def table(self) -> pd.DataFrame:
        """One row per mode: eigenvalue with its standard error, its share of the trace, and the running share."""
        lam, total = self.eigenvalues, max(self.trace, 1e-300)
        return pd.DataFrame(
            {
                "rank": range(1, len(lam) + 1),
                "eigenvalue": lam.tolist(),
                "standard_error": self.eigenvalue_errors.tolist(),
                "share": (lam / total).tolist(),
                "cumulative": (lam.cumsum(0) / total).tolist(),
            }
        )

    def importance_table(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """One row per input, most important first: its share of the squared slope with its standard error.

        Example:
            >>> M = GradientOuterProduct(torch.tensor([[[2.0, 0.0]], [[0.0, 1.0]]]), (2,))
            >>> M.importance_table(["age", "height"])["input"].tolist()
            ['age', 'height']
        """
        if names is not None and len(names) != self.dim:
            raise ValueError(f"importance_table needs one name per input ({self.dim}); got {len(names)}.")
        made = pd.DataFrame(
            {
                "input": list(names) if names is not None else [f"x{j}" for j in range(self.dim)],
                "importance": self.importances.tolist(),
                "standard_error": self.importance_errors.tolist(),
            }
        )
        return made.sort_values("importance", ascending=False, ignore_index=True)

    def chart(self) -> alt.TopLevelMixin:
        """Eigenvalue against rank on log axes, with standard errors."""
        import altair as alt

        table = self.table().query("eigenvalue > 0")
        table = table[table["eigenvalue"] > 1e-12 * table["eigenvalue"].max()]
        low = (table["eigenvalue"] - table["standard_error"]).clip(lower=table["eigenvalue"] / 10)
        table = table.assign(low=low, high=table["eigenvalue"] + table["standard_error"])
        rank = alt.X("rank:Q", title="rank k").scale(type="log", nice=False)
        base = alt.Chart(
            table, title=f"Average gradient outer product of {self.name or 'f'} ({len(self):,} {self.unit}s)"
        )
        dots = base.mark_point(size=18).encode(
            x=rank,
            y=alt.Y("eigenvalue:Q", title="eigenvalue λₖ").scale(type="log"),
            tooltip=["rank", "eigenvalue", "share"],
        )
        bars = base.mark_rule().encode(x=rank, y=alt.Y("low:Q").scale(type="log"), y2="high:Q")
        chart: alt.TopLevelMixin = (bars + dots).properties(width=420, height=280)
        return chart

    def modes_picture(self, n_modes: int = 4) -> alt.FacetChart:
        """The leading directions as images (for inputs that are images; channels averaged)."""
        return modes_picture(self.modes, self.input_shape, range(min(n_modes, self.modes.shape[1])), n_modes)


def _error(values: Tensor) -> Tensor:
    """Standard error of the mean over the first axis; not a number for one unit."""
    if len(values) < 2:
        return torch.full_like(values[0], torch.nan)
    found: Tensor = values.std(0) / len(values) ** 0.5
    return found
