"""Nonlinearities: each function with its Gaussian expectations, in closed form or by quadrature."""

from __future__ import annotations

from ._erf import Erf
from ._exponential import Exponential
from ._gaussian import Gaussian
from ._gelu import GELU
from ._nonlinearity import Nonlinearity
from ._polynomial import Hermite, Linear, Monomial, Polynomial
from ._quadrature import Quadrature
from ._rectifiers import ABReLU, Abs, LeakyReLU, ReLU
from ._registry import NONLINEARITIES, nonlinearity
from ._sign import Sign
from ._trigonometric import RBF, Cosine, Sine

__all__ = [
    "ABReLU",
    "Abs",
    "Cosine",
    "Erf",
    "Exponential",
    "GELU",
    "Gaussian",
    "Hermite",
    "LeakyReLU",
    "Linear",
    "Monomial",
    "NONLINEARITIES",
    "Nonlinearity",
    "Polynomial",
    "Quadrature",
    "RBF",
    "ReLU",
    "Sign",
    "Sine",
    "nonlinearity",
]
