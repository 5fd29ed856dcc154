"""Exponents of learning curves: measured, from kernel principal components, and the dimension of the data behind them."""

from priorscope.probes.curves.exponents._curve import CurveExponent, learning_curve_exponent
from priorscope.probes.curves.exponents._dimension import EffectiveDimension, effective_dimension, sphere_distance
from priorscope.probes.curves.exponents._expected import ExpectedExponents, expected_exponents
from priorscope.probes.curves.exponents._gram_convergence import GramConvergence, gram_convergence
from priorscope.probes.curves.exponents._kernel_pca import KernelPCAExponent, kernel_pca_exponent

__all__ = [
    "CurveExponent",
    "EffectiveDimension",
    "ExpectedExponents",
    "GramConvergence",
    "KernelPCAExponent",
    "effective_dimension",
    "expected_exponents",
    "gram_convergence",
    "kernel_pca_exponent",
    "learning_curve_exponent",
    "sphere_distance",
]
