"""Spectral bias outside the training set."""

from priorscope.probes.spectra.bias._budget import ModeBudget, mode_budget
from priorscope.probes.spectra.bias._identity import identity_error
from priorscope.probes.spectra.bias._result import SpectralBias
from priorscope.probes.spectra.bias._spectral_bias import spectral_bias

__all__ = ["ModeBudget", "SpectralBias", "identity_error", "mode_budget", "spectral_bias"]
