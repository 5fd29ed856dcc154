"""How the average geometry moves in the first instant of training, without ever forming a D × N matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import pandas as pd
import torch
from torch import Tensor
from torch.func import functional_call, jvp, vjp, vmap

from priorscope.checks import POSITIVE, SEED, whole
from priorscope.contracts import NetworkOptions, guarded
from priorscope.inference import can_batch
from priorscope.printing import printed
from priorscope.probes.geometry._block_sums import BlockSums
from priorscope.probes.geometry._correlation import matrix_correlation, second_moment
from priorscope.probes.geometry._draws import Drawn, Draws, Stacked
from priorscope.probes.geometry._probes import Probes

if TYPE_CHECKING:
    import altair as alt

__all__ = ["GeometryEvolution", "geometry_evolution"]


@printed
@dataclass(frozen=True)
class GeometryEvolution:
    """Δ = dG/dt with Monte-Carlo errors, G from the same networks, and S of the training inputs.

    Example:
        >>> eye = torch.eye(2)
        >>> move = GeometryEvolution(-2 * eye, 0 * eye, eye, eye, 10)
        >>> round(move.corr_s, 6), round(move.corr_gsg, 6)
        (-1.0, -1.0)
    """

    delta: Tensor
    standard_error: Tensor
    geometry: Tensor
    second_moment: Tensor
    n_models: int
    notes: tuple[str, ...] = ()

    @property
    def corr_s(self) -> float:
        """Corr(Δ, S): −1 where the geometry moves straight along −S."""
        return matrix_correlation(self.delta, self.second_moment)

    @property
    def corr_gsg(self) -> float:
        """Corr(Δ, GSG)."""
        return matrix_correlation(self.delta, self.geometry @ self.second_moment @ self.geometry)

    @property
    def relative_error(self) -> float:
        """Frobenius norm of the standard errors over that of Δ."""
        return float(self.standard_error.norm() / self.delta.norm())

    def table(self) -> pd.DataFrame:
        """One row: both correlations, the relative error, the number of models."""
        row = {"corr_s": self.corr_s, "corr_gsg": self.corr_gsg, "relative_error": self.relative_error}
        return pd.DataFrame([{**row, "n_models": self.n_models}])

    def chart(self) -> alt.TopLevelMixin:
        """Entries of Δ against those of GSG (scaled to one norm), at most 2,000 of them."""
        import altair as alt

        target = self.geometry @ self.second_moment @ self.geometry
        x, y = (m.flatten() / m.norm() for m in (target, self.delta))
        step = -(-len(x) // 2000)
        table = pd.DataFrame({"GSG": x[::step].tolist(), "Δ": y[::step].tolist()})
        title = f"Movement of the geometry (correlation {self.corr_gsg:.3f})"
        chart: alt.TopLevelMixin = (
            alt.Chart(table, title=title)
            .mark_point(size=12)
            .encode(x="GSG:Q", y="Δ:Q")
            .properties(width=320, height=280)
        )
        return chart


@guarded(n_models=whole(2), n_probes=whole(), probe_std=POSITIVE, seed=SEED)
def geometry_evolution(
    model: Drawn,
    inputs: Tensor,
    targets: Tensor,
    *,
    probe: Tensor | None = None,
    n_models: int = 1000,
    n_probes: int = 16,
    probe_std: float = 1.0,
    seed: int = 0,
    **network: Unpack[NetworkOptions],
) -> GeometryEvolution:
    r"""The average geometry evolution :math:`\Delta(x) = E_\theta[\nabla^2_{x\theta}f\,\dot\theta\,\nabla_x f^T] + (\cdot)^T`.

    For the squared loss, :math:`\dot\theta = -\sum_\mu\nabla_\theta f(x_\mu)(f(x_\mu) - y_\mu)`. The movement of the input
    gradient is one directional derivative of it along :math:`\dot\theta` (a jvp of a vjp), for all networks of a block at
    once; where ``vmap`` cannot trace the model they run one by one, and a note says so. ``model`` as for
    ``average_geometry``; one output. To measure Δ later in training, pass a list of trained networks, such as those of
    ``geometry_trajectory``. Source: geometric invariance hypothesis paper, eq. 4 and Prop. A.1.

    Example:
        >>> x = torch.eye(3)[:2]
        >>> move = geometry_evolution(torch.nn.Linear(3, 1, bias=False), x, torch.zeros(2), n_models=400)
        >>> round(move.corr_s, 1)  # a linear model moves along -S
        -1.0
    """
    drawn = Probes.of(tuple(inputs.shape[1:]) if probe is None else probe, n_probes, probe_std)
    draws = Draws(model, drawn.shape, seed, **network)
    if isinstance(model, list | tuple):
        n_models = min(n_models, len(model))
    dtype = next(draws.template.parameters()).dtype
    x_train, y = inputs.to(dtype), targets.to(dtype).reshape(len(inputs), -1)
    with torch.no_grad():
        out = draws.template(x_train[:1])
    if out.shape != (1, 1) or y.shape[1] != 1:
        raise ValueError(f"geometry_evolution needs one output; got {out.shape[1:]} outputs and {y.shape[1]} targets.")
    buffers = dict(draws.template.named_buffers())

    def one(params: Stacked, probes: Tensor) -> tuple[Tensor, Tensor]:
        def predict(p: Stacked, z: Tensor) -> Tensor:
            found: Tensor = functional_call(draws.template, {**p, **buffers}, (z,))
            return found

        values, pull = vjp(lambda p: predict(p, x_train), params)[:2]
        (rate,) = pull(-(values - y))  # θ̇

        def gradient(p: Stacked) -> Tensor:
            value, back = vjp(lambda z: predict(p, z), probes)[:2]
            found: Tensor = back(torch.ones_like(value))[0].flatten(1)
            return found

        value, movement = jvp(gradient, (params,), (rate,))[:2]
        return value, movement

    D = x_train[0].numel()
    block = max(1, min(-(-n_models // 20), int(64e6) // (8 * (draws.n_params + n_probes * D + len(x_train) * 64))))
    sums, geometry = BlockSums(D), BlockSums(D)
    notes, traced = draws.notes, True
    while sums.done < n_models:
        n = min(block, n_models - sums.done)
        params = {k: v for k, v in draws(n).items() if k not in buffers}
        probes = drawn.draw(n, draws.generator, dtype)
        if sums.done == 0 and not can_batch(draws.template, {**params, **_expanded(buffers, n)}, probes[0]):
            notes, traced = (*notes, "vmap cannot trace this model; networks run one by one"), False
        if not traced:
            pairs = [one({k: v[i] for k, v in params.items()}, probes[i]) for i in range(n)]
            g, moved = (torch.cat(v).double() for v in zip(*pairs))
        else:
            g, moved = (v.reshape(-1, D).double() for v in vmap(one)(params, probes))
        cross = moved.mT @ g / len(g)
        sums.add(cross + cross.mT, n)
        geometry.add(g.mT @ g / len(g), n)
    return GeometryEvolution(sums.mean, sums.error, geometry.mean, second_moment(inputs), sums.done, notes)


def _expanded(buffers: Stacked, n: int) -> Stacked:
    """Buffers once for each of ``n`` networks."""
    return {k: v.expand(n, *v.shape) for k, v in buffers.items()}
