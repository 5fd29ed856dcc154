"""Dropout, as it acts while training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from priorscope.checks import checked, number
from priorscope.models.kernels._covariance import Covariance, pixel_embed
from priorscope.models.kernels._need import Need
from priorscope.models.layers._layer import Layer, Shape
from priorscope.models.networks._build import Build

__all__ = ["Dropout"]


@checked(rate=number(least=0, below=1))
@dataclass(frozen=True)
class Dropout(Layer):
    r"""Each number is zero with probability ``rate`` and divided by 1 − rate otherwise, independently per input.

    The mean over masks leaves covariances between different inputs or pixels alone and divides those of an input's pixel
    with itself by 1 − rate (NNGP and NTK). With ``whole_channels`` all pixels of a channel are dropped together, and those of
    an input's pixels with each other are divided too. In evaluation mode the finite layer does nothing; the kernel is that
    of training.

    Example:
        >>> Dropout(0.5).output_shape((3, 8))
        (3, 8)
    """

    rate: float = 0.5
    whole_channels: bool = False

    def output_shape(self, shape: Shape, width: int = 1) -> Shape:
        return shape

    def module(self, shape: Shape, width: int, build: Build) -> nn.Module:
        if self.whole_channels:
            return {2: nn.Dropout1d, 3: nn.Dropout2d}.get(len(shape), nn.Dropout)(self.rate)
        return nn.Dropout(self.rate)

    def need(self, after: Need) -> Need:
        return after

    def propagate(self, cov: Covariance, need: Need) -> Covariance:
        cov = cov.reduced(need)
        factor = 1 / (1 - self.rate)

        def scale(k: Tensor, c: Covariance) -> Tensor:
            return k * _where_equal(c, factor, k, self.whole_channels)

        ntk = None if cov.ntk is None else scale(cov.ntk, cov)
        return cov.moved(scale(cov.cross, cov), ntk, lambda c: scale(c.cross, c), gaussian=False)


def _where_equal(cov: Covariance, factor: float, like: Tensor, all_pixels: bool) -> Tensor:
    """``factor`` where an input meets itself, at equal or ``all_pixels``, one elsewhere; broadcasts against ``cov.cross``."""
    if not cov.same:
        return torch.ones((), dtype=like.dtype, device=like.device)
    full = cov.kind is Need.FULL
    shape = (*cov.spatial, *cov.spatial) if full and all_pixels else cov.spatial
    excess = torch.full(shape, factor - 1, dtype=like.dtype, device=like.device)
    if full and not all_pixels:
        excess = pixel_embed(excess, cov.n_space)
    if not cov.paired:
        eye = torch.eye(like.shape[0], dtype=like.dtype, device=like.device)
        excess = eye.reshape(*eye.shape, *(1,) * excess.ndim) * excess
    return 1 + excess
