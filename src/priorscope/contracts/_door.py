"""The door: an object is checked once, by what it can do, against a protocol."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

__all__ = ["is_protocol", "missing", "own", "require"]

Contract = TypeVar("Contract")


def is_protocol(kind: type) -> bool:
    """Whether a class is a protocol.

    Example:
        >>> from priorscope.contracts import KernelModel
        >>> is_protocol(KernelModel), is_protocol(int)
        (True, False)
    """
    return bool(getattr(kind, "_is_protocol", False))


def _members(protocol: type) -> tuple[str, ...]:
    """Names a protocol asks for, in the order in which they are written."""
    names: dict[str, None] = {}
    for base in reversed(protocol.__mro__):
        if is_protocol(base) and base is not Protocol:
            names.update(dict.fromkeys(n for n in vars(base) if not n.startswith("_") or n == "__len__"))
    return tuple(names)


def _method(protocol: type, name: str) -> Callable[..., object] | None:
    """A method of the protocol as it is written there; None for what is no method."""
    found = inspect.getattr_static(protocol, name, None)
    return found if inspect.isfunction(found) else None


def missing(thing: object, protocol: type) -> tuple[str, ...]:
    """Names of the protocol that the object does not have, or has as something that cannot be called in place of a method.

    Example:
        >>> from priorscope.contracts import KernelModel
        >>> missing(3, KernelModel)
        ('kernel',)
    """
    return tuple(
        name
        for name in _members(protocol)
        if not hasattr(thing, name) or (_method(protocol, name) is not None and not callable(getattr(thing, name)))
    )


def _takes(method: Callable[..., object], wanted: Callable[..., object]) -> bool:
    """Whether a method can be called with the arguments of another, those with defaults by position or by name."""
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # compiled code does not tell
        return True
    asked = [p for p in inspect.signature(wanted).parameters.values() if p.name != "self"]
    named = [p for p in asked if p.kind is p.KEYWORD_ONLY]
    placed = [p for p in asked if p.kind is not p.KEYWORD_ONLY]
    firm = [p for p in placed if p.default is p.empty]
    ways = (
        (len(placed), [p.name for p in named]),
        (len(firm), [p.name for p in (*placed[len(firm) :], *named)]),
    )
    for count, names in ways:
        try:
            signature.bind(*range(count), **dict.fromkeys(names))
        except TypeError:
            continue
        return True
    return False


def require(thing: object, protocol: type[Contract], wanted: str, advice: str) -> Contract:
    """The object as what it must be, or an error that names what it lacks.

    Example:
        >>> from priorscope.contracts import KernelModel
        >>> require(3, KernelModel, "a model with a kernel", "Use an Architecture.")
        Traceback (most recent call last):
        ...
        TypeError: wanted a model with a kernel; got int, which has no kernel. Use an Architecture.
    """
    kind = type(thing).__name__
    lacks = missing(thing, protocol)
    if isinstance(thing, type) and not lacks:
        raise TypeError(f"wanted {wanted}; got the class {thing.__name__} itself. Make one: {thing.__name__}(...).")
    if lacks:
        raise TypeError(f"wanted {wanted}; got {kind}, which has no {', '.join(lacks)}. {advice}")
    for name in _members(protocol):
        asked = _method(protocol, name)
        if asked is not None and name != "__len__" and not _takes(getattr(thing, name), asked):
            raise TypeError(f"wanted {wanted}; {kind}.{name} does not take the arguments of {_written(name, asked)}.")
    return cast(Contract, thing)


def _written(name: str, method: Callable[..., object]) -> str:
    """A method's call in words.

    Example:
        >>> from priorscope.contracts import Inference
        >>> _written("fit", Inference.fit)
        'fit(model, data, seed)'
    """
    return f"{name}({', '.join(p for p in inspect.signature(method).parameters if p != 'self')})"


def own(thing: object, method: str) -> bool:
    """Whether an object's own class defines a method: what is inherited was written for another class.

    Example:
        >>> class Step:
        ...     def lower(self): ...
        >>> class Other(Step): ...
        >>> own(Step(), "lower"), own(Other(), "lower")
        (True, False)
    """
    return method in type(thing).__dict__
