"""Spectral bias outside the training set."""

from priorscope.probes.spectra.bias._flow import Flow, identity_error
from priorscope.probes.spectra.bias._planning import Plan, plan
from priorscope.probes.spectra.bias._result import SpectralBias
from priorscope.probes.spectra.bias._spectral_bias import spectral_bias

__all__ = ["Flow", "Plan", "SpectralBias", "identity_error", "plan", "spectral_bias"]
