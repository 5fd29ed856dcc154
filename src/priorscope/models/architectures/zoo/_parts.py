"""Pieces that the finite networks share: activation and normalisation layers by name."""

from __future__ import annotations

from math import gcd

from torch import nn

from priorscope.models.layers._activation import ActivationModule
from priorscope.models.nonlinearities import nonlinearity

__all__ = ["activation_layer", "check_image", "image_norm"]


def activation_layer(name: str) -> nn.Module:
    """A nonlinearity of :mod:`priorscope.models.nonlinearities` as a module."""
    return ActivationModule(nonlinearity(name))


def image_norm(normalisation: bool | str, channels: int) -> nn.Module:
    """BatchNorm for True or "batch", GroupNorm (at most 8 groups) for "group", nothing for False."""
    if normalisation is False:
        return nn.Identity()
    if normalisation in (True, "batch"):
        return nn.BatchNorm2d(channels)
    if normalisation == "group":
        return nn.GroupNorm(gcd(8, channels), channels)
    raise ValueError(f"normalisation must be True, False, 'batch' or 'group'; got {normalisation!r}.")


def check_image(name: str, shape: tuple[int, ...], least: int) -> None:
    """An image of at least ``least`` pixels per side."""
    if len(shape) != 3 or min(shape[1:]) < least:
        raise ValueError(f"{name} needs images (channels, h, w) of at least {least}x{least} pixels; got {shape}.")
