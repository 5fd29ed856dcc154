"""How far apart the decision boundaries of one network and of the mean over many are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

from priorscope.contracts import guarded

__all__ = ["BoundaryDistance", "boundary_distance", "boundary_shift"]

REACH = 4.0  # a crossing is looked for up to so many first-order distances


@dataclass(frozen=True)
class BoundaryDistance:
    r"""Distances at the points that two functions classify differently, and their estimate from norms.

    ``shift`` is :math:`|f-\bar f|/\|\nabla f\|`, the papers' distance between the boundaries; ``linear`` is
    :math:`|f|/\|\nabla f\|`, the way to the zero of f to first order; ``crossing`` the way to it along the gradient, NaN where
    there is none within four times ``linear``. Where the gradient vanishes (a network of ReLU that is off there) no boundary
    is near to first order: all three are NaN, and :attr:`undefined` counts these points. The papers compare the first with the
    last; they agree in order of magnitude only, for moving by the shift leads to :math:`\bar f`, not to zero.

    Example:
        >>> found = BoundaryDistance(np.array([1.0, 3.0]), np.array([0.5, 1.0]), np.array([0.5, np.nan]), 1.5, 10)
        >>> found.distance, found.disagreement
        (2.0, 0.2)
    """

    shift: np.ndarray  # (disagreeing points,)
    linear: np.ndarray
    crossing: np.ndarray
    estimate: float  # of the norms over all points
    n_points: int

    @property
    def distance(self) -> float:
        """Mean shift over the points classified differently, δ, those without a gradient left out; NaN where none is left."""
        defined = self.shift[np.isfinite(self.shift)]
        return float(defined.mean()) if len(defined) else float("nan")

    @property
    def undefined(self) -> int:
        """Points classified differently at which the gradient vanishes."""
        return int(np.isnan(self.shift).sum())

    @property
    def disagreement(self) -> float:
        """The share of points that the two classify differently."""
        return len(self.shift) / self.n_points

    def table(self) -> pd.DataFrame:
        """One row per point that is classified differently."""
        import pandas as pd

        return pd.DataFrame({"shift": self.shift, "linear": self.linear, "crossing": self.crossing})

    def chart(self) -> alt.TopLevelMixin:
        """Way to the boundary along the gradient against its first-order value; the diagonal dashed."""
        import altair as alt
        import pandas as pd

        rows = self.table().dropna()
        top = float(rows[["linear", "crossing"]].max().max()) if len(rows) else 1.0
        line = alt.Chart(pd.DataFrame({"linear": [0, top], "crossing": [0, top]})).mark_line(strokeDash=[4, 4])
        x, y = (
            alt.X("linear:Q", title="|f| / ‖∇f‖"),
            alt.Y("crossing:Q", title="distance of the zero along the gradient"),
        )
        chart: alt.TopLevelMixin = alt.Chart(rows).mark_point(filled=True, size=25).encode(x, y) + line.encode(x, y)
        return chart


@guarded()
def boundary_shift(outputs: np.ndarray, gradients: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, float]:
    r"""Shift :math:`|f-\bar f|/\|\nabla f\|` where the signs differ, and its estimate :math:`\|f-\bar f\|_\mu/\|\nabla f\|_\mu`.

    For outputs (n,), input gradients (n, d) and reference outputs (n,) that are at hand already. The shift is NaN where the
    gradient is zero: no boundary is near to first order. Geiger et al. (2020), "Scaling description of generalization", eq. 3
    and the text behind it.

    Example:
        >>> shift, estimate = boundary_shift(np.array([1.0, -1.0]), np.array([[2.0], [2.0]]), np.array([1.0, 3.0]))
        >>> shift.tolist(), round(estimate, 3)
        ([2.0], 1.414)
    """
    f, g, mean = np.asarray(outputs, float), np.asarray(gradients, float), np.asarray(reference, float)
    if f.ndim != 1 or mean.shape != f.shape or g.ndim != 2 or len(g) != len(f):
        raise ValueError(
            f"boundary_shift needs outputs (n,), gradients (n, d) and reference (n,); got {f.shape}, {g.shape}, {mean.shape}."
        )
    size = np.linalg.norm(g, axis=1)
    differ = f * mean < 0
    norm = np.sqrt(np.mean(size**2))
    estimate = float(np.sqrt(np.mean((f - mean) ** 2)) / norm) if norm > 0 else float("nan")
    shift = np.full(int(differ.sum()), np.nan)
    return np.divide(np.abs(f - mean)[differ], size[differ], out=shift, where=size[differ] > 0), estimate


@guarded()
def boundary_distance(
    network: Callable[[Tensor], Tensor], reference: Callable[[Tensor], Tensor], inputs: Tensor
) -> BoundaryDistance:
    r"""Distance between the decision boundaries of ``network`` and ``reference``, two functions (n, …) → (n, 1).

    At every input where the signs differ: the papers' :math:`|f-\bar f|/\|\nabla f\|` with the gradient over the input, the
    first-order distance of the zero of f, and the zero itself, found by a bracket and bisection along the gradient. Geiger et
    al. (2020), "Scaling description of generalization", eq. 3 and Fig. 9. The reference is usually an average of many networks.

    Example:
        >>> x = torch.tensor([[0.5], [2.0]])
        >>> found = boundary_distance(lambda v: 2 * v - 2, lambda v: 2 * v, x)  # zeros at 1 and at 0
        >>> found.shift.tolist(), found.crossing.round(3).tolist()
        ([1.0], [0.5])
    """
    x = inputs.detach().clone().requires_grad_()
    f = network(x)
    if f.ndim != 2 or f.shape[1] != 1:
        raise ValueError(f"boundary_distance needs a network with one output, (n, 1); got {tuple(f.shape)}.")
    (gradient,) = torch.autograd.grad(f.sum(), x)
    with torch.no_grad():
        value, mean = f.detach()[:, 0], reference(inputs)[:, 0]
        flat = gradient.flatten(1)
        shift, estimate = boundary_shift(value.numpy(), flat.numpy(), mean.numpy())
        rows = torch.nonzero(value * mean < 0).flatten()
        norm = flat[rows].norm(dim=1)
        sloped = norm > 0
        linear = torch.where(sloped, value[rows].abs() / norm, torch.nan)
        crossing = torch.full_like(linear, torch.nan)
        if bool(sloped.any()):
            some = rows[sloped]
            way = -value[some].sign()[:, None] * flat[some] / norm[sloped, None]
            crossing[sloped] = _zero_along(network, inputs[some], way.reshape(inputs[some].shape), linear[sloped])
    return BoundaryDistance(shift, linear.numpy(), crossing.numpy(), estimate, len(inputs))


def _zero_along(network: Callable[[Tensor], Tensor], start: Tensor, way: Tensor, step: Tensor) -> Tensor:
    """First sign change of the network on the ray start + t · way, for t up to REACH steps, refined by bisection."""

    def sign(t: Tensor) -> Tensor:
        return network(start + t.reshape(-1, *[1] * (start.ndim - 1)) * way)[:, 0].sign()

    first = sign(torch.zeros_like(step))
    low, high, found = torch.zeros_like(step), torch.zeros_like(step), torch.zeros(len(step), dtype=torch.bool)
    for part in np.linspace(REACH / 32, REACH, 32):
        t = part * step
        crossed = ~found & (sign(t) != first)
        high = torch.where(crossed, t, high)
        found |= crossed
        low = torch.where(found, low, t)
    for _ in range(40):
        middle = (low + high) / 2
        same = sign(middle) == first
        low, high = torch.where(same, middle, low), torch.where(same, high, middle)
    return torch.where(found, high, torch.nan)
