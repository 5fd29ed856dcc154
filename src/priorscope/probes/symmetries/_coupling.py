"""Exact coupling: first-layer weights that see transformed inputs as the old weights saw the plain ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn

from priorscope.checks import SHAPE
from priorscope.contracts import guarded
from priorscope.data.groups import Element

__all__ = ["Coupling", "couple"]


@dataclass(frozen=True)
class Coupling:
    """A copy of the network with transformed first-layer weights.

    ``residual`` is the relative difference of the first layer's outputs, W' on g·x against W on x: zero to round-off exactly
    when the first layer can absorb g. ``gaussian`` says whether the weights look like independent Gaussian draws, whose law a
    rotation keeps; for permutations any independent draws do.

    Example:
        >>> import priorscope as ps
        >>> net = ps.models.fcn(depth=1).network((3, 2, 2), width=8).double()
        >>> g = ps.data.groups.orthogonal((3, 2, 2)).sample_haar(seed=0)
        >>> couple(net, g, (3, 2, 2)).residual < 1e-12
        True
    """

    network: nn.Module
    residual: float
    gaussian: bool


@guarded(input_shape=SHAPE)
def couple(network: nn.Module, element: Callable[[Tensor], Tensor], input_shape: tuple[int, ...]) -> Coupling:
    r"""Weights W' with :math:`L_{W'}(g x) = L_W(x)` for every first layer L of a network, by projection.

    A first layer is any module with weights whose input depends on no other weights: dense, convolution, locally connected,
    patch embedding, one's own. It is linear in W: :math:`L_W = A W`, each weight standing in its own entries of the dense
    matrix, so :math:`W' = (A^T A)^{-1} A^T (L_W \circ g^{-1})` needs only a diagonal inverse. A and its transpose come from
    automatic differentiation on the unit inputs; no layer type is treated by hand.

    Holds: for orthogonal g the map W → W' is orthogonal when the residual is zero, so Gaussian weights keep their law.

    Example:
        >>> import priorscope as ps
        >>> network = ps.models.fcn(1).network((4,), width=8, seed=0).double()
        >>> g = ps.data.groups.orthogonal((4,)).sample_haar(0)
        >>> x = torch.eye(4, dtype=torch.float64)
        >>> coupled = couple(network, g, (4,)).network
        >>> torch.allclose(coupled(g(x)), network(x))
        True
    """
    transformed = copy.deepcopy(network).eval()
    size = prod(input_shape)
    some = next(iter(transformed.parameters()))
    layers = _first_layers(transformed, torch.zeros(1, *input_shape, dtype=some.dtype))
    if not layers:
        return Coupling(transformed, float("inf"), False)
    inverse = element.inverse() if isinstance(element, Element) else None
    if inverse is None:
        raise TypeError("couple needs a group element with an inverse; draw one with group.sample_haar(seed).")
    worst, gaussian = 0.0, True
    for layer in layers:
        weights = [p for name, p in layer.named_parameters(recurse=False) if p.ndim >= 2 and "bias" not in name]
        if len(weights) != 1:
            return Coupling(transformed, float("inf"), False)
        (weight,) = weights
        gaussian &= _looks_gaussian(weight)
        back, scale = torch.zeros_like(weight), torch.zeros_like(weight)
        for start in range(0, size, 64):
            basis = torch.eye(size, dtype=some.dtype)[start : start + 64].reshape(-1, *input_shape)
            target = _output(transformed, layer, inverse(basis)).detach()
            back += _gradient((_output(transformed, layer, basis) * target).sum(), weight)
            with _weights(weight, torch.ones_like(weight)):
                scale += _gradient(_output(transformed, layer, basis).square().sum() / 2, weight)
        new = torch.where(scale > 0, back / torch.where(scale > 0, scale, 1.0), weight.detach())
        probe = torch.randn(8, *input_shape, generator=torch.Generator().manual_seed(0), dtype=some.dtype)
        before = _output(transformed, layer, probe).detach()
        with torch.no_grad():
            weight.copy_(new)
        after = _output(transformed, layer, element(probe)).detach()
        worst = max(worst, float((after - before).norm() / before.norm().clamp_min(1e-300)))
    transformed.train(network.training)
    return Coupling(transformed, worst, gaussian)


def _first_layers(network: nn.Module, x: Tensor) -> list[nn.Module]:
    """Leaf modules with parameters whose input requires no gradient: nothing trainable came before them."""
    found: list[nn.Module] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...], _: object) -> None:
        if inputs and not inputs[0].requires_grad and module not in found:
            found.append(module)

    leaves = [m for m in network.modules() if not list(m.children()) and list(m.parameters(recurse=False))]
    hooks = [m.register_forward_hook(note) for m in leaves]
    try:
        with torch.enable_grad():
            network(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _output(network: nn.Module, layer: nn.Module, x: Tensor) -> Tensor:
    """What the layer gives on the network's inputs x, without its bias."""
    seen: list[Tensor] = []
    hook = layer.register_forward_hook(lambda _module, _inputs, out: seen.append(out))
    try:
        with torch.enable_grad():
            network(torch.cat([x, torch.zeros_like(x[:1])]))
    finally:
        hook.remove()
    out = seen[0]
    per_input = len(out) // (len(x) + 1)  # patch embeddings may fold patches into the batch
    return out[: len(x) * per_input] - out[len(x) * per_input :].repeat(len(x), *(1,) * (out.ndim - 1))


def _gradient(value: Tensor, weight: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(value, weight, allow_unused=True)
    return torch.zeros_like(weight) if gradient is None else gradient


class _weights:
    """The weight set to other values for a while."""

    def __init__(self, weight: Tensor, values: Tensor) -> None:
        self.weight, self.values = weight, values

    def __enter__(self) -> None:
        self.before = self.weight.detach().clone()
        with torch.no_grad():
            self.weight.copy_(self.values)

    def __exit__(self, *_: object) -> None:
        with torch.no_grad():
            self.weight.copy_(self.before)


def _looks_gaussian(weight: Tensor) -> bool:
    """Kurtosis within four standard errors of a Gaussian's; uniform weights (−1.2) are told from 300 draws on."""
    w = weight.detach().double().flatten()
    excess = float(w.pow(4).mean() / w.square().mean().square() - 3)
    found: bool = abs(excess) < 4 * (24 / len(w)) ** 0.5
    return found
