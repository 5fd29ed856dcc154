"""The door of a function: every argument is what its annotation says, before anything is computed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, cast, get_origin

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.checks import Rule, checked
from priorscope.contracts._data import LabelledData, Samples
from priorscope.contracts._door import is_protocol, missing
from priorscope.contracts._inference import Fitted, Predictor
from priorscope.contracts._models import KernelModel
from priorscope.contracts._systems import Triple

__all__ = ["HOLED", "guarded"]

Target = TypeVar("Target", bound=Callable[..., object])
Test = Callable[[object], bool]


@dataclass(frozen=True)
class _Kind:
    """What an annotation asks for, in words, and whether a value is it."""

    words: str
    accepts: Test
    numbers: bool = False  # its entries must be real and not NaN
    advice: str = ""


def _offers(protocol: type, words: str) -> _Kind:
    return _Kind(words, lambda value: not isinstance(value, type) and not missing(value, protocol))


def _is_array(value: object) -> bool:
    """Whether a value is, or becomes, an array of numbers."""
    if isinstance(value, Tensor):
        return True
    if value is None or isinstance(value, str | bytes | Mapping):
        return False
    try:
        return np.asarray(value).dtype.kind in "buifc"
    except (TypeError, ValueError, RuntimeError):
        return False


HOLED = Rule(
    "an array of numbers {name}, NaN where one is missing",
    lambda value: _is_array(value) and not np.iscomplexobj(np.asarray(value)),
)
"""The rule for an array in which NaN marks what is missing.

Example:
    >>> HOLED.accepts([1.0, float("nan")]), HOLED.accepts("1"), HOLED.accepts([1j])
    (True, False, False)
"""

_TENSOR = _Kind(
    "a tensor",
    lambda value: isinstance(value, Tensor),
    numbers=True,
    advice=" Pass torch.as_tensor({name}).",
)
_ARRAY = _Kind("an array of numbers", _is_array, numbers=True)
_NETWORK = _Kind(
    "an nn.Module",
    lambda value: isinstance(value, nn.Module),
    advice=" An architecture becomes one by .network(input_shape, width=…).",
)
_CALLABLE = _Kind("a function", lambda value: callable(value) and not isinstance(value, type))
_MAKER = _Kind("a function", callable)
_NUMBERS = _Kind("a sequence of numbers", _is_array)
_WORDS = _Kind("words", lambda value: isinstance(value, Iterable) and not isinstance(value, bytes))
_SERIES = _Kind("a sequence", lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes))
_DATA = _offers(LabelledData, "a data set (as ps.data gives it)")
_KERNEL = _offers(KernelModel, "a model with a kernel")

KINDS = {
    "Tensor": _TENSOR,
    "ArrayLike": _ARRAY,
    "np.ndarray": _ARRAY,
    "Array": _ARRAY,
    "NDArray": _ARRAY,
    "nn.Module": _NETWORK,
    "Triple": _offers(Triple, "a System (data, model, inference)"),
    "Dataset": _DATA,
    "LabelledData": _DATA,
    "Samples": _offers(Samples, "samples (inputs and targets)"),
    "FittedNetworks": _offers(Fitted, "trained networks (what an inference's fit gives)"),
    "Outcome": _offers(Predictor, "an outcome (what System.run gives)"),
    "KernelModel": _KERNEL,
    "Callable": _CALLABLE,
    "Mapping": _Kind("a dictionary", lambda value: isinstance(value, Mapping)),
    "Sequence": _SERIES,
    "Iterable": _SERIES,
    "tuple": _SERIES,
    "int": _Kind("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    "float": _Kind("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    "bool": _Kind("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "str": _Kind("a word", lambda value: isinstance(value, str)),
    "None": _Kind("None", lambda value: value is None),
}
"""What each annotation asks for, by its name without brackets."""


def _kinds(annotation: object, names: Mapping[str, object]) -> tuple[_Kind, ...] | None:
    """The kinds of an annotation, or None where one of them cannot be known here and anything may come.

    ``names`` are those of the module in which it is written: classes, protocols, lists of words and other names for unions.
    """
    found: list[_Kind] = []
    for part in (part.strip() for part in _split(str(annotation))):
        name = part.split("[")[0]
        if part.startswith("Callable[..."):
            found.append(_MAKER)
        elif part.startswith(("Sequence[int", "Sequence[float", "tuple[int")):
            found.append(_NUMBERS)
        elif name == "tuple" and "..." not in part:
            found.append(_tuple_of([_kinds(one, names) for one in _split(part[len("tuple[") : -1], ",")]))
        elif part == "Sequence[str]":
            found.append(_WORDS)
        elif name in KINDS:
            found.append(KINDS[name])
        else:
            more = _kinds_of(name, names)
            if more is None:
                return None
            found.extend(more)
    return tuple(found)


def _tuple_of(members: list[tuple[_Kind, ...] | None]) -> _Kind:
    """A tuple with so many members of these kinds."""

    def accepts(value: object) -> bool:
        return (
            isinstance(value, tuple | list)
            and len(value) == len(members)
            and all(kinds is None or any(kind.accepts(v) for kind in kinds) for kinds, v in zip(members, value))
        )

    words = ", ".join("anything" if kinds is None else kinds[0].words for kinds in members)
    return _Kind(f"a tuple of {words}", accepts)


def _kinds_of(name: str, names: Mapping[str, object]) -> tuple[_Kind, ...] | None:
    """The kinds of a name that a module has given or imported."""
    first, *path = name.split(".")
    meant = functools.reduce(lambda thing, word: getattr(thing, word, None), path, names.get(first))
    if isinstance(meant, str):
        return _kinds(meant, names)
    if meant is Any or meant is object:
        return None
    if isinstance(meant, type):
        if is_protocol(meant):
            return (_offers(meant, name),)
        return (_Kind(f"{name} (or what does the same)", lambda value: not _silly(value)),)
    if get_origin(meant) is Literal:
        return (KINDS["str"],)  # which words, the function says
    return (_CALLABLE,) if get_origin(meant) is Callable else None


def _silly(value: object) -> bool:
    """Whether a value is plain: no object of any class that a probe may be given."""
    return value is None or isinstance(value, str | bytes | Real | complex | list | tuple | Mapping)


def _split(text: str, at: str = "|") -> list[str]:
    """The members of a union (or of a list) as it is written, brackets kept together."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _told(value: object) -> str:
    """A value in a few words."""
    if value is None or isinstance(value, bool | int | float | complex):
        return repr(value)
    if isinstance(value, str | bytes):
        return f"the text {value[:40]!r}"
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    return type(value).__name__


