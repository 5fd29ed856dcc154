"""Nonlinearities: each function with its Gaussian expectations, in closed form or by quadrature."""

from __future__ import annotations

from ._nonlinearity import Nonlinearity
from ._rectifiers import ABReLU, Abs, LeakyReLU, ReLU
from ._registry import NONLINEARITIES, nonlinearity

__all__ = ["ABReLU", "Abs", "LeakyReLU", "NONLINEARITIES", "Nonlinearity", "ReLU", "nonlinearity"]
