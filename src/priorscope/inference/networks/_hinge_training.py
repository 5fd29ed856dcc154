"""Full-batch Adam on the quadratic hinge by hand, patterns without loss left out: the training of the jamming papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from priorscope.checks import ANY_NUMBER, POSITIVE, checked, each, whole
from priorscope.inference.networks._descent import descend

__all__ = ["STAGES", "train_hinge"]

Vector = NDArray[np.float64]

STAGES = ((1e-3, 0.5), (3e-4, 0.2), (1e-4, 0.15), (1e-5, 0.1), (1e-6, 0.05))
"""Learning rates and the share of the steps each gets. The papers start at 1e-4 and divide by ten five times over ten
million steps; ours starts higher, for a hundred thousand."""


@checked(
    steps=whole(0), stages=each(each(POSITIVE)), margin=ANY_NUMBER, enough=whole(0), watch_at=each(whole(0), empty=True)
)
def train_hinge(
    network: nn.Sequential,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    steps: int,
    *,
    stages: Sequence[tuple[float, float]] = STAGES,
    margin: float = 0.5,
    enough: int = 0,
    watch: Callable[[int], None] | None = None,
    watch_at: Sequence[int] = (),
) -> int:
    """Train a plain network (Linear, ReLU or Tanh, …, Linear) in place; the number of steps until every margin was met.

    The same dynamics as ``GradientDescent(optimiser="adam", loss=QuadraticHinge(margin))``, several times faster: the backward
    pass sees only patterns with positive slack, and nothing is recorded on the way. Returns ``steps`` when more than ``enough``
    patterns stay unsatisfied. ``watch(step)`` is called with the network's weights up to date after each step of ``watch_at``.
    ``stages`` are learning rates with the share of the steps each gets. Default margin 0.5, from Geiger et al. (2019), "Jamming
    transition as a paradigm to understand the loss landscape of deep networks", Sec. III.

    Example:
        >>> import priorscope as ps
        >>> net = ps.models.plain_network(dim=1, width=4, depth=1, activation="tanh")
        >>> x = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
        >>> used = train_hinge(net, x, x, 2000, stages=[(1e-2, 1.0)])
        >>> used < 2000, bool((net(x) * x >= 0.5).all())
        (True, True)
    """
    wanted = frozenset(watch_at)
    layers, relu = _read(network)
    w = np.concatenate([p.detach().numpy().ravel() for p in network.parameters()])
    rates = np.repeat([r for r, _ in stages], [max(round(steps * part), 1) for _, part in stages])[:steps]
    problem = _Problem(layers, relu, w, inputs.double().numpy(), targets.double().numpy().ravel(), margin)
    m, v = np.zeros_like(w), np.zeros_like(w)

    def look(w: Vector, done: int) -> bool:
        if done in wanted and done and watch is not None:
            _write(layers, *_views(w, layers))
            watch(done)
        return done < len(rates) and problem.forward() <= enough

    def update(w: Vector, g: Vector, done: int) -> Vector:
        nonlocal m, v
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        w -= rates[done] / (1 - 0.9 ** (done + 1)) * m / (np.sqrt(v / (1 - 0.999 ** (done + 1))) + 1e-8)
        return w

    w, done = descend(w, problem.gradient, update, len(rates), look)
    _write(layers, *_views(w, layers))
    return done


class _Problem:
    """Slack and gradient of a plain network on all patterns; the weights are views of ``w``, which moves in its place."""

    def __init__(self, layers: Sequence[nn.Linear], relu: bool, w: Vector, x: Vector, y: Vector, margin: float) -> None:
        self.relu, self.x, self.y, self.margin = relu, x, y, margin
        self.g = np.zeros_like(w)
        self.W, self.B = _views(w, layers)
        self.dW, self.dB = _views(self.g, layers)
        self.z = [x]
        self.slack, self.active = y, np.arange(len(y))

    def forward(self) -> int:
        """Keep the activations and the slack of every pattern; the number of patterns whose margin is not met."""
        z = [self.x]
        for weight, bias in zip(self.W[:-1], self.B[:-1]):
            a = z[-1] @ weight.T
            a += bias
            z.append(np.maximum(a, 0, out=a) if self.relu else np.tanh(a, out=a))
        self.z, self.slack = z, self.margin - self.y * (z[-1] @ self.W[-1].T + self.B[-1]).ravel()
        self.active = np.flatnonzero(self.slack > 0)
        return len(self.active)

    def gradient(self, w: Vector, done: int) -> Vector:
        """Gradient of the mean loss from what :meth:`forward` kept; patterns without loss are left out where they are many."""
        W, dW, dB, P = self.W, self.dW, self.dB, len(self.y)
        few = len(self.active) < 0.8 * P
        live = [zl[self.active] for zl in self.z] if few else self.z
        d = (-self.y * np.maximum(self.slack, 0) / P)[self.active if few else slice(None)]
        np.dot(d[None], live[-1], out=dW[-1])
        dB[-1][:] = d.sum()
        back = d[:, None] * W[-1]
        for i in range(len(W) - 2, -1, -1):
            back *= live[i + 1] > 0 if self.relu else 1 - live[i + 1] ** 2
            np.dot(back.T, live[i], out=dW[i])
            dB[i][:] = back.sum(0)
            if i:
                back = back @ W[i]
        return self.g


def _read(network: nn.Sequential) -> tuple[list[nn.Linear], bool]:
    """The dense layers, and whether the activation between them is ReLU (else tanh); anything else is refused."""
    modules = list(network)
    layers = [module for module in modules[::2] if type(module) is nn.Linear]
    kinds = {type(module) for module in modules[1::2]}
    plain = 2 * len(layers) - 1 == len(modules) > 1 and kinds in ({nn.ReLU}, {nn.Tanh})
    fit = plain and layers[-1].out_features == 1 and all(p.dtype == torch.float64 for p in network.parameters())
    if not fit or any(layer.bias is None for layer in layers):
        raise ValueError(
            "train_hinge needs nn.Linear layers with biases in float64, all ReLU or all Tanh between them, one output; "
            f"got {', '.join(type(module).__name__ for module in modules)}. Use plain_network(...), or GradientDescent."
        )
    return layers, kinds == {nn.ReLU}


def _write(layers: Sequence[nn.Linear], W: Sequence[Vector], B: Sequence[Vector]) -> None:
    with torch.no_grad():
        for layer, weight, bias in zip(layers, W, B):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))


def _views(flat: Vector, layers: Sequence[nn.Linear]) -> tuple[list[Vector], list[Vector]]:
    """Weights and biases of every layer as views of one vector."""
    weights, biases, start = [], [], 0
    for layer in layers:
        n = layer.weight.numel()
        weights.append(flat[start : start + n].reshape(tuple(layer.weight.shape)))
        biases.append(flat[start + n : start + n + layer.bias.numel()])
        start += n + layer.bias.numel()
    return weights, biases
