"""Symmetries: which the data seem to have, and which each model is blind to."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.data import Deform

__all__ = [
    "ONE_PIXEL",
    "DataSymmetry",
    "Kept",
    "Shared",
    "data_symmetries",
    "model_symmetries",
    "moves_of",
    "one_pixel",
]

Move = Callable[[Tensor], Tensor]
Labels: TypeAlias = NDArray[np.int64] | None  # None in regression
ONE_PIXEL = "deformation by 1"
_LEAST_SIDE = 8  # pixels, below which no deformation by one pixel is smooth


class Shared(StrEnum):
    """Whether labels stay as they are under a move; the value is the word in tables."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    UNKNOWN = "cannot tell"


class Kept(StrEnum):
    """What a move of the input leaves as it is in a model's kernel; the value is the word in tables."""

    INVARIANT = "invariant"  # K(gx, x') = K(x, x')
    EQUIVARIANT = "equivariant"  # K(gx, gx') = K(x, x')
    NEARLY_INVARIANT = "nearly invariant"
    NEARLY_EQUIVARIANT = "nearly equivariant"
    NOTHING = "no"


@dataclass(frozen=True)
class DataSymmetry:
    """Evidence that a move of the inputs leaves labels as they are.

    ``agreement``: of moved samples, the share whose nearest other sample has the same label (in regression: the correlation
    with the neighbour's target); ``baseline``: the same without the move; ``chance``: what a random neighbour would give.
    ``gain``: kernel-target alignment of the kernel averaged over the move, relative to the plain kernel. ``error``: standard
    error of an agreement, from the number of samples.
    """

    move: str
    agreement: float
    baseline: float
    chance: float
    gain: float
    error: float = 0.0

    @property
    def shared(self) -> Shared:
        """Yes where moved neighbours agree nearly as often as unmoved ones, no where they fall to half or less.

        Nothing can be told where unmoved neighbours hardly agree more often than by chance (3 standard errors).
        """
        kept = (self.agreement - self.chance) / max(self.baseline - self.chance, 1e-9)
        if self.baseline - self.chance < max(0.05, 3 * self.error):
            return Shared.UNKNOWN
        if kept > 0.9 or (kept > 0.75 and self.gain > 1.0):
            return Shared.YES
        return Shared.PARTLY if kept > 0.5 else Shared.NO

    @property
    def verdict(self) -> str:
        """The word for it."""
        return self.shared.value


def moves_of(input_shape: tuple[int, ...]) -> dict[str, Move]:
    """The moves that are tried: shifts (circular), flips, turns and deformations of the grid; none for flat features."""
    if len(input_shape) == 2:
        return {"shift by 1": lambda x: x.roll(1, -1), "reversal": lambda x: x.flip(-1), "sign flip": torch.neg}
    if len(input_shape) != 3:
        return {"sign flip": torch.neg}
    moves: dict[str, Move] = {
        "shift by 1": lambda x: x.roll(1, -1),
        "shift by 1 down": lambda x: x.roll(1, -2),
        "shift by a quarter": lambda x: x.roll(max(x.shape[-1] // 4, 1), -1),
        "mirror": lambda x: x.flip(-1),
        "upside down": lambda x: x.flip(-2),
        "sign flip": torch.neg,
    }
    if input_shape[1] == input_shape[2]:
        moves["quarter turn"] = lambda x: x.rot90(1, (-2, -1))
    deform = one_pixel(input_shape)
    if deform is not None:
        moves[ONE_PIXEL] = lambda x: deform(x, seed=0)  # each image by its own fixed field
    return moves


def one_pixel(input_shape: tuple[int, ...]) -> Deform | None:
    """Deformations by about one pixel, of the highest cutoff up to 3 that does not fold; None for what is no square image."""
    if len(input_shape) != 3 or input_shape[1] != input_shape[2] or input_shape[1] < _LEAST_SIDE:
        return None
    return Deform(1.0, 3 if input_shape[1] >= 10 else 2, folds="allow")


def _neighbour(x: Tensor, z: Tensor) -> NDArray[np.int64]:
    """Index of the nearest row of x to each row of z, never the row itself."""
    distance = torch.cdist(z.flatten(1).double(), x.flatten(1).double())
    distance.fill_diagonal_(float("inf"))
    return distance.argmin(1).numpy()


def _agreement(targets: NDArray[np.float64], labels: Labels, other: NDArray[np.int64]) -> float:
    if labels is not None:
        return float((labels == labels[other]).mean())
    a, b = targets.ravel(), targets[other].ravel()
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0


def _alignment(gram: NDArray[np.float64], targets: NDArray[np.float64]) -> float:
    n = len(gram)
    centre = np.eye(n) - 1 / n
    K, Y = centre @ gram @ centre, centre @ targets
    return float(((Y.T @ K) * Y.T).sum() / (np.linalg.norm(K) * np.linalg.norm(Y.T @ Y) + 1e-300))


def data_symmetries(
    inputs: Tensor, targets: NDArray[np.float64], labels: Labels, only: Container[str] | None = None
) -> list[DataSymmetry]:
    """Try every move on the pilot, or ``only`` some: labels of moved neighbours, and alignment gain of the averaged kernel."""
    flat = inputs.flatten(1).double()
    scale = float(torch.cdist(flat, flat).median())
    base = np.exp(-torch.cdist(flat, flat).numpy() / max(scale, 1e-12))
    plain = _alignment(base, targets)
    baseline = _agreement(targets, labels, _neighbour(inputs, inputs))
    chance, error = 0.0, len(flat) ** -0.5  # of a correlation near zero
    if labels is not None:
        chance = float(((np.bincount(labels) / len(labels)) ** 2).sum())
        error *= (chance * (1 - chance)) ** 0.5
    found = []
    for name, move in moves_of(tuple(inputs.shape[1:])).items():
        if only is not None and name not in only:
            continue
        moved = move(inputs)
        K = np.exp(-torch.cdist(flat, moved.flatten(1).double()).numpy() / max(scale, 1e-12))
        averaged = 0.5 * base + 0.25 * (K + K.T)
        gain = _alignment(averaged, targets) / plain if plain > 0 else 1.0
        agreement = _agreement(targets, labels, _neighbour(inputs, moved))
        found.append(DataSymmetry(name, agreement, baseline, chance, gain, error))
    return found


def model_symmetries(kernel: Callable[[Tensor, Tensor], NDArray[np.float64]], inputs: Tensor) -> dict[str, Kept]:
    """What each move of a few inputs leaves as it is, to a relative 1e-5."""
    x = inputs[:6].double()
    plain = np.asarray(kernel(x, x), dtype=float)
    size = np.abs(plain).max()
    found = {}
    for name, move in moves_of(tuple(inputs.shape[1:])).items():
        moved = move(x)
        if np.abs(np.asarray(kernel(moved, x), dtype=float) - plain).max() < 1e-5 * size:
            found[name] = Kept.INVARIANT
        elif np.abs(np.asarray(kernel(moved, moved), dtype=float) - plain).max() < 1e-5 * size:
            found[name] = Kept.EQUIVARIANT
        else:
            found[name] = Kept.NOTHING
    return found
