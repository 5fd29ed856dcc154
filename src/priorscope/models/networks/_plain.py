"""Fully connected networks without scale factors, drawn orthogonal: the networks of the jamming papers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from priorscope.checks import ANY_NUMBER, SEED, checked, each, whole

__all__ = ["count_weights", "plain_network"]

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "linear": nn.Identity}


@checked(dim=whole(), width=each(whole(), alone=True), depth=whole(0), outputs=whole(), seed=SEED, gain=ANY_NUMBER)
def plain_network(
    dim: int,
    width: int | Sequence[int],
    depth: int,
    *,
    outputs: int = 1,
    activation: str = "relu",
    seed: int = 0,
    gain: float = 1.0,
) -> nn.Sequential:
    r"""A fully connected network without scale factors, :math:`a^{i+1} = W\rho(a^i) + B`, in float64.

    Weights are (semi-)orthogonal by Haar measure, biases zero, the readout's rows of norm ``gain``: Saxe et al. (2014),
    as in Geiger et al. (2019), "Jamming transition as a paradigm to understand the loss landscape of deep networks".
    ``width`` is that of every hidden layer, or one number per layer.

    Example:
        >>> net = plain_network(dim=3, width=5, depth=2)
        >>> sum(p.numel() for p in net.parameters())
        56
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}.")
    generator = torch.Generator().manual_seed(seed)
    widths = [width] * depth if isinstance(width, int) else list(width)
    if len(widths) != depth:
        raise ValueError(f"plain_network of depth {depth} needs one width, or {depth} of them; got {widths}.")
    sizes = [dim, *widths, outputs]
    layers: list[nn.Module] = []
    for i, (n_in, n_out) in enumerate(pairwise(sizes)):
        layer = nn.Linear(n_in, n_out, dtype=torch.float64)
        last = i == depth
        with torch.no_grad():
            layer.weight.copy_(_haar(n_out, n_in, generator) * (gain if last else 1.0))
            layer.bias.zero_()
        layers += [layer] if last else [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


def _haar(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Orthonormal rows; when there are more rows than columns, orthogonal blocks on top of one another."""
    blocks = []
    for start in range(0, rows, columns):
        count = min(columns, rows - start)
        q, r = torch.linalg.qr(torch.randn(columns, count, generator=generator, dtype=torch.float64))
        blocks.append((q * r.diagonal().sign()).mT)  # without the signs QR is not Haar
    return torch.cat(blocks)


def count_weights(network: nn.Module) -> int:
    """Parameters without biases: the N of the papers, which is one less per neuron than their number.

    Example:
        >>> count_weights(plain_network(dim=7, width=9, depth=3, outputs=2))
        243
    """
    return sum(p.numel() for name, p in network.named_parameters() if not name.endswith("bias"))
