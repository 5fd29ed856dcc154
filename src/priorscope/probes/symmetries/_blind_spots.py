"""Which directions of a data set a model hardly sees: its average geometry against the data's variance and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack, cast

import pandas as pd
import torch
from torch import Tensor

from priorscope.checks import FRACTION, SEED, whole
from priorscope.contracts import NetworkOptions, guarded, name_of
from priorscope.data import Dataset
from priorscope.printing import printed
from priorscope.probes.geometry import AverageGeometry, average_geometry
from priorscope.probes.geometry._draws import Drawn

if TYPE_CHECKING:
    import altair as alt

__all__ = ["BlindSpots", "blind_spots"]


@printed
@dataclass(frozen=True)
class BlindSpots:
    """Directions of the data that the model is nearly blind to, with what they carry.

    ``visibility`` of a unit direction v is vᵀGv over its mean along the data, tr(GC)/tr(C): 1 is typical, below
    ``threshold`` is blind. ``hidden_variance`` and ``hidden_signal`` are the shares of the data's variance and of the
    linear label signal inside the blind subspace.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(200, seed=0)
        >>> spots = blind_spots(data, ps.models.fcn(depth=1), n_models=100, width=32)
        >>> spots.n_blind, "sees" in spots.sentence
        (0, True)
    """

    name: str
    model: str
    directions: Tensor
    visibility: Tensor
    variance_share: Tensor
    label_signal: Tensor
    kind: tuple[str, ...]
    n_blind: int
    hidden_variance: float
    hidden_signal: float
    linear_signal: float
    threshold: float
    geometry: AverageGeometry

    @property
    def sentence(self) -> str:
        """What to make of it, in a sentence or two."""
        D = len(self.geometry.matrix)
        if self.n_blind == 0:
            return (
                f"{self.model} sees all {D} directions of {self.name} (visibility above {self.threshold:g} everywhere)."
            )
        start = (
            f"{self.model} is nearly blind to {self.n_blind} of the {D} directions of {self.name} "
            f"(visibility below {self.threshold:g} of the typical); they hold {self.hidden_variance:.1%} of its variance "
            f"and {self.hidden_signal:.1%} of its linear label signal"
        )
        if self.hidden_signal > 0.1:
            return (
                start + ". Expect it to need many more samples for what the labels say there; try a model that sees it."
            )
        if self.hidden_variance > 0.1:
            return start + ". The labels say little there, so this blindness is rather a help against noise."
        return start + ", so little is lost."

    def table(self) -> pd.DataFrame:
        """One row per direction: kind, visibility, share of variance, label signal (R² of the labels on it), blind or not."""
        return pd.DataFrame(
            {
                "kind": list(self.kind),
                "visibility": self.visibility.tolist(),
                "variance_share": self.variance_share.tolist(),
                "label_signal": self.label_signal.tolist(),
                "blind": (self.visibility < self.threshold).tolist(),
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Share of variance against visibility, one point per direction; the dashed line is the threshold."""
        import altair as alt

        table = self.table()
        table["visibility"] = table["visibility"].clip(lower=1e-6)
        points = (
            alt.Chart(table, title=f"What {self.model} sees of {self.name}")
            .mark_point(filled=True, size=60)
            .encode(
                x=alt.X("visibility:Q", title="visibility vᵀGv (1 is typical)").scale(type="log"),
                y=alt.Y("variance_share:Q", title="share of the data's variance").scale(type="log"),
                color=alt.Color("label_signal:Q", title="label signal (R²)").scale(scheme="viridis"),
                shape=alt.Shape("kind:N", title="direction"),
                tooltip=["kind", "visibility", "variance_share", "label_signal"],
            )
        )
        rule = alt.Chart(pd.DataFrame({"t": [self.threshold]})).mark_rule(strokeDash=[4, 4]).encode(x="t:Q")
        chart: alt.TopLevelMixin = (points + rule).properties(width=420, height=300)
        return chart

    def pictures(self, n: int = 6) -> alt.TopLevelMixin:
        """The ``n`` least visible directions as images (image data only; channels averaged)."""
        import altair as alt

        shape = self.geometry.input_shape
        if len(shape) != 3:
            raise ValueError(f"pictures needs image inputs (channels, height, width); got {shape}.")
        rows = []
        for place, k in enumerate(self.visibility.argsort()[:n].tolist(), 1):
            image = self.directions[k].reshape(shape).mean(0)
            image = image / image.abs().max().clamp(min=1e-30)
            title = f"{place}. {self.kind[k]}: {float(self.visibility[k]):.2g}"
            for i, row in enumerate(image.tolist()):
                rows += [{"direction": title, "i": i, "j": j, "value": v} for j, v in enumerate(row)]
        chart: alt.TopLevelMixin = (
            alt.Chart(pd.DataFrame(rows))
            .mark_rect()
            .encode(
                x=alt.X("j:O", axis=None),
                y=alt.Y("i:O", axis=None),
                color=alt.Color("value:Q", legend=None).scale(scheme="purpleorange", domain=[-1, 1]),
                facet=alt.Facet("direction:N", columns=3, title=None),
            )
            .properties(width=90, height=90)
        )
        return chart


