"""Full-batch Adam on the quadratic hinge by hand, patterns without loss left out: the training of the jamming papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from priorscope.checks import ANY_NUMBER, POSITIVE, checked, each, whole

__all__ = ["STAGES", "train_hinge"]

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
    wanted = frozenset(watch_at) if watch is not None else frozenset()
    layers, relu = _read(network)
    w = np.concatenate([p.detach().numpy().ravel() for p in network.parameters()])
    g, m, v = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
    W, B = _views(w, layers)
    dW, dB = _views(g, layers)
    x, y = inputs.double().numpy(), targets.double().numpy().ravel()
    P, step = len(x), 0
    rates = np.repeat([r for r, _ in stages], [max(round(steps * part), 1) for _, part in stages])[:steps]
    for step, rate in enumerate(rates, 1):
        z = [x]
        for weight, bias in zip(W[:-1], B[:-1]):
            a = z[-1] @ weight.T
            a += bias
            z.append(np.maximum(a, 0, out=a) if relu else np.tanh(a, out=a))
        slack = margin - y * (z[-1] @ W[-1][0] + B[-1][0])
        active = np.flatnonzero(slack > 0)
        if len(active) <= enough:
            step -= 1
            break
        few = len(active) < 0.8 * P
        live = [zl[active] for zl in z] if few else z
        d = (-y * np.maximum(slack, 0) / P)[active if few else slice(None)]
        np.dot(d, live[-1], out=dW[-1][0])
        dB[-1][0] = d.sum()
        back = d[:, None] * W[-1]
        for i in range(len(layers) - 2, -1, -1):
            back *= live[i + 1] > 0 if relu else 1 - live[i + 1] ** 2
            np.dot(back.T, live[i], out=dW[i])
            dB[i][:] = back.sum(0)
            if i:
                back = back @ W[i]
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        w -= rate / (1 - 0.9**step) * m / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        if step in wanted and watch is not None:
            _write(layers, W, B)
            watch(step)
    _write(layers, W, B)
    return step


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


def _write(layers: Sequence[nn.Linear], W: Sequence[np.ndarray], B: Sequence[np.ndarray]) -> None:
    with torch.no_grad():
        for layer, weight, bias in zip(layers, W, B):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))


def _views(flat: np.ndarray, layers: Sequence[nn.Linear]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of every layer as views of one vector."""
    weights, biases, start = [], [], 0
    for layer in layers:
        n = layer.weight.numel()
        weights.append(flat[start : start + n].reshape(tuple(layer.weight.shape)))
        biases.append(flat[start + n : start + n + layer.bias.numel()])
        start += n + layer.bias.numel()
    return weights, biases
