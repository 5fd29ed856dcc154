"""Nonlinearities by name."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ._nonlinearity import Nonlinearity
from ._rectifiers import Abs, LeakyReLU, ReLU

__all__ = ["NONLINEARITIES", "nonlinearity"]

NONLINEARITIES: dict[str, Callable[[], Nonlinearity]] = {
    "relu": ReLU,
    "leaky_relu": LeakyReLU,
    "abs": Abs,
}


def nonlinearity(fn: str | Nonlinearity | Callable[[Tensor], Tensor]) -> Nonlinearity:
    """The nonlinearity of this name, the object itself, or quadrature for any elementwise torch function.

    Example:
        >>> nonlinearity("relu")
        ReLU()
    """
    if isinstance(fn, Nonlinearity):
        return fn
    if isinstance(fn, str):
        if fn not in NONLINEARITIES:
            raise ValueError(
                f"no nonlinearity is called {fn!r}; known are {', '.join(sorted(NONLINEARITIES))}. "
                "Any elementwise torch function may be passed instead of a name."
            )
        return NONLINEARITIES[fn]()
    raise TypeError(f"a nonlinearity is a name, a Nonlinearity or a torch function; got {type(fn).__name__}.")
