"""Whether a network's outputs are a power of a common factor on its weights, measured, not read off its layers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from priorscope.checks import ANY_NUMBER, NOT_NEGATIVE, POSITIVE, checked
from priorscope.contracts import guarded

__all__ = ["Homogeneity", "homogeneity"]

FACTORS = (0.5, 2.0, 3.0)


@checked(degree=ANY_NUMBER, off=NOT_NEGATIVE)
@dataclass(frozen=True)
class Homogeneity:
    r"""The degree D of :math:`f(cw) = c^Df(w)` and how far the outputs are from it, relative to them, at the worst factor.

    ``parameters`` are the names of the weights that were multiplied.

    Example:
        >>> homogeneity(nn.Sequential(nn.Linear(2, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=False)), torch.eye(2)).degree
        2.0
    """

    degree: float
    off: float
    parameters: tuple[str, ...]
    holds: bool


def chosen(network: nn.Module, parameters: Sequence[str] | None) -> dict[str, Tensor]:
    """The weights by name: those asked for (a name, or the beginning of several), or all that require gradients."""
    named = {name: p.detach() for name, p in network.named_parameters() if p.requires_grad}
    if parameters is not None:
        wanted = [parameters] if isinstance(parameters, str) else list(parameters)
        unknown = [w for w in wanted if not any(n == w or n.startswith(f"{w}.") for n in named)]
        if unknown:
            raise ValueError(f"the network has no trainable weights {', '.join(unknown)}; it has {', '.join(named)}.")
        named = {n: p for n, p in named.items() if any(n == w or n.startswith(f"{w}.") for w in wanted)}
    if not named:
        raise ValueError("the network has no trainable weights.")
    return named


def last_layer(network: nn.Module) -> list[str]:
    """The names of the weights of the last layer, in the order in which they were registered.

    Example:
        >>> last_layer(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))
        ['2.weight', '2.bias']
    """
    names = [name for name, p in network.named_parameters() if p.requires_grad]
    home = names[-1].rpartition(".")[0]
    return [name for name in names if name.rpartition(".")[0] == home]


@guarded(tolerance=POSITIVE)
def homogeneity(
    network: nn.Module, inputs: Tensor, *, parameters: Sequence[str] | None = None, tolerance: float = 1e-8
) -> Homogeneity:
    r"""Whether :math:`f(cw) = c^D f(w)` for the weights w of a network, and the degree D, by trying c = ½, 2 and 3 in float64.

    All trainable weights are multiplied, or those named by ``parameters``. The degree is the slope of the logarithm of the
    outputs' size between ½ and 2; it ``holds`` where the outputs agree within ``tolerance``. Networks of ReLU layers
    are homogeneous without biases (degree: number of layers) or with a bias in the first layer alone; later biases,
    other nonlinearities, shortcuts around layers and stored statistics of batch normalisation break it. Definition of
    Lyu & Li (2020), "Gradient descent maximizes the margin of homogeneous neural networks".

    Example:
        >>> found = homogeneity(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)), torch.eye(2))
        >>> found.holds  # the last bias
        False
    """
    doubled = copy.deepcopy(network).double().eval()
    weights = chosen(doubled, parameters)
    x = inputs.double() if inputs.is_floating_point() else inputs

    def outputs(factor: float) -> Tensor:
        with torch.no_grad():
            out = functional_call(doubled, {name: factor * w for name, w in weights.items()}, (x,))
        found: Tensor = out.reshape(len(x), -1)
        if not bool(torch.isfinite(found).all()):
            raise ValueError(
                f"the network gives NaN or infinite outputs when its weights are multiplied by {factor:g}."
            )
        return found

    small, large, whole = outputs(FACTORS[0]), outputs(FACTORS[1]), outputs(1.0)
    size = float(whole.norm())
    if size == 0 or float(small.norm()) == 0:
        raise ValueError("the network's outputs are all zero on these inputs, so that their degree cannot be seen.")
    degree = float(torch.log2(large.norm() / small.norm())) / 2
    near = round(degree)
    degree = float(near) if abs(degree - near) < 1e-9 else degree
    worst = max(float((outputs(c) - c**degree * whole).norm()) / (c**degree * size) for c in FACTORS)
    return Homogeneity(degree, worst, tuple(weights), worst <= tolerance)
