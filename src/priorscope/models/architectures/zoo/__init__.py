"""Finite networks for small images, without closed-form kernels."""

from __future__ import annotations

from priorscope.models.architectures.zoo._convnet import convnet, dense
from priorscope.models.architectures.zoo._convnets import lenet, vgg11
from priorscope.models.architectures.zoo._finite import FiniteModel
from priorscope.models.architectures.zoo._patches import mixer, vit
from priorscope.models.architectures.zoo._resnet import resnet18
from priorscope.models.architectures.zoo._small import mlp, small_resnet

__all__ = ["FiniteModel", "convnet", "dense", "lenet", "mixer", "mlp", "resnet18", "small_resnet", "vgg11", "vit"]
