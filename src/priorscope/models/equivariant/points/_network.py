"""Networks on clouds of points, equivariant to rotations, shifts and, with parity, mirrors."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, checked, whole
from priorscope.models.architectures.zoo import FiniteModel
from priorscope.models.equivariant._irreps import e3nn_o3
from priorscope.models.equivariant.points._convolution import PointConvolution

__all__ = ["PointNetwork", "point_network"]

POOLS = ("mean", "sum", "none")
_RULES = {"layers": whole(), "max_order": whole(0), "cutoff": POSITIVE, "neighbours": POSITIVE}


@checked(types=whole(0), width=whole(), **_RULES)
class PointNetwork(nn.Module):
    """Clouds (n, N, 3 + types) to features of the irreps ``output``: convolutions with gates, then a pool over points.

    The first three columns are positions, the others numbers that tell points apart (one-hot kinds of atoms, say). Rows whose
    types are all zero are padding. ``breaking`` names irreps that every point gets besides, zero unless passed to ``forward``:
    what could break the symmetry (:func:`breaking_gradients`). ``pool`` is "mean" or "sum" over points, or "none" for one row
    per point.

    Example:
        >>> net = PointNetwork(types=0, output="1x1o", width=2, pool="none")
        >>> net(torch.rand(5, 4, 3)).shape  # one vector per point
        torch.Size([5, 4, 3])
    """

    def __init__(
        self,
        *,
        types: int = 0,
        output: str = "1x0e",
        width: int = 8,
        layers: int = 2,
        max_order: int = 2,
        parity: bool = True,
        cutoff: float = 2.0,
        neighbours: float = 3.0,
        pool: str = "mean",
        breaking: str = "",
    ) -> None:
        """Convolutions between hidden irreps of every order up to ``max_order``, ``width`` of each."""
        super().__init__()
        if pool not in POOLS:
            raise ValueError(f"pool is one of {', '.join(POOLS)}; got {pool!r}.")
        from e3nn.nn import Gate

        o3 = e3nn_o3()
        self.types, self.pool, self.breaking = types, pool, o3.Irreps(breaking)
        self.output = o3.Irreps(output)
        signs = (1, -1) if parity else (1,)
        scalars = o3.Irreps([(width, (0, p)) for p in signs])
        tensors = o3.Irreps([(width, (l, p)) for l in range(1, max_order + 1) for p in signs])
        layer = partial(PointConvolution, max_order=max_order, cutoff=cutoff, neighbours=neighbours, parity=parity)
        now = o3.Irreps(f"{max(types, 1)}x0e") + self.breaking
        self.convolutions, self.gates = nn.ModuleList(), nn.ModuleList()
        for _ in range(layers):
            gate = Gate(
                scalars,
                [torch.nn.functional.silu, torch.tanh][: len(scalars)],
                o3.Irreps(f"{tensors.num_irreps}x0e").remove_zero_multiplicities(),
                [torch.sigmoid] if tensors else [],
                tensors,
            )
            self.convolutions.append(layer(str(now), str(gate.irreps_in)))
            self.gates.append(gate)
            now = gate.irreps_out
        self.readout = layer(str(now), str(self.output))

    def forward(self, clouds: Tensor, breaking: Tensor | None = None) -> Tensor:
        """Features (n, channels), or (n, N, channels) where nothing is pooled."""
        if clouds.ndim != 3 or clouds.shape[2] != 3 + self.types or clouds.shape[1] == 0:
            raise ValueError(
                f"wanted clouds (n, points, {3 + self.types}): positions"
                + (f" and {self.types} numbers per point" if self.types else "")
                + f", with at least one point; got {tuple(clouds.shape)}."
            )
        positions, mask = clouds[..., :3], None
        features = torch.ones_like(clouds[..., :1])
        if self.types:
            features = clouds[..., 3:]
            mask = (features != 0).any(-1)
            if not bool(mask.any(1).all()):
                raise ValueError(
                    "a cloud has no point: every row of it has zeros for its types. Leave empty clouds out."
                )
        if self.breaking.dim:
            given = clouds.new_zeros(self.breaking.dim) if breaking is None else breaking.to(clouds)
            features = torch.cat([features, given.expand(*features.shape[:2], self.breaking.dim)], -1)
        for convolution, gate in zip(self.convolutions, self.gates):
            features = gate(convolution(features, positions, mask))
        out: Tensor = self.readout(features, positions, mask)
        if mask is not None:
            out = out * mask[..., None]
        if self.pool == "none":
            return out
        total = out.sum(1)
        if self.pool == "sum":
            return total
        return total / (clouds.shape[1] if mask is None else mask.sum(1, keepdim=True))


@checked(types=whole(0), **_RULES)
def point_network(
    *,
    types: int = 0,
    layers: int = 2,
    max_order: int = 2,
    parity: bool = True,
    cutoff: float = 2.0,
    neighbours: float = 3.0,
    pool: str = "mean",
) -> FiniteModel:
    """A network on clouds of points (N, 3 + types) whose outputs rotations and shifts leave alone; with ``parity`` mirrors too.

    ``width`` counts the features of every order and parity. Mirror images get equal outputs with ``parity``, and may differ
    without. Needs e3nn: ``pip install 'priorscope[equivariant]'``.

    Example:
        >>> net = point_network().network((4, 3), width=2, outputs=8)
        >>> cloud = torch.rand(1, 4, 3)
        >>> bool(torch.allclose(net(cloud), net(-cloud + 5.0), atol=1e-4))
        True
    """
    if pool not in ("mean", "sum"):
        raise ValueError(f"pool is 'mean' or 'sum'; got {pool!r}. PointNetwork gives one row per point.")

    def build(shape: tuple[int, ...], width: int, outputs: int) -> nn.Module:
        """The network of this many features per order."""
        if len(shape) != 2 or shape[1] != 3 + types:
            raise ValueError(
                f"point_network with types={types} needs clouds (points, {3 + types}): positions first, then the types; got "
                f"{shape}."
            )
        return PointNetwork(
            types=types,
            output=f"{outputs}x0e",
            width=width,
            layers=layers,
            max_order=max_order,
            parity=parity,
            cutoff=cutoff,
            neighbours=neighbours,
            pool=pool,
        )

    return FiniteModel("point_network", build, width=8)
