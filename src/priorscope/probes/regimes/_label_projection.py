"""What the tangent kernel learns of the labels: its principal components against them, along training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from priorscope.checks import whole
from priorscope.contracts import guarded
from priorscope.inference import FittedNetworks
from priorscope.probes.regimes._movement import stacked_ntk

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["LabelProjection", "label_projection"]


@dataclass(frozen=True)
class LabelProjection:
    r"""Kernel PCA of the tangent kernel at each recorded time (T), member (K) and component (top).

    ``projection`` is :math:`\omega_k = (\phi_k\cdot y)^2/|y|^2` with unit eigenvectors :math:`\phi_k` in descending order of
    eigenvalue (all of them sum to one); ``alignment`` is :math:`y^T\Theta y/(|y|^2\|\Theta\|_F)`.

    Example:
        >>> one = np.ones((1, 1, 2)) / 2
        >>> LabelProjection(np.zeros(1), one, one, np.ones((1, 1))).share(2).tolist()
        [[1.0]]
    """

    times: np.ndarray  # (T,)
    eigenvalues: np.ndarray  # (T, K, top)
    projection: np.ndarray  # (T, K, top)
    alignment: np.ndarray  # (T, K)

    def share(self, top: int = 2) -> np.ndarray:
        """The share of the labels on the ``top`` first components, (T, K)."""
        found: np.ndarray = self.projection[..., :top].sum(-1)
        return found

    def table(self) -> pd.DataFrame:
        """One row per time, member and component."""
        import pandas as pd

        _, K, top = self.projection.shape
        index = pd.MultiIndex.from_product(
            [self.times, range(K), range(1, top + 1)], names=["time", "member", "component"]
        )
        columns = {"eigenvalue": self.eigenvalues.ravel(), "projection": self.projection.ravel()}
        return pd.DataFrame(columns, index=index).reset_index()

    def chart(self) -> alt.TopLevelMixin:
        """Left: labels on the first components against time. Right: on each component, at the start and at the end."""
        import altair as alt
        import pandas as pd

        _, K, top = self.projection.shape
        names = {
            m: f"on the first {m} components" if m > 1 else "on the first component" for m in (1, min(2, top), top)
        }
        whole = "alignment with the kernel"
        rows = [
            {"time": t, "member": k, "part": float(self.share(m)[i, k]), "of": name}
            for i, t in enumerate(self.times)
            for k in range(K)
            for m, name in names.items()
            if t > 0
        ]
        rows += [
            {"time": t, "member": k, "part": float(self.alignment[i, k]), "of": whole}
            for i, t in enumerate(self.times)
            for k in range(K)
            if t > 0
        ]
        left = (
            alt.Chart(pd.DataFrame(rows))
            .mark_line()
            .encode(
                alt.X("time:Q", title="time of training", scale=alt.Scale(type="log"), axis=alt.Axis(format="~e")),
                alt.Y("mean(part):Q", title="part of the labels"),
                alt.Color("of:N", title=None, sort=[*reversed(names.values()), whole]),
            )
        )
        ends = [
            {"component": c + 1, "part": float(self.projection[i, :, c].mean()), "when": when}
            for i, when in ((0, "start"), (-1, "end"))
            for c in range(top)
        ]
        right = (
            alt.Chart(pd.DataFrame(ends))
            .mark_bar()
            .encode(
                alt.X("component:O", title="component of the tangent kernel", axis=alt.Axis(labelAngle=0)),
                alt.XOffset("when:N", sort=["start", "end"]),
                alt.Y("part:Q", title="part of the labels ω"),
                alt.Color("when:N", title=None, sort=["start", "end"]),
            )
        )
        panels = alt.hconcat(left.properties(width=280, height=220), right.properties(width=280, height=220))
        chart: alt.TopLevelMixin = panels.resolve_scale(color="independent")
        return chart


@guarded(top=whole())
def label_projection(fitted: FittedNetworks, inputs: Tensor, targets: Tensor, *, top: int = 10) -> LabelProjection:
    """Eigenvectors of the tangent kernel on ``inputs`` against their labels, at every time the flow kept parameters.

    Train with ``GradientFlow(..., keep=("params",))``. In the feature regime the labels move onto the first components, in
    the lazy one nothing moves: Geiger, Petrini & Wyart (2021), "Landscape and training regimes in deep learning", Fig. 10.

    Example:
        >>> from types import SimpleNamespace as N
        >>> from priorscope.inference import GradientFlow
        >>> data = N(inputs=torch.eye(3), targets=torch.tensor([[1.0], [-1.0], [1.0]]))
        >>> flow = GradientFlow(time=1.0, max_turn=1e-2, record=3, keep=("params",))
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        >>> found = label_projection(flow.fit(net, data), data.inputs, data.targets)
        >>> found.projection.shape, bool(np.allclose(found.share(3), 1))
        ((4, 1, 3), True)
    """
    params = fitted.trajectory.params
    if params is None:
        raise ValueError(
            'label_projection needs the parameters along training; the flow kept none. Train with keep=("params",).'
        )
    if len(inputs) != len(targets):
        raise ValueError(
            f"label_projection needs one label per input; got {len(inputs)} inputs and {len(targets)} labels."
        )
    y = targets.reshape(len(targets), -1)[:, :1].double()
    y = y / y.norm()
    top = min(top, len(inputs))
    values, parts, aligned = [], [], []
    for w in params:
        K = stacked_ntk(fitted, w, inputs).detach().double()
        lam, phi = torch.linalg.eigh(K)
        values.append(lam.flip(1)[:, :top].numpy())
        parts.append((phi.mT @ y)[..., 0].square().flip(1)[:, :top].numpy())
        aligned.append(((y.mT @ K @ y).flatten() / K.flatten(1).norm(dim=1)).numpy())
    times = fitted.trajectory.times.double().numpy()
    return LabelProjection(times, np.array(values), np.array(parts), np.array(aligned))
