"""Checks of arguments, one place for all: what was wanted, what came, what to do, before anything is computed."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeGuard, TypeVar, cast

__all__ = [
    "ANY_NUMBER",
    "FRACTION",
    "NOT_NEGATIVE",
    "POSITIVE",
    "SEED",
    "SHAPE",
    "VARIANCE",
    "Rule",
    "check",
    "checked",
    "each",
    "no_options",
    "number",
    "optional",
    "whole",
    "word_or",
]

Target = TypeVar("Target", bound=Callable[..., object])


@dataclass(frozen=True)
class Rule:
    """A condition on one argument: ``wanted`` in words, with ``{name}`` for its name, and whether a value meets it.

    Example:
        >>> even = Rule("an even number {name}", lambda value: value % 2 == 0, "Add one.")
        >>> check("pair", "n", 3, even)
        Traceback (most recent call last):
        ...
        ValueError: pair needs an even number n; got 3. Add one.
    """

    wanted: str
    accepts: Callable[[object], bool]
    advice: str = ""


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(least: int = 1, advice: str = "", *, most: int | None = None) -> Rule:
    """A whole number of at least ``least`` and at most ``most``: an int of Python or numpy, no float, no bool.

    Example:
        >>> whole(2).accepts(2), whole(2).accepts(2.0), whole(2).accepts(True)
        (True, False, False)
    """
    wanted = f"a whole number {{name}} >= {least}" + ("" if most is None else f" and <= {most}")
    return Rule(wanted, lambda v: _is_whole(v) and v >= least and (most is None or v <= most), advice)


def number(
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    infinite: bool = False,
    advice: str = "",
) -> Rule:
    """A real number within bounds, never NaN, finite unless ``infinite``.

    Example:
        >>> number(above=0).wanted.format(name="rate"), number(least=0, below=1).wanted.format(name="rate")
        ('a finite rate > 0', 'a number 0 <= rate < 1')
    """
    low = f"{above:g} < " if above is not None else f"{least:g} <= " if least is not None else ""
    if below is not None:
        wanted = f"a number {low}{{name}} < {below:g}"
    else:
        kind = "a number" if infinite else "a finite"
        bound = f" > {above:g}" if above is not None else f" >= {least:g}" if least is not None else ""
        wanted = f"{kind} {{name}}{bound}"

    def accepts(value: object) -> bool:
        return (
            _is_number(value)
            and not math.isnan(value)
            and (infinite or math.isfinite(value))
            and (above is None or value > above)
            and (least is None or value >= least)
            and (below is None or value < below)
        )

    return Rule(wanted, accepts, advice)


def optional(rule: Rule) -> Rule:
    """The rule, or None.

    Example:
        >>> optional(whole()).accepts(None), optional(whole()).wanted.format(name="n")
        (True, 'a whole number n >= 1, or None')
    """
    return Rule(f"{rule.wanted}, or None", lambda v: v is None or rule.accepts(v), rule.advice)


def word_or(rule: Rule, *words: str) -> Rule:
    """The rule, or one of these words.

    Example:
        >>> word_or(number(least=0), "tuned").wanted.format(name="ridge")
        "a finite ridge >= 0, or 'tuned'"
    """
    return Rule(
        f"{rule.wanted}, or {', '.join(map(repr, words))}",
        lambda v: v in words if isinstance(v, str) else rule.accepts(v),
        rule.advice,
    )


def each(rule: Rule, *, alone: bool = False, empty: bool = False) -> Rule:
    """A sequence, array or tensor whose entries meet the rule; also a single value where ``alone``.

    Example:
        >>> each(whole()).accepts((3, 8, 8)), each(whole()).accepts([]), each(number(), alone=True).accepts(1.5)
        (True, False, True)
    """

    def accepts(value: object) -> bool:
        if alone and isinstance(value, Real):
            return rule.accepts(value)
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            return False
        listed = getattr(value, "tolist", lambda: list(value))()
        entries = _flat(listed) if isinstance(listed, list) else [listed]
        return (empty or bool(entries)) and all(rule.accepts(entry) for entry in entries)

    every = rule.wanted.replace("{name}", "value").removeprefix("a ")
    return Rule(
        f"{rule.wanted} or such values" if alone else f"{{name}} with every entry a {every}", accepts, rule.advice
    )


def _flat(values: list[object]) -> list[object]:
    return [one for value in values for one in (_flat(value) if isinstance(value, list) else [value])]


POSITIVE = number(above=0)
"""A finite number above zero.

