"""Finite networks for small images, without closed-form kernels."""

from __future__ import annotations

from ._convnets import lenet, vgg11
from ._finite import FiniteModel
from ._patches import mixer, vit
from ._resnet import resnet18

__all__ = ["FiniteModel", "lenet", "mixer", "resnet18", "vgg11", "vit"]
