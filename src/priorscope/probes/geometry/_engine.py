"""Gradient rows of many initialisations: all at once by vmap, or one network after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

import torch
from torch import Tensor
from torch.func import vjp, vmap

from priorscope.probes.geometry._draws import Stacked

__all__: list[str] = []

Mapped: TypeAlias = Callable[[Stacked, Tensor], Tensor]  # (parameters, inputs) to features or outputs


def rows_by_vmap(features: Mapped, stacked: Stacked, x: Tensor, cotangents: Tensor) -> Tensor:
    """Rows (K · r · P, D): gradients along ``cotangents`` (K, r, P, width) at the probes ``x`` (K, P, *shape)."""

    def one(params: Stacked, points: Tensor, cots: Tensor) -> Tensor:
        pull = vjp(lambda z: features(params, z), points)[1]
        (found,) = vmap(pull)(cots)
        return cast("Tensor", found)

    out = vmap(one)(stacked, x, cotangents)
    return out.reshape(-1, x[0, 0].numel())


def rows_by_loop(features: Mapped, stacked: Stacked, x: Tensor, cotangents: Tensor) -> Tensor:
    """The same rows, one network after the other with plain autograd."""
    rows = []
    for k in range(len(x)):
        points = x[k].detach().requires_grad_(True)
        out = features({name: value[k].detach() for name, value in stacked.items()}, points)
        n_cots = cotangents.shape[1]
        for i in range(n_cots):
            (gradient,) = torch.autograd.grad(out, points, cotangents[k, i], retain_graph=i < n_cots - 1)
            rows.append(gradient.flatten(1))
    return torch.cat(rows)


def stratified_cotangents(
    n: int, n_probes: int, width: int, r: int, dtype: torch.dtype, generator: torch.Generator
) -> Tensor:
    """One-hot cotangents (n, r, P, width) that deal the features out to the probes, scaled by sqrt(width / r).

    Each probe gets ``r`` features of a random order and neighbouring probes the next ones, so that a network with
    ``P * r >= width`` shows each feature at least once. Holds: the mean of c c^T is the identity.
    """
    order = torch.rand(n, width, generator=generator).argsort(1)  # (n, width)
    position = (torch.arange(n_probes)[None, :] * r + torch.arange(r)[:, None]) % width  # (r, P)
    index = order[:, position]  # (n, r, P)
    out = torch.zeros(n, r, n_probes, width, dtype=dtype)
    out.scatter_(3, index[..., None], (width / r) ** 0.5)
    return out


def sign_cotangents(n: int, n_probes: int, outputs: int, dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    """Random signs over the outputs (n, 1, P, outputs), scaled so that c c^T has mean identity / outputs."""
    signs = 2.0 * torch.randint(0, 2, (n, 1, 1, outputs), generator=generator) - 1
    found: Tensor = (signs / outputs**0.5).to(dtype).expand(n, 1, n_probes, outputs)
    return found