Example:
    >>> POSITIVE.accepts(0.1), POSITIVE.accepts(float("nan"))
    (True, False)
"""
NOT_NEGATIVE = number(least=0)
"""A finite number of at least zero.

Example:
    >>> NOT_NEGATIVE.accepts(0), NOT_NEGATIVE.accepts(float("inf"))
    (True, False)
"""
VARIANCE = number(least=0, advice="Pass a variance, not a standard deviation.")
"""A variance.

Example:
    >>> VARIANCE.accepts(2.0), VARIANCE.accepts(-1)
    (True, False)
"""
ANY_NUMBER = number()
"""A finite number.

Example:
    >>> ANY_NUMBER.accepts(-2), ANY_NUMBER.accepts("2")
    (True, False)
"""
FRACTION = number(above=0, below=1)
"""A number between zero and one, both excluded.

Example:
    >>> FRACTION.accepts(0.9), FRACTION.accepts(90)
    (True, False)
"""
SEED = whole(0, "Every draw follows from it: pass an int, such as seed=0.")
"""The seed of a random draw.

Example:
    >>> SEED.accepts(7), SEED.accepts(-1), SEED.accepts(None)
    (True, False, False)
"""
SHAPE = each(whole())
"""The shape of one input.

Example:
    >>> SHAPE.accepts((1, 8, 8)), SHAPE.accepts((0, 8)), SHAPE.accepts(8)
    (True, False, False)
"""


def check(who: str, name: str, value: object, rule: Rule) -> None:
    """Raise ``ValueError`` where the value does not meet the rule.

    Example:
        >>> check("fcn", "depth", 2.5, whole())
        Traceback (most recent call last):
        ...
        ValueError: fcn needs a whole number depth >= 1; got 2.5.
    """
    if not rule.accepts(value):
        advice = f" {rule.advice}" if rule.advice else ""
        got = " ".join(repr(value).split())  # arrays and tensors print in several lines
        raise ValueError(f"{who} needs {rule.wanted.format(name=name)}; got {got}.{advice}")


def no_options(who: str, options: Mapping[str, object], why: str) -> None:
    """Refuse keywords that nothing would read: a misspelt one must not pass without a word.

    Example:
        >>> no_options("stability", {}, "of a module")
        >>> no_options("stability", {"moves": 3}, "a torch.nn.Module is measured as it is")
        Traceback (most recent call last):
        ...
        TypeError: stability has no argument 'moves' here: a torch.nn.Module is measured as it is.
    """
    if options:
        names = ", ".join(repr(name) for name in options)
        raise TypeError(f"{who} has no argument {names} here: {why}.")


def checked(**rules: Rule) -> Callable[[Target], Target]:
    """A decorator: arguments of these names are checked before the function runs or the object of the class is made.

    Example:
        >>> @checked(n=whole(2))
        ... def halves(n):
        ...     return n // 2
        >>> halves(1)
        Traceback (most recent call last):
        ...
        ValueError: halves needs a whole number n >= 2; got 1.
    """

    def wrap(target: Target) -> Target:
        if isinstance(target, type):
            guarded = _guard(vars(target)["__init__"], target.__name__, rules)
            setattr(target, "__init__", guarded)  # noqa: B010
            return cast(Target, target)
        return cast(Target, _guard(target, target.__name__, rules))

    return wrap


def _guard(function: Callable[..., object], who: str, rules: dict[str, Rule]) -> Callable[..., object]:
    """The function with its arguments checked by the rules, whether they come by position or by name."""
    signature = inspect.signature(function)
    unknown = set(rules) - set(signature.parameters)
    assert not unknown, f"{who} has no {sorted(unknown)}"

    @functools.wraps(function)
    def guarded(*args: object, **kwargs: object) -> object:
        try:
            given = signature.bind_partial(*args, **kwargs).arguments
        except TypeError:
            given = {}  # wrong arguments: the call itself says so
        for name, value in given.items():
            if name in rules:
                check(who, name, value, rules[name])
        return function(*args, **kwargs)

    return guarded
