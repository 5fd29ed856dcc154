"""Families of transformations: deformations, shifts, turns and zooms, groups, and functions of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from priorscope.contracts import name_of
from priorscope.data import Deform
from priorscope.data.deformations import (
    RigidMove,
    Shift,
    Turn,
    Zoom,
    displaced,
    highest_temperature,
    lowest_temperature,
)
from priorscope.data.groups import Group, Move, moves_of
from priorscope.probes.symmetries import moving_elements

__all__ = ["Family", "Transformation", "as_family"]

Transformation: TypeAlias = "str | Group | Deform | RigidMove | Callable[..., Tensor]"
NAMED = ("deformation", "shift", "turn", "zoom")
N_ELEMENTS = 16  # of a group, dealt out to the images


@dataclass(frozen=True)
class Family:
    """Random moves of a batch: ``move(images, seed)``, each image by its own draw; ``rest`` is the family at size zero."""

    name: str
    move: Callable[[Tensor, int], Tensor]
    rest: Callable[[Tensor], Tensor]
    note: str = ""
    folds: bool = False


def as_family(transformation: Transformation, images: Tensor, delta: float = 1.0, cutoff: float = 3) -> Family:
    """A family from its name, an object of :mod:`priorscope.data`, or a function of a batch (and a seed).

    Example:
        >>> as_family("shift", torch.zeros(2, 1, 8, 8)).name
        'shifts by 1 pixel'
        >>> as_family("mirror", torch.zeros(2, 1, 8, 8)).name
        'the move “mirror”'
        >>> as_family(lambda x: x.flip(-1), torch.zeros(2, 1, 8, 8)).name
        'the given transformation'
    """
    if isinstance(transformation, str) and transformation in list(Move):
        transformation = Move(transformation)
    if isinstance(transformation, Move):
        one = transformation
        return Family(f"the move “{one}”", lambda x, seed: one(x), lambda x: x)
    if isinstance(transformation, str):
        if transformation not in NAMED:
            fitting = ", ".join(moves_of(tuple(images.shape[1:])))
            raise ValueError(
                f"a transformation is one of {', '.join(NAMED)}, a move ({fitting}), a group, or a function of a batch; got "
                f"{transformation!r}."
            )
        moves: dict[str, Deform | RigidMove] = {"shift": Shift(delta), "turn": Turn(delta), "zoom": Zoom(delta)}
        transformation = moves.get(transformation) or Deform(delta, cutoff)
    if isinstance(transformation, Deform | RigidMove) and images.ndim != 4:
        raise ValueError(
            "deformations, shifts, turns and zooms move images (channels, n, n); got inputs of shape "
            f"{tuple(images.shape[1:])}. Pass a group of priorscope.data.groups or a function of a batch."
        )
    if isinstance(transformation, Deform):
        return _deformations(transformation, images)
    if isinstance(transformation, RigidMove):
        kind = {Shift: "shifts", Turn: "turns", Zoom: "zooms"}.get(type(transformation), name_of(transformation))
        return Family(f"{kind} by {_pixels(transformation.delta)}", transformation, _rest(transformation.interpolation))
    if isinstance(transformation, Group):
        return _of_group(transformation, images)
    if not callable(transformation):
        raise TypeError(
            f"a transformation is one of {', '.join(NAMED)}, a group, or a function of a batch; got "
            f"{type(transformation).__name__}."
        )
    return _of_function(transformation)


def _pixels(delta: float) -> str:
    return "1 pixel" if delta == 1 else f"{delta:g} pixels"


def _rest(interpolation: str) -> Callable[[Tensor], Tensor]:
    """The identity, or with Gaussian reading the smoothing that is left at zero displacement."""
    if interpolation == "bilinear":
        return lambda x: x
    return lambda x: displaced(x, x.new_zeros(len(x), 2, *x.shape[2:]), "gaussian")


def _deformations(deform: Deform, images: Tensor) -> Family:
    n = images.shape[-1]
    T = deform.temperature(n)
    low, high = lowest_temperature(deform.cutoff, n), highest_temperature(deform.cutoff)
    note = ""
    if high < T:
        note = f"temperature {T:.2g} is above T_max = {high:.2g} at cutoff {deform.cutoff:g}: many images fold"
    elif low > T and deform.kind == "asymptotic":
        note = "pixels move by less than half a pixel: the answer depends on how images are read between pixels"
    read = "" if deform.interpolation == "bilinear" else f", {deform.interpolation} reading"
    name = f"deformations by {_pixels(deform.delta)} (cutoff {deform.cutoff:g}{read})"
    return Family(name, deform, _rest(deform.interpolation), note, high < T)


def _of_group(group: Group, images: Tensor) -> Family:
    """Each image is moved by one of some Haar elements, the identity left out."""
    if tuple(group.input_shape) != tuple(images.shape[1:]):
        raise ValueError(
            f"the group acts on inputs of shape {tuple(group.input_shape)}, the images have {tuple(images.shape[1:])}. "
            "Make the group for data.input_shape."
        )

    def move(x: Tensor, seed: int) -> Tensor:
        elements = moving_elements(group, min(N_ELEMENTS, len(x)), 1_000_003 * seed)
        out = torch.empty_like(x)
        for k, g in enumerate(elements):
            out[k :: len(elements)] = g(x[k :: len(elements)])
        return out

    return Family(f"the group {group.name}", move, lambda x: x)


def _of_function(function: Callable[..., Tensor]) -> Family:
    """A function of the user: given a seed where it takes one, else run with torch's generator at that seed."""
    try:
        takes = "seed" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        takes = False

    def move(x: Tensor, seed: int) -> Tensor:
        if takes:
            return function(x, seed=seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return function(x)

    name = name_of(function)
    return Family("the given transformation" if name in ("function", "<lambda>") else name, move, lambda x: x)
