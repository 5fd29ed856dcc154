"""Measurements: a system or a network in, a result with a table and a chart out."""

from priorscope.probes.curves._learning_curve import LearningCurve, learning_curve
from priorscope.probes.curves.forecast import Caution, CautionKind, Forecast, SamplesNeeded, forecast
from priorscope.probes.curves.pilot import k_fold, leave_one_out, ridge_grid
from priorscope.probes.geometry import (
    AverageGeometry,
    average_geometry,
    linear_conv_geometry,
    matrix_correlation,
    relu_geometry,
    second_moment,
)
from priorscope.probes.geometry._evolution import GeometryEvolution, geometry_evolution
from priorscope.probes.geometry._remove_features import FeatureRemoval, remove_features
from priorscope.probes.geometry._sample_scores import SampleScores, prune, sample_scores
from priorscope.probes.geometry._trajectory import GeometryTrajectory, geometry_trajectory
from priorscope.probes.landscapes import (
    HessianOperators,
    HessianSplit,
    Landscape,
    count_cusps,
    effective_parameters,
    hessian_operators,
    hessian_split,
    lanczos_density,
    landscape,
    small_argument_exponent,
)
from priorscope.probes.landscapes._jamming_load import JammingLoad, jamming_load
from priorscope.probes.landscapes._jamming_point import JammingPoint, jamming_point
from priorscope.probes.limits._mode_learnability import ModeLearnability, effective_regularisation, mode_learnability
from priorscope.probes.regimes import (
    FrozenFit,
    FrozenNetworks,
    LabelProjection,
    Regime,
    frozen_flow,
    frozen_flows,
    frozen_training,
    half_times,
    label_projection,
    last_activations,
    regime,
    stacked_ntk,
)
from priorscope.probes.regimes._boundary_distance import BoundaryDistance, boundary_distance, boundary_shift
from priorscope.probes.regimes._compression import Compression, compression
from priorscope.probes.regimes._ensemble_fluctuations import ExcessError, Fluctuations, excess_error, fluctuations
from priorscope.probes.regimes._kernel_fluctuations import KernelFluctuations, kernel_fluctuations
from priorscope.probes.spectra._nystrom import Nystrom, nystrom
from priorscope.probes.spectra._spectrum import Spectrum, spectrum
from priorscope.probes.spectra.bias import ModeBudget, SpectralBias, mode_budget, spectral_bias
from priorscope.probes.spectra.eigenfunctions import Modes, circle_modes, hypercube_modes, product_modes, sphere_modes
from priorscope.probes.spectra.sphere import (
    KernelSeries,
    SphereSpectrum,
    compare_with_gram,
    gram_spectrum,
    kernel_series,
    sphere_inputs,
    sphere_spectrum,
)
from priorscope.probes.symmetries import Coupling, Symmetry, TwoSample, couple, energy_test, symmetry
from priorscope.probes.symmetries._blind_spots import BlindSpots, blind_spots
from priorscope.probes.symmetries._invariance_table import InvarianceTable, invariance_table
from priorscope.probes.tangent import empirical_ntk
from priorscope.probes.tangent._ntk_operator import NTKOperator, ntk_operator

__all__ = [
    "Regime",
    "regime",
    "frozen_flow",
    "frozen_flows",
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
    "effective_parameters",
    "hessian_operators",
    "hessian_split",
    "lanczos_density",
    "landscape",
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
    "ModeLearnability",
    "LearningCurve",
    "SamplesNeeded",
    "effective_regularisation",
    "Caution",
    "CautionKind",
    "forecast",
    "mode_learnability",
    "k_fold",
    "learning_curve",
    "leave_one_out",
    "ridge_grid",
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
    "ModeBudget",
    "SpectralBias",
    "mode_budget",
    "spectral_bias",
    "Spectrum",
    "spectrum",
]