@guarded(n_models=whole(4), n_directions=whole(), threshold=FRACTION, explained=FRACTION, seed=SEED)
def blind_spots(
    data: Dataset,
    model: object,
    *,
    n_models: int = 500,
    n_directions: int = 32,
    threshold: float = 0.1,
    explained: float = 0.99,
    geometry: AverageGeometry | None = None,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> BlindSpots:
    r"""Directions that carry variance or label signal in ``data`` and that ``model`` hardly sees at initialisation.

    With G the average geometry at the training points and C their covariance: within the principal directions that hold
    ``explained`` of the variance, solve :math:`G v = \mu\, C v` and list the ``n_directions`` of least :math:`\mu`, the
    ones with least geometry per unit of variance; then the linear discriminant of each target,
    :math:`(C + \lambda I)^{-1}\mathrm{Cov}(x, y)`. Default threshold 0.1, ours: a direction seen with a tenth of the
    typical squared gradient. Pass ``geometry`` to use one that was measured before.

    The least eigenvalues of a sampled G are too small even where G is a multiple of the identity. So half of the networks
    choose the directions and the other half says how visible they are; a given ``geometry`` is taken at its word.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(200, seed=0)
        >>> spots = blind_spots(data, ps.models.gap(depth=1), n_models=50, width=16)
        >>> spots.geometry.effective_rank < 32  # pooling sees smooth directions most
        True
    """
    x = data.inputs.flatten(1).double()
    y = data.targets.double()
    if geometry is None:
        if n_models < 4:
            raise ValueError(f"blind_spots needs n_models >= 4, two for each half; got {n_models}.")
        half = (n_models + 1) // 2
        chooser, judge = (
            average_geometry(cast(Drawn, model), data.inputs, n_models=half, seed=2 * seed + k, **network)
            for k in (0, 1)
        )
        geometry = _merged(chooser, judge)
        chosen, G = chooser.matrix.double(), judge.matrix.double()
    else:
        chosen = G = geometry.matrix.double()
    if len(G) != x.shape[1]:
        raise ValueError(
            f"the geometry has {len(G)} directions but the data have {x.shape[1]}; measure it on these data."
        )
    centred = x - x.mean(0)
    C = centred.mT @ centred / len(x)
    total = float(C.trace())
    if total <= 0:
        raise ValueError("the training inputs are all the same, so no direction carries variance.")
    typical = float((G * C).sum() / total)
    lam, basis = torch.linalg.eigh(C)
    lam, basis = lam.flip(0), basis.flip(1)
    m = int((lam.cumsum(0) / total < explained).sum()) + 1
    white = basis[:, :m] / lam[:m].clamp(min=1e-12 * float(lam[0])).sqrt()  # (D, m): unit variance along each column
    _, vectors = torch.linalg.eigh(white.mT @ chosen @ white)  # least geometry per unit of variance first
    spots = (white @ vectors[:, : min(n_directions, m)]).mT
    discriminants = _discriminants(centred, C, y)
    directions = torch.cat([spots, discriminants])
    directions = directions / directions.norm(dim=1, keepdim=True)
    projected = centred @ directions.mT  # (n, k)
    modes = torch.linalg.eigh(chosen)[1]
    blind = modes[:, ((G @ modes) * modes).sum(0) < threshold * typical]
    hidden = centred @ blind
    linear_signal = _signal(centred, y)
    return BlindSpots(
        data.name,
        _name(model),
        directions,
        ((directions @ G) * directions).sum(1) / typical,
        ((directions @ C) * directions).sum(1) / total,
        _single_signal(projected, y),
        ("variance",) * len(spots) + ("label",) * len(discriminants),
        blind.shape[1],
        float((hidden**2).sum() / len(x) / total),
        min(1.0, _signal(hidden, y) / max(linear_signal, 1e-12)) if blind.shape[1] else 0.0,
        linear_signal,
        threshold,
        geometry,
    )


def _merged(a: AverageGeometry, b: AverageGeometry) -> AverageGeometry:
    """Mean of two independent estimates of the same size."""
    return replace(
        a,
        matrix=(a.matrix + b.matrix) / 2,
        standard_error=torch.hypot(a.standard_error, b.standard_error) / 2,
        n_models=a.n_models + b.n_models,
        seconds=a.seconds + b.seconds,
    )


def _discriminants(centred: Tensor, C: Tensor, y: Tensor) -> Tensor:
    """Ridge regression directions (outputs, D), one per output; the ridge is a hundredth of the mean variance."""
    ridge = 1e-2 * float(C.trace()) / len(C)
    cross = centred.mT @ (y - y.mean(0)) / len(y)
    w = torch.linalg.solve(C + ridge * torch.eye(len(C), dtype=C.dtype), cross).mT
    found: Tensor = w[w.norm(dim=1) > 0]
    return found


def _signal(features: Tensor, y: Tensor) -> float:
    """R² of a ridge regression of the targets on the features, judged by leaving each sample out, never below zero."""
    if features.shape[1] == 0:
        return 0.0
    u, s, _ = torch.linalg.svd(features, full_matrices=False)
    ridge = 1e-2 * float((s**2).mean()) + 1e-12
    hat = (u * (s**2 / (s**2 + ridge))) @ u.mT
    target = y - y.mean(0)
    residual = (target - hat @ target) / (1 - hat.diagonal() - 1 / len(y)).clamp(min=1e-3)[:, None]
    return max(0.0, 1 - float((residual**2).sum() / (target**2).sum()))


def _single_signal(projected: Tensor, y: Tensor) -> Tensor:
    """R² of the targets on one direction at a time (k,)."""
    target = y - y.mean(0)
    explained = ((projected.mT @ target) ** 2).sum(1) / (projected**2).sum(0).clamp(min=1e-30)
    return explained / (target**2).sum()


def _name(model: object) -> str:
    name = name_of(model)
    return "the model" if name == "function" else name
