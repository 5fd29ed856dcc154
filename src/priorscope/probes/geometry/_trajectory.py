"""The average geometry of an ensemble along training: how fast it moves, and towards what."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, number, whole
from priorscope.contracts import NetworkOptions, guarded
from priorscope.data import Dataset
from priorscope.inference import can_batch, stacked_accuracy, train_stacked
from priorscope.printing import printed
from priorscope.probes.geometry import AverageGeometry, average_geometry
from priorscope.probes.geometry._correlation import matrix_correlation, second_moment
from priorscope.probes.geometry._draws import Drawn, Draws, Stacked
from priorscope.probes.geometry._engine import rows_by_loop, rows_by_vmap
from priorscope.probes.geometry._readout import Features

if TYPE_CHECKING:
    import altair as alt

__all__ = ["GeometryTrajectory", "geometry_trajectory"]


@printed
@dataclass(frozen=True)
class GeometryTrajectory:
    """Correlations of the geometry, its velocity and the training accuracy before training and after every epoch.

    ``velocity`` has one entry fewer: entry t − 1 is 1 − Corr(Gᵗ, Gᵗ⁻¹).

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(64)
        >>> path = geometry_trajectory(data, ps.models.fcn(depth=1), epochs=2, n_networks=2, n_models=20, width=8)
        >>> len(path.velocity), path.network(0)(data.inputs).shape
        (2, torch.Size([64, 1]))
    """

    corr_gsg: Tensor
    corr_s: Tensor
    velocity: Tensor
    accuracy: Tensor
    geometry: AverageGeometry
    template: nn.Module = field(repr=False)
    stacked: Stacked = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def n_networks(self) -> int:
        """How many networks were trained."""
        return len(next(iter(self.stacked.values())))

    def network(self, i: int) -> nn.Module:
        """Trained network ``i``, a plain module."""
        net = copy.deepcopy(self.template)
        net.load_state_dict({k: v[i].detach().clone() for k, v in self.stacked.items()})
        return net

    def table(self) -> pd.DataFrame:
        """One row per epoch; the velocity of epoch 0 is missing."""
        return pd.DataFrame(
            {
                "epoch": range(len(self.corr_s)),
                "corr_gsg": self.corr_gsg.tolist(),
                "corr_s": self.corr_s.tolist(),
                "velocity": [None, *self.velocity.tolist()],
                "accuracy": self.accuracy.tolist(),
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Correlations with GSG and S along training, and the velocity below."""
        import altair as alt

        table = self.table().rename(columns={"corr_gsg": "Corr(Gᵗ, GSG)", "corr_s": "Corr(Gᵗ, S)"})
        long = table.melt("epoch", ["Corr(Gᵗ, GSG)", "Corr(Gᵗ, S)"], "with", "correlation")
        epoch = alt.X("epoch:Q", axis=alt.Axis(tickMinStep=1, format="d"))
        above = (
            alt.Chart(long, title=f"The geometry along training ({self.n_networks} networks)")
            .mark_line(point=True)
            .encode(x=epoch, y=alt.Y("correlation:Q").scale(zero=False), color=alt.Color("with:N", title=None))
            .properties(width=420, height=200)
        )
        below = (
            alt.Chart(table.dropna())
            .mark_line(point=True, color="#888")
            .encode(x=epoch, y=alt.Y("velocity:Q", title="velocity 1 − Corr(Gᵗ, Gᵗ⁻¹)"))
            .properties(width=420, height=120)
        )
        chart: alt.TopLevelMixin = above & below
        return chart


