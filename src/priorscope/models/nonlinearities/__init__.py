"""Nonlinearities: each function with its Gaussian expectations, in closed form or by quadrature."""

from __future__ import annotations

from priorscope.models.nonlinearities._erf import Erf
from priorscope.models.nonlinearities._exponential import Exponential
from priorscope.models.nonlinearities._gaussian import Gaussian
from priorscope.models.nonlinearities._gelu import GELU
from priorscope.models.nonlinearities._nonlinearity import Nonlinearity
from priorscope.models.nonlinearities._polynomial import Hermite, Linear, Monomial, Polynomial
from priorscope.models.nonlinearities._quadrature import Quadrature
from priorscope.models.nonlinearities._rectifiers import ABReLU, Abs, LeakyReLU, ReLU
from priorscope.models.nonlinearities._registry import NONLINEARITIES, nonlinearity
from priorscope.models.nonlinearities._sign import Sign
from priorscope.models.nonlinearities._trigonometric import RBF, Cosine, Sine

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
