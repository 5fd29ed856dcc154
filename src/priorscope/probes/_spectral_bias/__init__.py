"""Spectral bias outside the training set."""

from ._planning import Plan, plan
from ._result import SpectralBias
from ._spectral_bias import spectral_bias

__all__ = ["Plan", "SpectralBias", "plan", "spectral_bias"]
