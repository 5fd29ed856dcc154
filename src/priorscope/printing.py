"""How results print: names and numbers, arrays by their shape, and the sentence where there is one."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

import numpy as np
import pandas as pd
import torch

__all__ = ["digits", "printed", "short"]

Class = TypeVar("Class", bound=type)
_FEW = 6  # numbers that are shown one by one


def digits(x: float, count: int = 2) -> str:
    """A number with two digits, or more: no more than it deserves.

    Example:
        >>> digits(0.005423), digits(1.0), digits(0.3), digits(0.98765, 3), digits(12345.0)
        ('0.0054', '1.0', '0.30', '0.988', '12,000')
    """
    if x >= 10**count:
        return f"{float(f'{x:.{count}g}'):,.0f}"
    return f"{x:.{count}g}" if x < 0.0001 else f"{x:#.{count}g}".rstrip(".")


def short(value: object) -> str:
    """A value in a few words: arrays of more than six numbers by shape and range, everything else as Python prints it.

    Example:
        >>> short(np.array([1.0, 0.5])), short(np.zeros((3, 4)))
        ('[1, 0.5]', '<3×4, 0 to 0>')
    """
    if isinstance(value, pd.DataFrame):
        return f"<table, {len(value)} rows: {', '.join(map(str, value.columns))}>"
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy() if not value.is_complex() else value.detach().cpu().numpy()
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.ndim == 1 and value.size <= _FEW and value.dtype.kind in "iuf":
        return f"[{', '.join(f'{v:.4g}' for v in value.tolist())}]"
    shape = "×".join(map(str, value.shape))
    if value.dtype.kind not in "iuf" or not value.size:
        return f"<{shape}>"
    known = value[np.isfinite(value)]
    span = f", {known.min():.3g} to {known.max():.3g}" if known.size else ""
    gaps = "" if known.size == value.size else f", {value.size - known.size} not finite"
    return f"<{shape}{span}{gaps}>"


def _sentence(self: object) -> str:
    return str(getattr(self, "sentence"))  # noqa: B009 (only put on classes that have one)


def printed(cls: Class) -> Class:
    """A dataclass whose arrays print as shape and range; ``str`` gives its ``sentence`` where it has one.

    Example:
        >>> from dataclasses import dataclass
        >>> @printed
        ... @dataclass
        ... class Curve:
        ...     name: str
        ...     error: np.ndarray
        >>> Curve("ridge", np.linspace(1, 0, 50))
        Curve(name='ridge', error=<50, 0 to 1>)
    """

    def __repr__(self: object) -> str:
        shown = (f"{f.name}={short(getattr(self, f.name))}" for f in fields(cls) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    cls.__repr__ = __repr__  # type: ignore[assignment]
    if isinstance(getattr(cls, "sentence", None), property) and "__str__" not in vars(cls):
        cls.__str__ = _sentence  # type: ignore[assignment]
    return cls
