"""Measurements: a system or a network in, a result with a table and a chart out."""

from ._eigenfunctions import Modes, circle_modes, hypercube_modes, product_modes, sphere_modes
from ._empirical_ntk import empirical_ntk
from ._forecast import Forecast, SamplesNeeded, forecast
from ._learnability import Learnability, effective_regularisation, learnability
from ._learning_curve import LearningCurve, learning_curve
from ._ntk_operator import NTKOperator, ntk_operator
from ._nystrom import Nystrom, nystrom
from ._spectrum import Spectrum, spectrum
from ._sphere_spectrum import (
    KernelSeries,
    SphereSpectrum,
    compare_with_gram,
    gram_spectrum,
    kernel_series,
    sphere_inputs,
    sphere_spectrum,
)

__all__ = [
    "KernelSeries",
    "SphereSpectrum",
    "compare_with_gram",
    "gram_spectrum",
    "kernel_series",
    "sphere_inputs",
    "sphere_spectrum",
    "Forecast",
    "Learnability",
    "LearningCurve",
    "SamplesNeeded",
    "effective_regularisation",
    "forecast",
    "learnability",
    "learning_curve",
    "empirical_ntk",
    "Modes",
    "Nystrom",
    "circle_modes",
    "hypercube_modes",
    "nystrom",
    "product_modes",
    "sphere_modes",
    "NTKOperator",
    "ntk_operator",
    "Spectrum",
    "spectrum",
]
