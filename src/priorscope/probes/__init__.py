"""Measurements: a system or a network in, a result with a table and a chart out."""

from ._blind_spots import BlindSpots, blind_spots
from ._boundary_distance import BoundaryDistance, boundary_distance, boundary_shift
from ._compression import Compression, compression
from ._eigenfunctions import Modes, circle_modes, hypercube_modes, product_modes, sphere_modes
from ._empirical_ntk import empirical_ntk
from ._ensemble_fluctuations import ExcessError, Fluctuations, excess_error, fluctuations
from ._forecast import Forecast, SamplesNeeded, forecast
from ._geometry import (
    AverageGeometry,
    average_geometry,
    linear_conv_geometry,
    matrix_correlation,
    relu_geometry,
    second_moment,
)
from ._geometry_evolution import GeometryEvolution, geometry_evolution
from ._geometry_trajectory import GeometryTrajectory, geometry_trajectory
from ._invariance_table import InvarianceTable, invariance_table
from ._jamming_load import JammingLoad, jamming_load
from ._jamming_point import JammingPoint, jamming_point
from ._kernel_fluctuations import KernelFluctuations, kernel_fluctuations
from ._landscape import (
    HessianOperators,
    HessianSplit,
    Landscape,
    count_cusps,
    count_weights,
    effective_parameters,
    hessian_operators,
    hessian_split,
    lanczos_density,
    landscape,
    plain_network,
    random_patterns,
    small_argument_exponent,
)
from ._learnability import Learnability, effective_regularisation, learnability
from ._learning_curve import LearningCurve, learning_curve
from ._ntk_operator import NTKOperator, ntk_operator
from ._nystrom import Nystrom, nystrom
from ._regime import (
    FrozenFit,
    FrozenNetworks,
    LabelProjection,
    Regime,
    frozen_flow,
    frozen_training,
    half_times,
    label_projection,
    last_activations,
    regime,
    stacked_ntk,
)
from ._remove_features import FeatureRemoval, remove_features
from ._sample_scores import SampleScores, prune, sample_scores
from ._spectral_bias import Plan, SpectralBias, plan, spectral_bias
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
from ._symmetry import Coupling, Symmetry, TwoSample, couple, energy_test, symmetry

__all__ = [
    "Regime",
    "regime",
    "frozen_flow",
    "FrozenFit",
    "frozen_training",
    "FrozenNetworks",
    "label_projection",
    "LabelProjection",
    "half_times",
    "last_activations",
    "BoundaryDistance",
    "Compression",
    "compression",
    "boundary_distance",
    "boundary_shift",
    "KernelFluctuations",
    "kernel_fluctuations",
    "fluctuations",
    "Fluctuations",
    "excess_error",
    "ExcessError",
    "stacked_ntk",
    "JammingLoad",
    "jamming_load",
    "JammingPoint",
    "jamming_point",
    "HessianOperators",
    "HessianSplit",
    "Landscape",
    "count_cusps",
    "count_weights",
    "effective_parameters",
    "hessian_operators",
    "hessian_split",
    "lanczos_density",
    "landscape",
    "plain_network",
    "random_patterns",
    "small_argument_exponent",
    "AverageGeometry",
    "FeatureRemoval",
    "SampleScores",
    "prune",
    "remove_features",
    "sample_scores",
    "GeometryEvolution",
    "geometry_evolution",
    "GeometryTrajectory",
    "geometry_trajectory",
    "matrix_correlation",
    "second_moment",
    "BlindSpots",
    "average_geometry",
    "blind_spots",
    "linear_conv_geometry",
    "relu_geometry",
    "InvarianceTable",
    "invariance_table",
    "Coupling",
    "Symmetry",
    "TwoSample",
    "couple",
    "energy_test",
    "symmetry",
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
    "Plan",
    "SpectralBias",
    "plan",
    "spectral_bias",
    "Spectrum",
    "spectrum",
]
