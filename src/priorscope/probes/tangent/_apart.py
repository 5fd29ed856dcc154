"""Whether a network takes inputs, and answers each by itself, whatever else stands in the batch, and the same each time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["check_apart", "check_takes"]

TRIED = 3  # inputs that are asked together and one by one


@torch.no_grad()
def check_takes(network: nn.Module, x: Tensor, who: str) -> Tensor:
    """The outputs for a batch; refuses inputs of a type or shape that the network does not take.

    Example:
        >>> check_takes(nn.Linear(2, 1), torch.eye(2).double(), "empirical_ntk")
        Traceback (most recent call last):
        ...
        ValueError: empirical_ntk needs inputs of the type of the weights, torch.float32; got torch.float64. Pass inputs.to(...
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{who} needs inputs as a tensor; got {type(x).__name__}. Pass torch.as_tensor(inputs).")
    try:
        found: Tensor = network(x)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        kind = next((p.dtype for p in network.parameters()), x.dtype)
        if kind != x.dtype and x.is_floating_point():
            raise ValueError(
                f"{who} needs inputs of the type of the weights, {kind}; got {x.dtype}. Pass inputs.to({kind}), or give the "
                "network the type of the inputs."
            ) from error
        raise ValueError(
            f"{who} needs inputs that the network takes; on {x.dtype} of shape {tuple(x.shape)} {_name(network)} says: {error}. "
            "Its first layer says which shape (n, ...) and type are wanted."
        ) from error
    return found


@torch.no_grad()
def check_apart(network: nn.Module, x: Tensor, who: str) -> None:
    """Refuse a network whose output for an input depends on the rest of the batch, or on chance.

    Gradients of single outputs, and with them kernels and Hessians that are sums over samples, exist only where it does not.

    Example:
        >>> check_apart(nn.Softmax(0), torch.eye(3), "empirical_ntk")
        Traceback (most recent call last):
        ...
        ValueError: empirical_ntk needs a network that answers each input by itself; the outputs of Softmax change with ...
    """
    few = x[:TRIED]
    together, again = check_takes(network, few, who), network(few)
    if not isinstance(together, Tensor) or together.ndim < 1 or len(together) != len(few):
        return  # told elsewhere, by the shape that came
    try:
        alone = torch.cat([network(few[i : i + 1]).reshape(1, -1) for i in range(len(few))])
    except (RuntimeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{who} needs a network that takes one input at a time; {_name(network)} says: {error}"
        ) from error
    together = together.reshape(len(few), -1)
    if not _same(together, again.reshape(len(few), -1)):
        raise ValueError(
            f"{who} needs a network that answers the same each time; the outputs of {_name(network)} are random. "
            "Call network.eval() first, or take the chance out of its forward."
        )
    if not _same(together, alone):
        raise ValueError(
            f"{who} needs a network that answers each input by itself; the outputs of {_name(network)} change with the rest of "
            "the batch. Call network.eval() first, or take the mixing of samples out of its forward."
        )


def _same(a: Tensor, b: Tensor) -> bool:
    """Equal up to the rounding of sums in another order."""
    if a.shape != b.shape:
        return False
    tolerance = 1e-8 if a.dtype == torch.float64 else 1e-3
    return bool((a - b).abs().max() <= tolerance * a.abs().max().clamp_min(1e-30))


def _name(network: nn.Module) -> str:
    return type(network).__name__
