"""Spectral bias outside the training set."""

from priorscope.probes.spectra.bias._planning import Plan, plan
from priorscope.probes.spectra.bias._result import SpectralBias
from priorscope.probes.spectra.bias._spectral_bias import spectral_bias

__all__ = ["Plan", "SpectralBias", "plan", "spectral_bias"]