@guarded(
    epochs=whole(),
    n_networks=whole(),
    learning_rate=NOT_NEGATIVE,
    momentum=number(least=0, below=1),
    batch=whole(),
    clip=number(above=0, infinite=True),
    n_models=whole(2),
    n_probes=whole(),
    probe_std=POSITIVE,
    seed=SEED,
)
def geometry_trajectory(
    data: Dataset,
    model: Drawn,
    *,
    epochs: int = 20,
    n_networks: int = 8,
    learning_rate: float = 0.1,
    momentum: float = 0.9,
    batch: int = 128,
    clip: float = 5.0,
    decay: bool = False,
    geometry: AverageGeometry | None = None,
    n_models: int = 500,
    n_probes: int = 16,
    probe_std: float = 1.0,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> GeometryTrajectory:
    r"""Train an ensemble on two classes and follow :math:`G^t = E[\nabla_x f\,\nabla_x f^T]`.

    After every epoch: :math:`\mathrm{Corr}(G^t, GSG)` and :math:`\mathrm{Corr}(G^t, S)` with G the geometry at
    initialisation (measured over ``n_models`` unless ``geometry`` is given) and S the second moment of the training inputs,
    the velocity :math:`1 - \mathrm{Corr}(G^t, G^{t-1})`, and the training accuracy. Networks are trained together by SGD
    with momentum on the logistic loss; defaults 0.1, 0.9 and 128, from the paper (App. A.12); gradients are clipped to
    norm ``clip`` per network, and ``decay`` lets the rate fall linearly to zero. ``model`` as for ``average_geometry``;
    targets are ±1. Source: geometric invariance hypothesis paper, Figs. 2 and 3.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits("parity").subset(64)
        >>> path = geometry_trajectory(data, ps.models.fcn(depth=1), epochs=1, n_networks=2, n_models=20, width=8)
        >>> path.table().columns.tolist()
        ['epoch', 'corr_gsg', 'corr_s', 'velocity', 'accuracy']
    """
    y = data.targets
    if y.ndim != 2 or y.shape[1] != 1 or not bool((y.abs() == 1).all()):
        raise ValueError(
            f"geometry_trajectory needs two classes with targets ±1, one output; got targets {tuple(y.shape)}. "
            "Take a binary label scheme, such as classes='parity'."
        )
    G = geometry or average_geometry(model, data.input_shape, n_models=n_models, seed=seed, **network)
    S = second_moment(data.inputs)
    GSG = G.matrix.double() @ S @ G.matrix.double()
    draws = Draws(model, data.input_shape, seed, **network)
    generator = torch.Generator().manual_seed(seed)
    probes = probe_std * torch.randn(n_probes, *data.input_shape, generator=generator, dtype=data.inputs.dtype)
    x = data.inputs.expand(n_networks, *data.inputs.shape)
    signs = y[:, 0].expand(n_networks, len(y))
    start = draws(n_networks)
    batched = can_batch(draws.template, start, probes)
    notes = draws.notes if batched else (*draws.notes, "vmap cannot trace this model; networks run one by one")
    curves: dict[str, list[float]] = {"corr_gsg": [], "corr_s": [], "velocity": [], "accuracy": []}
    last: list[Tensor] = []

    def watch(epoch: int, params: Stacked, loss: float) -> None:
        now = _geometry_of(draws.template, params, probes, batched)
        curves["corr_gsg"].append(matrix_correlation(now, GSG))
        curves["corr_s"].append(matrix_correlation(now, S))
        curves["accuracy"].append(float(stacked_accuracy(draws.template, params, x, signs, batched).mean()))
        if last:
            curves["velocity"].append(1 - matrix_correlation(now, last.pop()))
        last.append(now)

    trained = train_stacked(
        draws.template,
        start,
        x,
        signs,
        epochs=epochs,
        learning_rate=learning_rate,
        momentum=momentum,
        batch=batch,
        clip=clip,
        decay=decay,
        seed=seed,
        batched=batched,
        watch=watch,
    )
    values = {name: torch.tensor(v, dtype=torch.float64) for name, v in curves.items()}
    return GeometryTrajectory(**values, geometry=G, template=draws.template, stacked=trained, notes=notes)


def _geometry_of(template: nn.Module, params: Stacked, probes: Tensor, batched: bool = True) -> Tensor:
    """Mean of ∇f∇fᵀ over the given networks and probes (P, *shape), one output."""
    K = len(next(iter(params.values())))
    x = probes.expand(K, *probes.shape)
    ones = torch.ones(K, 1, len(probes), 1, dtype=probes.dtype)
    rows = (rows_by_vmap if batched else rows_by_loop)(Features(template, None), params, x, ones).double()
    return rows.mT @ rows / len(rows)
