"""The weights that the gradient of single samples is taken in, of networks for which it is defined."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

__all__ = ["trainable"]


def trainable(network: nn.Module, who: str) -> dict[str, Tensor]:
    """Trainable weights by name; refuses networks whose output for one sample is drawn or depends on its batch.

    Example:
        >>> list(trainable(nn.Linear(2, 1), "here"))
        ['weight', 'bias']
    """
    for name, part in network.named_modules():
        if part.training and isinstance(part, _DropoutNd | _BatchNorm):
            raise ValueError(
                f"{who} takes gradients of single samples, which {type(part).__name__} ({name or 'the network'}) does not have "
                "while it trains. Call network.eval() first, or leave the layer out."
            )
    found = {name: p.detach() for name, p in network.named_parameters() if p.requires_grad}
    if not found:
        raise ValueError(f"{who} needs a network with trainable weights; this one has none.")
    return found