def _check_numbers(who: str, name: str, value: object) -> None:
    """Refuse numbers that are complex, NaN, or (on the meta device) not there."""
    if isinstance(value, Tensor) and value.device.type == "meta":
        raise ValueError(f"{who} needs {name} with values; got a tensor on the meta device, which has none.")
    array = value.detach() if isinstance(value, Tensor) else np.asarray(value)
    is_complex = array.is_complex() if isinstance(array, Tensor) else array.dtype.kind == "c"
    if is_complex:
        raise ValueError(
            f"{who} needs real {name}; got complex numbers. Pass real and imaginary parts as columns of their own."
        )
    nan = int(torch.isnan(array).sum()) if isinstance(array, Tensor) else int(np.isnan(array).sum())
    if nan:
        count = array.numel() if isinstance(array, Tensor) else array.size
        raise ValueError(
            f"{who} needs finite {name}; got NaN in {nan} of {count} entries. Leave them out or fill them in."
        )


def guarded(**rules: Rule) -> Callable[[Target], Target]:
    """A decorator like :func:`~priorscope.checks.checked` that also checks what objects come, by the annotations.

    None, a list or a text where a network, data or a tensor is wanted is refused in one line, and so are complex numbers
    and NaN in arrays and tensors. An argument may always be its own default. Annotations not in the list of kinds, or
    with a rule, are left to the function.

    Example:
        >>> @guarded()
        ... def largest(x: Tensor) -> float:
        ...     return float(x.max())
        >>> largest(None)
        Traceback (most recent call last):
        ...
        TypeError: largest needs x as a tensor; got None. Pass torch.as_tensor(x).
    """

    def wrap(target: Target) -> Target:
        """The function behind a door of its own."""
        signature = inspect.signature(target)
        names = inspect.unwrap(target).__globals__
        asked = {
            name: (kinds, parameter.default)
            for name, parameter in signature.parameters.items()
            if name not in rules
            and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            and (kinds := _kinds(parameter.annotation, names)) is not None
        }
        who = target.__name__
        function = checked(**rules)(target) if rules else target

        @functools.wraps(target)
        def door(*args: object, **kwargs: object) -> object:
            """Check what came, then call the function."""
            try:
                given = signature.bind_partial(*args, **kwargs).arguments
            except TypeError:
                given = {}  # wrong arguments: the call itself says so
            for name, value in given.items():
                kinds, default = asked.get(name, ((), value))
                if value is default:
                    continue
                fits = [kind for kind in kinds if kind.accepts(value)]
                if not fits:
                    words = " or ".join(dict.fromkeys(kind.words for kind in kinds))
                    advice = next((kind.advice for kind in kinds if kind.advice), "").format(name=name)
                    raise TypeError(f"{who} needs {name} as {words}; got {_told(value)}.{advice}")
                if all(kind.numbers for kind in fits):
                    _check_numbers(who, name, value)
            return function(*args, **kwargs)

        return cast(Target, door)

    return wrap
