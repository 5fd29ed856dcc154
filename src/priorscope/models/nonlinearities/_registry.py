"""Nonlinearities by name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from priorscope.models.nonlinearities._erf import Erf
from priorscope.models.nonlinearities._exponential import Exponential
from priorscope.models.nonlinearities._gaussian import Gaussian
from priorscope.models.nonlinearities._gelu import GELU
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity
from priorscope.models.nonlinearities._polynomial import Linear, Monomial
from priorscope.models.nonlinearities._quadrature import Quadrature
from priorscope.models.nonlinearities._rectifiers import Abs, LeakyReLU, ReLU
from priorscope.models.nonlinearities._sign import Sign
from priorscope.models.nonlinearities._trigonometric import RBF, Cosine, Sine

__all__ = ["NONLINEARITIES", "nonlinearity"]

SMOOTH = 1e-10  # relative error from which the quadrature of a named function says so

NONLINEARITIES: dict[str, Callable[[], Nonlinearity]] = {
    "abs": Abs,
    "cosine": Cosine,
    "erf": Erf,
    "exponential": Exponential,
    "gaussian": Gaussian,
    "gelu": GELU,
    "leaky_relu": LeakyReLU,
    "linear": Linear,
    "quadratic": Monomial,
    "rbf": RBF,
    "relu": ReLU,
    "sigmoid": lambda: Quadrature(torch.sigmoid, tolerance=SMOOTH),
    "sign": Sign,
    "silu": lambda: Quadrature(F.silu, tolerance=SMOOTH),
    "sine": Sine,
    "softplus": lambda: Quadrature(F.softplus, tolerance=SMOOTH),
    "tanh": lambda: Quadrature(torch.tanh, tolerance=SMOOTH),
}


def nonlinearity(fn: str | Nonlinearity | Callable[[Tensor], Tensor]) -> Nonlinearity:
    """The nonlinearity of this name, the object itself, or quadrature for any elementwise torch function.

    Example:
        >>> nonlinearity("relu")
        ReLU()
        >>> nonlinearity(lambda x: x.tanh() ** 2).odd
        False
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
    if callable(fn):
        return Quadrature(fn)
    raise TypeError(f"a nonlinearity is a name, a Nonlinearity or a torch function; got {type(fn).__name__}.")
