"""Source and sizes that the papers on input geometry share; no torch, so that claims are listed fast."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []

SOURCE = "Geometric inductive biases of deep networks: the role of data and architecture"
WIDTHS = {"mlp": 100, "lenet": 6, "resnet": 4, "residual": 8}  # published: 100, 6 and, for ResNet18, 64
REDUCED = (
    "Reduced: 1×8×8 inputs, 640 samples (10 a dimension, as published), a residual network of three convolutions with "
    "global pooling in place of ResNet18"
)

NARROW = "Reduced: 1×8×8 inputs, 640 samples (10 a dimension, as published), ResNet18 of width 4 without normalisation"


def sizes(scale: str) -> dict[str, Any]:
    """What all points of a scale share; ``n_train`` keeps the published ten samples a dimension."""
    return {
        "tiny": {"size": 8, "n_train": 64, "batch": 32, "n_models": 20},
        "small": {"size": 8, "n_train": 640, "batch": 32, "n_models": 1000},
        "paper": {"size": 32, "n_train": 10_000, "batch": 128, "n_models": 10_000},
    }[scale]


def models_of(scale: str) -> tuple[str, ...]:
    """The dense net, LeNet and, at the scale ``paper``, ResNet18; a small residual network stands in for it below."""
    return ("mlp", "lenet", "resnet" if scale == "paper" else "residual")


def width_of(name: str, scale: str) -> int:
    """Width of a model: the published one at the scale ``paper``, a ResNet18 of width 4 below."""
    return 64 if name == "resnet" and scale == "paper" else WIDTHS[name]
