"""Modules as people write them: with batch normalisation, a transformer, an LSTM; the last two read images row by row."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import SHAPE, checked, whole
from priorscope.contracts import Shape

__all__ = ["lstm_network", "normalised_network", "transformer_network"]


def _lengths(shape: Shape) -> tuple[int, int]:
    """Length of the sequence and width of its tokens."""
    return (shape[1], shape[0] * shape[2]) if len(shape) == 3 else (shape[0], 1)


def _sequence(x: Tensor) -> Tensor:
    """Rows of images (n, channels, rows, columns), or single features (n, features), as tokens (n, length, width)."""
    return x.transpose(1, 2).flatten(2) if x.ndim == 4 else x[:, :, None]


class _Transformer(nn.Module):
    """One encoder layer on embedded tokens with learnt places, then the mean over tokens."""

    def __init__(self, shape: Shape, outputs: int) -> None:
        super().__init__()
        length, width = _lengths(shape)
        self.embed, self.place = nn.Linear(width, 16), nn.Parameter(0.5 * torch.randn(length, 16))
        self.block = nn.TransformerEncoderLayer(16, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, outputs)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.block(self.embed(_sequence(x)) + self.place).mean(1))
        return found


class _Recurrent(nn.Module):
    """An LSTM of 24 units, read after the last token."""

    def __init__(self, shape: Shape, outputs: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(_lengths(shape)[1], 24, batch_first=True)
        self.head = nn.Linear(24, outputs)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.lstm(_sequence(x))[0][:, -1])
        return found


@checked(input_shape=SHAPE, outputs=whole())
def normalised_network(input_shape: Shape, outputs: int) -> nn.Module:
    """Two layers with batch normalisation (Ioffe & Szegedy 2015), convolutional for images.

    Example:
        >>> normalised_network((1, 8, 8), 10)(torch.rand(5, 1, 8, 8)).shape
        torch.Size([5, 10])
    """
    if len(input_shape) < 3:
        layers = [nn.Linear(input_shape[0], 64), nn.BatchNorm1d(64), nn.ReLU()]
        layers += [nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, outputs)]
        return nn.Sequential(*layers)
    layers = [nn.Conv2d(input_shape[0], 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
    layers += [nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, outputs))


@checked(input_shape=SHAPE, outputs=whole())
def transformer_network(input_shape: Shape, outputs: int) -> nn.Module:
    """A small transformer over the rows of images, or over single features.

    Example:
        >>> transformer_network((12,), 3)(torch.rand(5, 12)).shape
        torch.Size([5, 3])
    """
    return _Transformer(input_shape, outputs)


@checked(input_shape=SHAPE, outputs=whole())
def lstm_network(input_shape: Shape, outputs: int) -> nn.Module:
    """A small LSTM over the rows of images, or over single features.

    Example:
        >>> lstm_network((12,), 3)(torch.rand(5, 12)).shape
        torch.Size([5, 3])
    """
    return _Recurrent(input_shape, outputs)
