"""Matrix completion by a product of two factors: from leaving gaps as they are to the least nuclear norm, by initial scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from priorscope.checks import POSITIVE, SEED, each, number
from priorscope.contracts import HOLED, guarded
from priorscope.data import Split
from priorscope.inference import StiffFlow
from priorscope.models import FactoredMatrix
from priorscope.printing import printed
from priorscope.probes.limits.implicit._nuclear_norm import minimum_nuclear_norm

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["CompletionScale", "completion_scale"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True, eq=False)
class CompletionScale:
    r"""Completions of a matrix by the initial scale of the factored matrix that gradient flow fits to its entries.

    ``change`` is :math:`\|P_{\Omega^c}(M_\alpha(\infty) - M(0))\|`, how far entries that were not shown have moved: 0 in the
    kernel regime. ``nuclear_norm`` is that of each completion and ``least`` the least of all completions; ``error`` is the root
    mean square error on entries held out (NaN without them), ``no_completion`` that of leaving them at zero.

    Example:
        >>> gaps = np.outer([1.0, 2.0, 0.5], [1.0, -1.0, 2.0]) / 6
        >>> gaps[2, 2] = np.nan
        >>> found = completion_scale(gaps, scales=(0.01, 3.0))
        >>> [round(v, 2) for v in found.matrices[:, 2, 2].tolist()], round(1 / 6, 2)  # rich, kernel; the truth
        ([0.17, 0.0], 0.17)
    """

    scales: Array
    change: Array
    nuclear_norm: Array
    least: float
    error: Array
    no_completion: float
    matrices: Array = field(repr=False)  # (scales, rows, columns)

    @property
    def best(self) -> float:
        """The scale with the least error on entries held out; NaN without them."""
        return float("nan") if np.isnan(self.error).all() else float(self.scales[int(np.nanargmin(self.error))])

    def sentence(self) -> str:
        """What the scale does here, in one sentence."""
        said = (
            f"From scale {self.scales[0]:.2g} to {self.scales[-1]:.2g} the change of entries that were not shown falls from "
            f"{self.change[0]:.3g} to {self.change[-1]:.3g}, and the nuclear norm goes from {self.nuclear_norm[0]:.3g} to "
            f"{self.nuclear_norm[-1]:.3g} (least of all completions: {self.least:.3g})"
        )
        if np.isnan(self.best):
            return said + "."
        return (
            f"{said}; entries held out are predicted best at scale {self.best:.2g}, to {np.nanmin(self.error):.3g} on average, "
            f"against {self.no_completion:.3g} if left at zero."
        )

    def table(self) -> pd.DataFrame:
        """One row per scale."""
        import pandas as pd

        return pd.DataFrame(
            {"scale": self.scales, "change": self.change, "nuclear_norm": self.nuclear_norm, "error": self.error}
        )

    def chart(self) -> alt.TopLevelMixin:
        """Change of entries not shown, and nuclear norm over the least, against the scale."""
        import altair as alt

        table = self.table().assign(excess=self.nuclear_norm / self.least - 1)
        names = {"change": "change of entries not shown", "excess": "nuclear norm over the least, minus 1"}
        long = table.melt("scale", list(names), var_name="measure", value_name="value")
        long["measure"] = long["measure"].map(names)
        lines: alt.Chart = (
            alt.Chart(long)
            .mark_line(point=True)
            .encode(
                x=alt.X("scale:Q", title="initial scale α").scale(type="log"),
                y=alt.Y("value:Q", title=None),
                color=alt.Color("measure:N", title=None),
            )
        )
        return lines


@guarded(
    matrix=HOLED,
    scales=each(POSITIVE),
    held_out=number(least=0, below=1),
    seed=SEED,
    accuracy=number(above=0, below=0.1),
)
def completion_scale(
    matrix: ArrayLike,
    *,
    scales: Sequence[float] = (0.001, 0.01, 0.1, 0.3, 1.0, 3.0),
    held_out: float = 0.0,
    seed: int = 0,
    accuracy: float = 1e-8,
) -> CompletionScale:
    r"""Fill the gaps (NaN) of a matrix by gradient flow of :math:`UV^\top` from several initial scales.

    The factors are those of :class:`priorscope.models.FactoredMatrix`, whose tangent kernel at the start keeps entries apart:
    large scales (the kernel regime) leave gaps at zero, small ones (the rich regime) tend to the least nuclear norm, which is
    conjectured and proven in special cases (Gunasekar et al. 2017; Woodworth et al. 2020, Sec. 6; Srebro 2019). A share
    ``held_out`` of the entries, drawn by ``seed``, is kept back to measure the error. Scales compare with the root of the
    largest singular value: divide the matrix by that value to use the default ones. Rows and columns together may be 44 at most.
    ``accuracy`` is that of the flow (:class:`priorscope.inference.StiffFlow`), which ends when entries fit to one part in 10⁸.

    Example:
        >>> truth = np.outer(np.arange(1.0, 7), np.arange(6.0, 0, -1)) / 91
        >>> completion_scale(truth, scales=(0.01, 3.0), held_out=0.2).best
        0.01
    """
    M = np.asarray(matrix, dtype=np.float64)
    if M.ndim != 2 or np.isinf(M).any():
        raise ValueError(f"completion_scale needs a matrix with NaN for its gaps and finite entries; got {M.shape}.")
    if sum(M.shape) > 44:
        raise ValueError(
            f"completion_scale takes matrices of at most 44 rows and columns together; got {M.shape[0]} and {M.shape[1]}. Take a "
            "part of them."
        )
    seen = ~np.isnan(M)
    kept = seen & ~((np.random.default_rng(seed).random(M.shape) < held_out) & seen)
    apart = seen & ~kept
    if kept.sum() < 2 or kept.all() or not np.any(M[kept]):
        raise ValueError(
            f"completion_scale needs at least two entries to fit, not all zero, and gaps to fill; got {int(kept.sum())} entries "
            f"of {M.size}. Mark gaps by NaN, or hold out a share of the entries."
        )
    places = np.argwhere(kept)
    A = np.zeros((len(places), *M.shape))
    A[np.arange(len(places)), places[:, 0], places[:, 1]] = 1
    data = Split(torch.from_numpy(A), torch.from_numpy(M[kept])[:, None])
    flow = StiffFlow(stop=1e-16 * float(np.mean(M[kept] ** 2)) / 2, accuracy=accuracy)
    sizes, found = np.sort(np.asarray(scales, dtype=np.float64)), []
    for a in sizes:
        fitted = flow.fit(FactoredMatrix(M.shape[0], M.shape[1], float(a)), data)
        if not bool(fitted.finished.all()):
            raise ValueError(
                f"completion_scale: the flow from scale {a:g} did not fit the entries; use a larger scale."
            )
        with torch.no_grad():
            found.append(
                fitted.members.call(fitted.params, torch.eye(M.size, dtype=torch.float64)).numpy().reshape(M.shape)
            )
    filled = np.stack(found)
    error = np.sqrt(np.mean((filled - M)[:, apart] ** 2, axis=1)) if apart.any() else np.full(len(sizes), np.nan)
    return CompletionScale(
        sizes,
        np.linalg.norm(filled[:, ~kept], axis=1),
        np.linalg.norm(filled, "nuc", axis=(1, 2)),
        float(np.linalg.norm(minimum_nuclear_norm(A, M[kept], tolerance=1e-6, most=500_000), "nuc")),
        error,
        float(np.sqrt(np.mean(M[apart] ** 2))) if apart.any() else float("nan"),
        filled,
    )
