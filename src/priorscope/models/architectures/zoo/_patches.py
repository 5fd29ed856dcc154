"""Vision transformer and MLP-Mixer for small images."""

from __future__ import annotations

from math import gcd

import torch
from torch import Tensor, nn

from priorscope.checks import checked, whole
from priorscope.models.architectures.zoo._finite import FiniteModel, Shape
from priorscope.models.architectures.zoo._parts import activation_layer, check_image

__all__ = ["mixer", "vit"]


class PatchEmbedding(nn.Module):
    """Non-overlapping patches to tokens (n, patches, width), with learnt positions when asked."""

    def __init__(self, shape: Shape, patch: int, width: int, positions: bool) -> None:
        super().__init__()
        if any(size % patch for size in shape[1:]):
            raise ValueError(f"patch={patch} must divide the image sides {shape[1:]}; choose a patch that does.")
        self.project = nn.Conv2d(shape[0], width, patch, patch)
        self.n_patches = (shape[1] // patch) * (shape[2] // patch)
        self.positions = nn.Parameter(0.02 * torch.randn(self.n_patches, width)) if positions else None

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.project(x).flatten(2).mT
        found: Tensor = tokens if self.positions is None else tokens + self.positions
        return found


class SelfAttention(nn.Module):
    """Softmax attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inward = nn.Linear(width, 3 * width)
        self.outward = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = (
            self.inward(x).unflatten(-1, (3, self.heads, -1)).movedim(-3, 0).transpose(-2, -3)
        )  # (3, n, heads, p, c)
        query, key, value = parts[0], parts[1], parts[2]
        mixed = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value
        found: Tensor = self.outward(mixed.transpose(-2, -3).flatten(-2))
        return found


class Mlp(nn.Sequential):
    """Two linear layers."""

    def __init__(self, size: int, hidden: int, activation: str) -> None:
        super().__init__(nn.Linear(size, hidden), activation_layer(activation), nn.Linear(hidden, size))


class TokenMixing(nn.Module):
    """An MLP over patches, the same for all channels."""

    def __init__(self, n_patches: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.mlp = Mlp(n_patches, hidden, activation)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.mlp(x.mT).mT
        return found


class Step(nn.Module):
    """x + body(norm(x))."""

    def __init__(self, body: nn.Module, width: int, normalisation: bool) -> None:
        super().__init__()
        self.norm: nn.Module = nn.LayerNorm(width) if normalisation else nn.Identity()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.body(self.norm(x))
        return found


class MeanOverPatches(nn.Module):
    """Tokens (n, patches, width) to (n, width)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1)


@checked(depth=whole(), patch=whole(), heads=whole())
def vit(
    depth: int = 4, patch: int = 4, heads: int = 4, activation: str = "gelu", normalisation: bool = True
) -> FiniteModel:
    """Vision transformer (Dosovitskiy et al. 2021) with mean pooling instead of a class token.

    Defaults for small images, ours: 4 blocks, 4×4 patches, width 64. Fewer heads are used where they do not divide the width.

    Example:
        >>> vit().name
        'vit'
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        check_image("vit", shape, patch)
        n_heads = gcd(heads, width)
        layers: list[nn.Module] = [PatchEmbedding(shape, patch, width, positions=True)]
        for _ in range(depth):
            layers.append(Step(SelfAttention(width, n_heads), width, normalisation))
            layers.append(Step(Mlp(width, 2 * width, activation), width, normalisation))
        norm: nn.Module = nn.LayerNorm(width) if normalisation else nn.Identity()
        return nn.Sequential(*layers, norm, MeanOverPatches(), nn.Linear(width, outputs))

    return FiniteModel("vit", build, 64)


@checked(depth=whole(), patch=whole())
def mixer(depth: int = 4, patch: int = 4, activation: str = "gelu", normalisation: bool = True) -> FiniteModel:
    """MLP-Mixer (Tolstikhin et al. 2021): MLPs over patches and over channels in turn.

    Defaults for small images, ours: 4 blocks, 4×4 patches, width 64.

    Example:
        >>> mixer().name
        'mixer'
    """

    def build(shape: Shape, width: int, outputs: int) -> nn.Module:
        check_image("mixer", shape, patch)
        embedding = PatchEmbedding(shape, patch, width, positions=False)
        layers: list[nn.Module] = [embedding]
        for _ in range(depth):
            layers.append(Step(TokenMixing(embedding.n_patches, width, activation), width, normalisation))
            layers.append(Step(Mlp(width, 2 * width, activation), width, normalisation))
        norm: nn.Module = nn.LayerNorm(width) if normalisation else nn.Identity()
        return nn.Sequential(*layers, norm, MeanOverPatches(), nn.Linear(width, outputs))

    return FiniteModel("mixer", build, 64)
