"""Random stacks of layers as plain lists, from which neural-tangents' layers and priorscope's are built alike.

A layer is a list: its name and its numbers; branches are lists of layers. ``draw(seed)`` gives the input shape (channels last)
and the layers. Only what both libraries mean alike is drawn: a padded filter with a stride is taken where both centre it on the
same pixel. Every nonlinearity follows fresh weights, and all branches but one end in them, as closed forms need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["draw"]

Layers = list[list[Any]]
SHAPES = ((4,), (6, 2), (5, 3), (8, 2), (5, 4, 2), (4, 4, 3), (6, 6, 2), (7, 5, 2))
ACTIVATIONS: Layers = [
    ["relu"], ["relu"], ["erf"], ["gelu"], ["abs"], ["leaky", 0.2], ["ab", -0.4, 0.8], ["sine", 1.1, 0.7, 0.3],
    ["cosine", 0.9, 1.2], ["rbf", 0.4], ["gaussian", 1.2, 0.6], ["exponential", 0.8, 0.3], ["quadratic"], ["sign"],
]  # fmt: skip
VARIANCES = ((1.0, 0.0), (1.5, 0.1), (2.0, 0.0), (0.7, 0.3))


def same_centre(size: int, taps: int, stride: int) -> bool:
    """Whether neural-tangents' padding (as little as gives ceil(size / stride) pixels) begins where ours does."""
    total = max((-(-size // stride) - 1) * stride + taps - size, 0)
    return total // 2 == (taps - 1) // 2


class Draw:
    """A random stack in the making: the generator and the pixels left."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        shape = SHAPES[int(self.rng.integers(len(SHAPES)))]
        self.shape, self.space = shape, list(shape[:-1])

    def one(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def weights(self, keep: bool = False) -> list[Any]:
        """Dense, or a filter; with ``keep`` the pixels stay as they are."""
        w, b = self.one(VARIANCES)
        if not self.space or self.chance(0.15):
            return ["dense", w, b]
        taps, stride = self.one((1, 2, 2, 3, 3, 4)), 1 if keep else self.one((1, 1, 2))
        padding = self.one(("circular", "zeros") if keep else ("circular", "zeros", "valid"))
        if padding == "valid":
            if min(self.space) < taps:
                return ["dense", w, b]
            self.space = [(s - taps) // stride + 1 for s in self.space]
            return ["conv", taps, stride, padding, w, b]
        if stride > 1 and not all(same_centre(s, taps, stride) for s in self.space):
            stride = 1
        if padding == "circular" and min(self.space) < taps:
            padding = "zeros"
        if len(self.space) == 2 and stride == 1 and self.chance(0.15):
            return ["local", taps, padding, w, b]
        self.space = [-(-s // stride) for s in self.space]
        return ["conv", taps, stride, padding, w, b]

    def activation(self) -> list[Any]:
        return list(self.one(ACTIVATIONS))

    def block(self) -> Layers:
        """Weights, perhaps a structure, and a nonlinearity, perhaps with what may follow it."""
        layers = [self.weights()]
        extra = int(self.rng.integers(8))
        if extra == 0:
            layers.append(["norm"])
        elif extra == 1:
            layers.append(["residual", [self.activation(), self.weights(keep=True)]])
        elif extra == 2:
            layers.append(["sum", [[self.weights(keep=True)], [self.activation(), self.weights(keep=True)]]])
        elif extra == 3:
            layers += [
                ["product", [[self.activation(), self.weights(keep=True)], [self.weights(keep=True)]]],
                self.weights(True),
            ]
        elif extra == 4:
            layers += [
                ["concat", [[self.activation()], [self.activation(), self.weights(keep=True)]]],
                self.weights(keep=True),
            ]
        elif extra == 5 and self.space:
            layers += [self.activation(), ["attention", self.one((0.5, 1.0)), 1.2, 0.8, self.one((0.0, 0.1))]]
        layers.append(self.activation())
        if self.chance(0.15):
            layers.append(["dropout", self.one((0.2, 0.4))])
        if self.space and min(self.space) >= 2 and self.chance(0.3):
            window = self.one((2, 2, 3)) if min(self.space) >= 3 else 2
            stride = self.one((window, 1))
            self.space = [(s - window) // stride + 1 for s in self.space]
            layers.append([self.one(("average", "total")), window, stride])
        return layers


def draw(seed: int) -> tuple[tuple[int, ...], Layers]:
    """Input shape with channels last, and layers up to the readout.

    Example:
        >>> shape, layers = draw(1)
        >>> layers[-1][0]
        'dense'
    """
    stack = Draw(seed)
    layers: Layers = []
    for _ in range(int(stack.rng.integers(1, 4))):
        layers += stack.block()
    if stack.space:
        layers.append([stack.one(("flatten", "mean", "mean", "all"))])
        stack.space = []
        if stack.chance(0.3):
            layers += stack.block()
    return stack.shape, [*layers, ["dense", *stack.one(VARIANCES)]]
