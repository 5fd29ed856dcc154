"""The one tensor of predictions in whatever a network gives: a tensor, a tuple, a dictionary, a sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from torch import Tensor, nn

__all__ = ["predictions"]

_NAMES = ("logits", "prediction", "predictions", "pred", "output", "outputs", "out", "scores", "y", "y_hat")
_STATES = ("pooler_output", "last_hidden_state")


def predictions(
    given: object, n: int, module: nn.Module | None = None, pooled: bool = False
) -> tuple[Tensor, list[str]]:
    """Predictions (n, outputs) in what a network gave for ``n`` samples, and what was taken, in words.

    Example:
        >>> import torch
        >>> out, notes = predictions({"hidden": torch.zeros(4, 9), "logits": torch.ones(4, 2)}, 4)
        >>> tuple(out.shape), notes
        ((4, 2), ["gives a dict; 'logits' is taken"])
    """
    notes: list[str] = []
    out = given
    for _ in range(3):  # a tuple of a dictionary of a tensor, at most
        if isinstance(out, Tensor):
            break
        out, note = _member(out, n)
        notes.append(note)
    if not isinstance(out, Tensor):
        raise TypeError(f"a network must give a tensor (n, outputs); got {type(given).__name__}.")
    if out.ndim > 2 and out[0].numel() > out.shape[1]:
        if pooled and out.ndim > 3:
            out, note = out.flatten(2).mean(2), "gives maps; their mean over places is taken"
            notes.append(note)
        elif out.ndim == 3:
            out, note = _position(out, module)
            notes.append(note)
        else:
            raise RuntimeError(f"it gives outputs of shape {tuple(out.shape)}; wanted (n, outputs)")
    return out.reshape(n, -1), notes


def _member(given: object, n: int) -> tuple[object, str]:
    """The part of a container that holds the predictions: by its name, else the first tensor with a row per sample."""
    kind = type(given).__name__
    if is_dataclass(given) and not isinstance(given, type | Mapping):
        given = {field.name: getattr(given, field.name) for field in fields(given)}
    if isinstance(given, Mapping):
        found = {str(name): value for name, value in given.items() if _has_rows(value, n)}
        name = next((name for name in (*_NAMES, *_STATES) if name in found), next(iter(found), None))
        if name is not None:
            return found[name], f"gives a {kind}; {name!r} is taken"
    if isinstance(given, tuple | list):
        flat = [i for i, value in enumerate(given) if _has_rows(value, n) and value.ndim <= 2]
        rest = [i for i, value in enumerate(given) if _has_rows(value, n) or isinstance(value, Mapping | tuple | list)]
        for place in (*flat, *rest):
            return given[place], f"gives a {kind} of {len(given)}; number {place + 1} is taken"
    raise TypeError(
        f"a network must give a tensor (n, outputs), or a tuple or dictionary with one; got {kind} without a tensor of {n} "
        "rows."
    )


def _has_rows(value: object, n: int) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim >= 1 and len(value) == n


def _position(out: Tensor, module: nn.Module | None) -> tuple[Tensor, str]:
    """One row per sample of a sequence (n, positions, outputs): the last where it is recurrent, else the mean."""
    if isinstance(module, nn.RNNBase):
        return out[:, -1], f"gives one output per position; that of the last of {out.shape[1]} is taken"
    return out.mean(1), f"gives one output per position; the mean over its {out.shape[1]} positions is taken"
