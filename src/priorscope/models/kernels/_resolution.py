"""Refuses inputs whose differences a bias drowns, in networks that would make them large again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from priorscope.models.kernels._reference import reference_kernel
from priorscope.models.layers._conv import Conv
from priorscope.models.layers._dense import Dense
from priorscope.models.layers._layer import Layer
from priorscope.models.layers._locally_connected import LocallyConnected
from priorscope.models.layers._sequential import Sequential

if TYPE_CHECKING:
    from priorscope.models.architectures._architecture import Architecture

__all__ = ["check_resolution"]

DROWNED = (
    1e-8  # part of the variance that is the inputs', below which their differences lose more than half their digits
)
ALLOWED = 1e-9  # error of a correlation
GONE = 1e-13  # part of the variance below which even an angle between inputs is not known to four digits
TRIED = 8  # inputs of each batch that are looked at
ROUNDING = 2.2e-16


def _opened(layers: Iterable[Layer]) -> Iterator[Layer]:
    for layer in layers:
        if isinstance(layer, Sequential):
            yield from _opened(layer.layers)
        else:
            yield layer


def check_resolution(arch: Architecture, x1: Tensor, x2: Tensor | None) -> None:
    r"""Refuse where a rounding of the first layer's covariances decides the kernel.

    After :math:`\sigma_w^2 K + \sigma_b^2` two inputs differ by the part :math:`D = \sigma_w^2|x-y|^2/2d` of their variance,
    known to a rounding :math:`\epsilon`, so to :math:`\epsilon/D` of itself. A network that forgets differences does not care;
    one that enlarges them (sign, or any in its chaotic phase) ends with correlations wrong by :math:`(1-c)\,\epsilon/D`. Where
    hardly a digit of D is left, any is refused.
    """
    first = next((a for a in _opened(arch.layers) if isinstance(a, Dense | Conv | LocallyConnected)), None)
    if first is None or first.bias_variance == 0 or first.weight_variance == 0:
        return
    base = first.bias_variance / first.weight_variance
    batches = [x.detach().double() for x in (x1, x2) if x is not None]
    if max(float(x.square().flatten(1).mean(1).max()) for x in batches) > DROWNED * base:
        return
    x = torch.cat([batch[:TRIED] for batch in batches])
    flat = x.flatten(1)
    apart = (flat[:, None] - flat[None]).square().mean(-1) / (2 * base)
    nngp = reference_kernel(arch, x, kinds=("nngp",)).nngp
    scale = nngp.diagonal().sqrt()
    unlike = 1 - nngp / (scale[:, None] * scale)
    error = torch.where(apart > 0, unlike * ROUNDING / apart.clamp_min(ROUNDING), 0.0)
    gone = (apart > 0) & (apart < GONE)
    if bool((error > ALLOWED).any()) or bool(gone.any()):
        raise ValueError(
            f"the inputs reach only {float(x.abs().max()):.3g}, so that next to bias_variance={first.bias_variance:g} their "
            f"differences are lost in the rounding of float64, and the kernel of {arch.name} depends on them. "
            "Multiply the inputs by a constant, or lower bias_variance."
        )
