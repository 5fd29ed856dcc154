"""Exact eigenfunctions of a kernel: the values, and the functions at any points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Modes:
    r"""Eigenpairs :math:`T_K\phi_i = \sigma_i\phi_i` on a domain with its uniform probability measure.

    ``eigenvalues`` descend; ``degrees`` names the level of each; calling the object with points gives the functions
    there, orthonormal in :math:`L^2(\rho)`.

    Example:
        >>> from priorscope.probes import circle_modes
        >>> modes = circle_modes(lambda t: t, degree_max=2)  # a linear kernel: the two coordinates and nothing else
        >>> modes.eigenvalues.round(6).tolist()
        [0.5, 0.5, 0.0, 0.0, 0.0]
        >>> modes(np.array([[1.0, 0.0]])).shape
        (1, 5)
    """

    domain: str
    eigenvalues: Array  # (k,)
    degrees: tuple[tuple[int, ...], ...]
    evaluate: Callable[[Array], Array]  # (n, dim) -> (n, k)

    def __call__(self, x: ArrayLike | Tensor) -> Array:
        """The modes at points x (n, dim): (n, k)."""
        return self.evaluate(as_points(x))

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def table(self) -> pd.DataFrame:
        """One row per mode: rank, degrees, eigenvalue."""
        import pandas as pd

        degrees = [", ".join(map(str, degree)) for degree in self.degrees]
        return pd.DataFrame({"rank": np.arange(1, len(self) + 1), "degree": degrees, "eigenvalue": self.eigenvalues})

    def chart(self) -> alt.Chart:
        """Eigenvalue against rank on log axes, coloured by degree."""
        import altair as alt

        table = self.table()
        table = table[table["eigenvalue"] > 1e-15 * table["eigenvalue"].max()]
        chart: alt.Chart = (
            alt.Chart(table)
            .mark_point(filled=True)
            .encode(
                alt.X("rank:Q", scale=alt.Scale(type="log"), title="rank i"),
                alt.Y("eigenvalue:Q", scale=alt.Scale(type="log"), title="eigenvalue σ_i"),
                alt.Color("degree:N"),
            )
        )
        return chart


def as_points(x: ArrayLike | Tensor) -> Array:
    """Points as a float64 array (n, dim)."""
    points = np.asarray(x.detach().cpu() if isinstance(x, Tensor) else x, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"modes are evaluated at points of shape (n, dim); got {points.shape}.")
    return points


def in_order(
    domain: str, levels: list[tuple[tuple[int, ...], float, int]], evaluate: Callable[[Array], Array]
) -> Modes:
    """Modes in descending order from levels (degree, eigenvalue, multiplicity) and a function giving all, level by level."""
    values = np.concatenate([np.full(count, value) for _, value, count in levels])
    degrees = [degree for degree, _, count in levels for _ in range(count)]
    order = np.argsort(-values, kind="stable")
    return Modes(
        domain, np.clip(values[order], 0, None), tuple(degrees[i] for i in order), lambda x: evaluate(x)[:, order]
    )
