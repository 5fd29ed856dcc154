"""Empirical tangent kernels: the definition, and the ways to compute it."""

from priorscope.probes.tangent._empirical_ntk import empirical_ntk

__all__ = ["empirical_ntk"]
