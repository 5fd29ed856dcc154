"""Which models a profile compares, and what is known of each before any measurement."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any

from torch import nn

__all__ = ["Candidate", "default_candidates", "load_model", "user_candidate"]

_WORDS = {
    "fcn": "no symmetry beyond rotations of input space; sees no pixel as next to another",
    "vec": "local patches, position kept (LCN has the same kernel at infinite width)",
    "lap": "local patches, position blurred by pooling windows",
    "gap": "local patches anywhere: the sum over positions forgets where",
}


@dataclass(frozen=True)
class Candidate:
    """A model to profile: its name, the model, what kind it is and the words that describe its prior.

    Example:
        >>> import priorscope as ps
        >>> Candidate("fcn-1", ps.models.fcn(1), "fcn", "no locality").closed_form
        True
    """

    name: str
    model: Any
    family: str
    words: str

    @property
    def closed_form(self) -> bool:
        """Whether the model has an infinite-width kernel."""
        return hasattr(self.model, "kernel")


def default_candidates(input_shape: tuple[int, ...]) -> tuple[list[Candidate], list[str]]:
    """FCN of two depths and, where inputs have positions, VEC, LAP and GAP; with notes on what was left out."""
    from priorscope import models as m

    found = [Candidate(f"fcn-{depth}", m.fcn(depth), "fcn", _WORDS["fcn"]) for depth in (1, 3)]
    if len(input_shape) < 2:
        return found, ["inputs are flat features without positions: convolutional candidates were left out"]
    side = min(input_shape[1:])
    if side < 3:
        return found, [f"inputs have only {side} positions along a side: convolutional candidates were left out"]
    found += [Candidate(f"vec-{depth}", m.vec(depth), "vec", _WORDS["vec"]) for depth in (1, 3)]
    window = next((w for w in (4, 3, 2) if all(s % w == 0 for s in input_shape[1:])), None)
    if window is not None and window < side:
        found.append(Candidate("lap-3", m.lap(3, window=window), "lap", _WORDS["lap"]))
    found.append(Candidate("gap-3", m.gap(3), "gap", _WORDS["gap"]))
    return found, []


def _call(factory: Any, input_shape: tuple[int, ...], outputs: int) -> Any:
    """Call a factory with whichever of input_shape, outputs (num_classes, in_chans, seed) it takes."""
    offered = {
        "input_shape": input_shape,
        "outputs": outputs,
        "num_classes": outputs,
        "in_chans": input_shape[0],
        "seed": 0,
    }
    try:
        taken = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return factory()
    return factory(**{k: v for k, v in offered.items() if k in taken})


def load_model(text: str, input_shape: tuple[int, ...], outputs: int) -> Candidate:
    """A candidate from ``package.module:factory``, or ``timm:name`` where timm is installed.

    Example:
        >>> load_model("priorscope.models:fcn", (4,), 1).family
        'user'
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"a model is written package.module:factory (or timm:name); got {text!r}.")
    if module == "timm":
        try:
            import timm
        except ImportError as error:
            raise ImportError("timm models need timm: pip install timm.") from error
        if len(input_shape) != 3:
            raise ValueError(f"timm models take images (channels, height, width); got inputs of shape {input_shape}.")
        return user_candidate(
            timm.create_model(name, in_chans=input_shape[0], num_classes=outputs), name, input_shape, outputs
        )
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"cannot import {module!r} of --model {text!r}: {error}. Is its folder on PYTHONPATH?"
        ) from error
    if not hasattr(loaded, name):
        raise ValueError(f"module {module!r} has no {name!r}; --model wants package.module:factory.")
    return user_candidate(getattr(loaded, name), name, input_shape, outputs)


def user_candidate(model: Any, name: str | None, input_shape: tuple[int, ...], outputs: int) -> Candidate:
    """A candidate from an Architecture, an ``nn.Module`` or a factory of either."""
    built = model
    if not isinstance(model, nn.Module) and not hasattr(model, "kernel"):
        if not callable(model):
            raise TypeError(f"a model must be an Architecture, an nn.Module or a factory; got {type(model).__name__}.")
        built = _call(model, input_shape, outputs)
    if not isinstance(built, nn.Module) and not hasattr(built, "kernel"):
        raise TypeError(f"the factory gave {type(built).__name__}; wanted an nn.Module or an Architecture.")
    label = name or getattr(built, "name", None) or type(built).__name__
    closed = hasattr(built, "kernel")
    words = "your model, by its closed-form kernel" if closed else "your network, by its tangent kernel at the start"
    return Candidate(str(label), built, "user", words)
