"""The loss landscape around a trained network: gaps, overlaps, and the Hessian in its two parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.checks import whole
from priorscope.contracts import Samples, guarded
from priorscope.inference import Loss, Members, QuadraticHinge, as_loss, check_data
from priorscope.models import count_weights
from priorscope.probes.landscapes._effective import count_cusps, effective_parameters
from priorscope.probes.landscapes._exponents import small_argument_exponent
from priorscope.probes.landscapes._hessian import hessian_operators, hessian_split, lanczos_density
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["Landscape", "landscape"]


@dataclass(frozen=True)
class Landscape:
    r"""Where a network stands in its loss landscape.

    ``slack`` is :math:`\Delta_\mu = \epsilon - y_\mu f(x_\mu)`: overlaps are positive, gaps negative. ``first``, ``second``
    and ``total`` are eigenvalues (descending) of :math:`H_0`, :math:`H_p`, :math:`H`; for large networks Lanczos nodes, with
    ``weights`` that sum to one. Counts of eigenvalues ignore those below ``zero`` of the largest.

    Example:
        >>> import priorscope as ps
        >>> patterns = ps.data.random_patterns(30, 3)
        >>> result = landscape(ps.models.plain_network(3, 4, 2), patterns, "quadratic-hinge")
        >>> result.n_unsatisfied <= 30 and result.rank_first <= result.n_unsatisfied
        True
    """

    loss: float
    slack: np.ndarray
    dead: np.ndarray  # patterns whose output does not depend on the input near them
    margin: float
    n_parameters: int
    n_weights: int
    n_effective: int | None
    n_cusps: int
    first: np.ndarray
    second: np.ndarray
    total: np.ndarray
    weights: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    zero: float = 1e-8

    @property
    def n_unsatisfied(self) -> int:
        """Patterns with positive slack, dead ones included."""
        return int((self.slack > 0).sum())

    @property
    def n_misclassified(self) -> int:
        """Patterns on the wrong side: slack above the margin."""
        return int((self.slack > self.margin).sum())

    @property
    def n_dead(self) -> int:
        """Unsatisfied patterns that are dead: no change of the weights below the cut can help them."""
        return int((self.dead & (self.slack > 0)).sum())

    @property
    def overlap_ratio(self) -> float:
        """Unsatisfied living patterns per weight, N_Δ / N."""
        return (self.n_unsatisfied - self.n_dead) / self.n_weights

    def _count(self, part: int, sign: int) -> float:
        values = (self.first, self.second, self.total)[part]
        scale = float(np.abs(values).max(initial=0.0))
        chosen = sign * values > self.zero * scale
        if scale == 0:
            return 0.0
        if self.weights is None:
            return float(chosen.sum())
        return float(self.weights[part][chosen].sum() * self.n_parameters)

    @property
    def rank_first(self) -> int:
        """Rank of H₀."""
        return round(self._count(0, 1))

    @property
    def n_negative(self) -> int:
        """Negative eigenvalues of H_p, N₋."""
        return round(self._count(1, -1))

    @property
    def n_positive(self) -> int:
        """Positive eigenvalues of H_p, N₊."""
        return round(self._count(1, 1))

    @property
    def c0(self) -> float:
        """N₋ / N: what fraction of directions H_p makes unstable."""
        return self.n_negative / self.n_weights

    @property
    def index(self) -> int:
        """Negative eigenvalues of the whole Hessian."""
        return round(self._count(2, -1))

    @property
    def gap(self) -> float:
        """Smallest eigenvalue of H₀ that is not zero; NaN when all are."""
        values = self.first[self.first > self.zero * float(np.abs(self.first).max(initial=0.0))]
        return float(values.min()) if len(values) else float("nan")

    @property
    def overlap_exponent(self) -> Interval | None:
        """θ of the density Δ^θ of small overlaps, dead patterns left out, with its interval; None below 50 overlaps."""
        overlaps = self.slack[(self.slack > 0) & ~self.dead]
        return small_argument_exponent(overlaps) if len(overlaps) >= 50 else None

    @property
    def gap_exponent(self) -> Interval | None:
        """γ of the density (−Δ)^−γ of small gaps, with its interval; None below 50 gaps."""
        gaps = -self.slack[(self.slack < 0) & ~self.dead]
        if len(gaps) < 50:
            return None
        found = small_argument_exponent(gaps)
        return Interval(-found.value, -found.high, -found.low)

    def table(self) -> pd.DataFrame:
        """One row with every count."""
        import pandas as pd

        names = ["loss", "n_parameters", "n_weights", "n_effective", "n_unsatisfied"]
        names += [
            "n_misclassified",
            "n_dead",
            "overlap_ratio",
            "rank_first",
            "gap",
            "n_negative",
            "n_positive",
            "c0",
            "index",
            "n_cusps",
        ]
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def chart(self) -> alt.TopLevelMixin:
        """Histograms of the eigenvalues of the three matrices."""
        import altair as alt
        import pandas as pd

        parts = {"first part H₀": self.first, "second part H_p": self.second, "whole H": self.total}
        rows = []
        for i, (name, values) in enumerate(parts.items()):
            weights = np.full(len(values), 1 / max(len(values), 1)) if self.weights is None else self.weights[i]
            heights, edges = np.histogram(values, bins=60, weights=weights)
            rows += [
                {"matrix": name, "start": a, "end": b, "part": h} for a, b, h in zip(edges, edges[1:], heights) if h > 0
            ]
        chart: alt.TopLevelMixin = (
            alt.Chart(pd.DataFrame(rows))
            .mark_rect()
            .encode(
                alt.X("start:Q", title="eigenvalue λ"),
                x2="end:Q",
                y=alt.Y("part:Q", title="part of the spectrum", scale=alt.Scale(type="symlog", constant=0.01)),
                color=alt.Color("matrix:N", legend=None),
                row=alt.Row("matrix:N", title=None),
            )
            .properties(height=90, width=420)
        )
        return chart


@guarded(dense_up_to=whole(0), lanczos_steps=whole(), probes=whole())
def landscape(
    network: nn.Module,
    data: Samples,
    loss: str | Loss = "quadratic-hinge",
    *,
    dense_up_to: int = 2000,
    effective: bool = False,
    lanczos_steps: int = 60,
    probes: int = 4,
) -> Landscape:
    """Gaps, overlaps and the split Hessian of a network with one output on a data set (or split).

    Above ``dense_up_to`` parameters spectra are Lanczos densities. ``effective`` adds the effective number of parameters,
    which costs a decomposition of (d + 1) n × N.

    Example:
        >>> import priorscope as ps
        >>> result = landscape(ps.models.plain_network(3, 4, 1), ps.data.random_patterns(10, 3))
        >>> len(result.slack), result.n_parameters
        (10, 21)
    """
    chosen = as_loss(loss)
    x, y = check_data(data)
    members = Members(network, dtype=torch.float64)
    members.model.eval()
    x64, y64 = x.double(), y.double()
    f = members.call(members.flat, x64).detach()[0]
    if f.shape[1] != 1 or y.shape[1] != 1:
        raise ValueError(f"landscape needs one output and one target a pattern; got {f.shape[1]} and {y.shape[1]}.")
    margin = float(getattr(chosen, "margin", QuadraticHinge().margin))
    slack = (margin - y64.sign() * f)[:, 0].numpy()
    N = members.flat.shape[1]
    weights = None
    if dense_up_to >= N:
        split = hessian_split(network, x, y, chosen)
        spectra = [torch.linalg.eigvalsh(h).flip(0).numpy() for h in (split.first, split.second, split.total)]
    else:
        parts = hessian_operators(network, x, y, chosen)
        pairs = [
            lanczos_density(op, steps=lanczos_steps, probes=probes) for op in (parts.first, parts.second, parts.total)
        ]
        spectra, weights = [p[0] for p in pairs], tuple(p[1] for p in pairs)
    return Landscape(
        loss=float(chosen(f, y64)),
        slack=slack,
        dead=_dead(members, x64),
        margin=margin,
        n_parameters=N,
        n_weights=count_weights(network),
        n_effective=effective_parameters(network, x) if effective else None,
        n_cusps=count_cusps(members.model, x64),
        first=spectra[0],
        second=spectra[1],
        total=spectra[2],
        weights=weights,  # type: ignore[arg-type]
    )


def _dead(members: Members, x: Tensor) -> np.ndarray:
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(members.call(members.flat, x).sum(), x)
    return (slope.flatten(1).abs().amax(1) == 0).numpy()
