"""Projecting out of the data what a model hardly sees, and as much variance at random for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import pandas as pd
import torch
from torch import Tensor

from priorscope.checks import SEED, whole
from priorscope.contracts import NetworkOptions, guarded
from priorscope.data import Dataset
from priorscope.printing import printed
from priorscope.probes.geometry import AverageGeometry, average_geometry
from priorscope.probes.geometry._draws import Drawn

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FeatureRemoval", "remove_features"]


@printed
@dataclass(frozen=True)
class FeatureRemoval:
    """The data without ``removed`` (orthonormal rows), and the data without random directions of equal variance.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(60)
        >>> cut = remove_features(data, 8, ps.models.gap(depth=1), n_models=20, width=8)
        >>> cut.removed.shape, round(float((cut.data.inputs.flatten(1).double() @ cut.removed.mT).abs().max()), 4)
        (torch.Size([8, 64]), 0.0)
    """

    data: Dataset
    control: Dataset
    removed: Tensor
    removed_at_random: Tensor
    variance_removed: float
    control_variance_removed: float

    def table(self) -> pd.DataFrame:
        """Two rows: number of directions and share of the variance removed, by geometry and at random."""
        rows = [
            {"by": "geometry", "directions": len(self.removed), "variance": self.variance_removed},
            {"by": "random", "directions": len(self.removed_at_random), "variance": self.control_variance_removed},
        ]
        return pd.DataFrame(rows)

    def chart(self) -> alt.TopLevelMixin:
        """Bars of the removed variance."""
        import altair as alt

        bars = alt.Chart(self.table(), title="Variance removed").mark_bar().encode(x="variance:Q", y="by:N")
        chart: alt.TopLevelMixin = bars.properties(width=320, height=80)
        return chart


@guarded(k=whole(), n_models=whole(2), seed=SEED)
def remove_features(
    data: Dataset,
    k: int,
    model: Drawn | None = None,
    *,
    geometry: AverageGeometry | None = None,
    n_models: int = 500,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> FeatureRemoval:
    r"""Project ``k`` directions out of both splits: those with least geometry per unit of data variance.

    They solve :math:`G v = \mu S v` with the smallest :math:`\mu`, orthonormalised in that order (a ridge of 1e-6 of the
    mean variance keeps S invertible). The control removes random orthonormal directions until the same share of the
    variance is gone. Source: geometric invariance hypothesis paper, Sec. 5.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(60)
        >>> cut = remove_features(data, 4, ps.models.gap(depth=1), n_models=20, width=8)
        >>> cut.control_variance_removed >= cut.variance_removed
        True
    """
    x = data.inputs.flatten(1).double()
    D = x.shape[1]
    if not 1 <= k < D:
        raise ValueError(f"remove_features needs 1 <= k < {D} directions; got {k}.")
    if geometry is None:
        if model is None:
            raise ValueError("remove_features needs a model or a geometry.")
        geometry = average_geometry(model, data.input_shape, n_models=n_models, seed=seed, **network)
    G = geometry.matrix.double()
    S = x.mT @ x / len(x)
    lam, basis = torch.linalg.eigh(S + 1e-6 * float(S.trace()) / D * torch.eye(D, dtype=S.dtype))
    white = basis / lam.sqrt()
    vectors = white @ torch.linalg.eigh(white.mT @ G @ white).eigenvectors  # least μ first
    removed = torch.linalg.qr(vectors[:, :k]).Q.mT
    total = float((x**2).sum())
    share = float((x @ removed.mT).square().sum()) / total
    noise = torch.randn(D, D, generator=torch.Generator().manual_seed(seed), dtype=S.dtype)
    random = torch.linalg.qr(noise).Q.mT
    shares = (x @ random.mT).square().sum(0).cumsum(0) / total
    count = min(int((shares < share).sum()) + 1, D - 1)
    return FeatureRemoval(
        _without(data, removed),
        _without(data, random[:count]),
        removed,
        random[:count],
        share,
        float(shares[count - 1]),
    )


def _without(data: Dataset, directions: Tensor) -> Dataset:
    def project(batch: Tensor) -> Tensor:
        flat = batch.flatten(1).double()
        return (flat - (flat @ directions.mT) @ directions).reshape(batch.shape).to(batch.dtype)

    return data.transformed(project)
