"""The average gradient outer product along training: when features were learnt, and how sharply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor

from priorscope.checks import SEED, whole
from priorscope.contracts import Samples, guarded
from priorscope.inference import FittedNetworks
from priorscope.probes.geometry._correlation import matrix_correlation
from priorscope.probes.geometry._outer_product import inputs_of, some_of
from priorscope.probes.geometry._outer_result import GradientOuterProduct
from priorscope.system import Outcome

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FeatureTrajectory", "feature_trajectory"]


@dataclass(frozen=True)
class FeatureTrajectory:
    """M at every recorded time of training, with the loss there; the last is that of the trained network.

    Example:
        >>> M = GradientOuterProduct(torch.tensor([[[1.0, 0.0]]]), (2,))
        >>> FeatureTrajectory((0.0,), (0.5,), (M,)).table()["effective_rank"].tolist()
        [1.0]
    """

    times: tuple[float, ...]
    losses: tuple[float, ...]
    products: tuple[GradientOuterProduct, ...]

    def table(self) -> pd.DataFrame:
        """One row per time: loss, E‖∇f‖², effective rank, the share of the first direction, correlations with M at both ends."""
        first, last = self.products[0], self.products[-1]
        return pd.DataFrame(
            {
                "time": self.times,
                "loss": self.losses,
                "slope": [M.trace for M in self.products],
                "effective_rank": [M.effective_rank for M in self.products],
                "first_share": [float(M.eigenvalues[0]) / max(M.trace, 1e-300) for M in self.products],
                "with_start": [matrix_correlation(M.matrix, first.matrix) for M in self.products],
                "with_end": [matrix_correlation(M.matrix, last.matrix) for M in self.products],
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Effective rank along training, and the correlations with M at the start and at the end below it."""
        import altair as alt

        table = self.table().assign(number=range(len(self.times)))
        named = table.rename(columns={"with_start": "with M at the start", "with_end": "with M at the end"})
        long = named.melt("number", ["with M at the start", "with M at the end"], "which", "correlation")
        at = alt.X("number:Q", title="snapshot", axis=alt.Axis(tickMinStep=1, format="d"))
        above = (
            alt.Chart(table)
            .mark_line(point=True)
            .encode(x=at, y=alt.Y("effective_rank:Q", title="effective rank of M"))
        )
        below = (
            alt.Chart(long)
            .mark_line(point=True)
            .encode(x=at, y=alt.Y("correlation:Q").scale(zero=False), color=alt.Color("which:N", title=None))
        )
        chart: alt.TopLevelMixin = above.properties(width=420, height=140) & below.properties(width=420, height=140)
        return chart


@guarded(n_samples=whole(2), n_modes=whole(), seed=SEED)
def feature_trajectory(
    trained: FittedNetworks | Outcome, data: Samples | Tensor, *, n_samples: int = 300, n_modes: int = 16, seed: int = 0
) -> FeatureTrajectory:
    r"""Follow :math:`M^t = E[\nabla f_t\nabla f_t^\top]` through the weights that training recorded.

    ``trained`` comes from ``GradientFlow(keep=("params",))`` or ``GradientDescent(keep=("params",))``, or is the outcome
    of such a system; without recorded weights there are two times, start and end. A predictor that is centred has no slope at
    its start, and that time is left out. Of an ensemble, M is the mean over its members.
    :func:`geometry_trajectory` follows the same matrix at random probes, to compare it with theory.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(40)
        >>> flow = ps.inference.GradientFlow(time=5.0, centre=False, keep=("params",))
        >>> path = feature_trajectory(ps.System(data, ps.models.fcn(1), flow, width=16).run(), data)
        >>> len(path.products) >= 2
        True
    """
    fitted = trained.fitted if isinstance(trained, Outcome) else trained
    if not isinstance(fitted, FittedNetworks):
        raise TypeError(
            f"feature_trajectory follows trained networks; got {type(fitted).__name__}. Use gradient_outer_product for a kernel."
        )
    x = inputs_of(data)
    generator = torch.Generator().manual_seed(seed)
    path = fitted.trajectory
    losses = path.loss.reshape(len(path.times), -1).mean(1)
    moments: list[tuple[float, float, Tensor]] = [(0.0, float(losses[0]), fitted.initial)]
    if path.params is not None:
        moments = [(float(t), float(v), p) for t, v, p in zip(path.times, losses, path.params, strict=True)]
    else:
        moments.append((float(fitted.times.double().mean()), float(losses[-1]), fitted.params))
    chosen, notes = some_of(x, len(fitted), n_samples, generator)
    shape = tuple(x.shape[1:])
    kept: list[tuple[float, float, GradientOuterProduct]] = []
    for t, loss, params in moments:
        found = fitted.gradients_with(params, chosen).flatten(3)  # (K, n, outputs, D)
        rows = found.transpose(0, 1).flatten(1, 2) / (found.shape[0] * found.shape[2]) ** 0.5
        if bool(rows.any()):
            kept.append((t, loss, GradientOuterProduct(rows.detach(), shape, "networks", "sample", n_modes, notes)))
    if not kept:
        raise ValueError("the networks ignore their input at every recorded time: all gradients are zero.")
    times, values, products = zip(*kept, strict=True)
    return FeatureTrajectory(tuple(times), tuple(values), tuple(products))
