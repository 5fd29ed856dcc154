"""Architectures as JSON and back: the layers and nonlinearities of this library by name and settings, nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any

from priorscope import models
from priorscope.models import Architecture, Invariant, Layer, Nonlinearity, RadialKernel

__all__ = ["from_plain", "to_plain"]


def _known(name: object) -> type[Any] | None:
    """The layer, nonlinearity or architecture of this library that is called so."""
    found = getattr(models, name, None) if isinstance(name, str) and name in models.__all__ else None
    if isinstance(found, type) and issubclass(found, Architecture | Invariant | Layer | Nonlinearity | RadialKernel):
        kind: type[Any] = found
        return kind if dataclasses.is_dataclass(kind) else None
    return None


def to_plain(part: Any) -> Any:
    """A model, layer or setting as lists, dictionaries, numbers and words; ValueError for what is not of this library.

    Example:
        >>> to_plain(models.Dense(2.0, 0.1))["settings"]["weight_variance"]
        2.0
    """
    if isinstance(part, float) and part == float("inf"):
        return {"number": "inf"}
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, tuple | list):
        return [to_plain(one) for one in part]
    name = type(part).__name__
    if _known(name) is not type(part):
        raise ValueError(f"{name} is not a layer or nonlinearity of this library")
    fields = [f.name for f in dataclasses.fields(part) if f.init]
    return {"is": name, "settings": {field: to_plain(getattr(part, field)) for field in fields}}


def from_plain(plain: Any) -> Any:
    """What :func:`to_plain` wrote, built again by the constructors, which check their arguments.

    Example:
        >>> from_plain(to_plain(models.gap(2, activation="erf"))) == models.gap(2, activation="erf")
        True
    """
    if isinstance(plain, list):
        return tuple(from_plain(one) for one in plain)
    if not isinstance(plain, dict):
        return plain
    if plain == {"number": "inf"}:
        return float("inf")
    kind = _known(plain.get("is"))
    if kind is None or not isinstance(plain.get("settings"), dict):
        raise ValueError(f"no layer or nonlinearity {plain.get('is')!r} in this version of priorscope")
    return kind(**{str(name): from_plain(value) for name, value in plain["settings"].items()})
