"""A factory called with what it asks for: input shape, outputs, channels, a seed, under the names they usually have."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TypeVar

import torch

from priorscope.checks import SEED, SHAPE, checked, whole

__all__ = ["from_factory"]

Built = TypeVar("Built")


@checked(input_shape=SHAPE, outputs=whole(), seed=SEED)
def from_factory(factory: Callable[..., Built], input_shape: tuple[int, ...], outputs: int = 1, seed: int = 0) -> Built:
    """What a factory gives for inputs of this shape, drawn with torch's generator at ``seed`` (which is left as it was).

    It is given those of these arguments that it names: ``input_shape``, ``seed``; ``outputs``, ``num_classes`` and the like;
    ``in_channels``, ``in_chans``; ``in_features``, ``input_size``. A factory that needs anything else is refused.

    Example:
        >>> from_factory(lambda input_shape, outputs: torch.nn.Linear(*input_shape, outputs), (3,), 2)
        Linear(in_features=3, out_features=2, bias=True)
        >>> from_factory(lambda depth: depth, (3,))
        Traceback (most recent call last):
        ...
        ValueError: the factory <lambda> wants depth, which is not known here. ...
    """
    offered = _offered(input_shape, outputs, seed)
    try:
        taken = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # builtins have no signature
        return _seeded(factory, seed, {})
    plain = {p.name: offered[p.name] for p in taken if p.name in offered and p.kind is not p.POSITIONAL_ONLY}
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    missing = [p.name for p in taken if p.default is p.empty and p.kind not in kinds and p.name not in plain]
    if missing:
        name = getattr(factory, "__name__", type(factory).__name__)
        raise ValueError(
            f"the factory {name} wants {', '.join(missing)}, which is not known here. Give a factory of input_shape and "
            "outputs, such as: lambda input_shape, outputs: Net(64, outputs)."
        )
    guesses: list[dict[str, object]] = []
    if any(p.kind is p.VAR_KEYWORD for p in taken):  # timm and torchvision hide their arguments behind **kwargs
        guesses = [{"num_classes": outputs, "in_chans": input_shape[0]}, {"num_classes": outputs}]
    for more in guesses:
        try:
            return _seeded(factory, seed, {**plain, **more})
        except TypeError:
            continue
    return _seeded(factory, seed, plain)


def _offered(input_shape: tuple[int, ...], outputs: int, seed: int) -> dict[str, object]:
    """Arguments by the names that factories usually give them."""
    found: dict[str, object] = {"input_shape": input_shape, "seed": seed}
    found |= dict.fromkeys(("outputs", "num_classes", "n_classes", "num_outputs", "n_outputs", "out_features"), outputs)
    found |= dict.fromkeys(("in_chans", "in_channels", "channels"), input_shape[0])
    return found | dict.fromkeys(("in_features", "input_size", "input_dim"), math.prod(input_shape))


def _seeded(factory: Callable[..., Built], seed: int, arguments: dict[str, object]) -> Built:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return factory(**arguments)
