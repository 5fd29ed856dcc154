"""Information and nuisance: where in the spectrum of a Jacobian the labels lie."""

from priorscope.probes.limits.information._gap import gap_dimension

__all__ = ["gap_dimension"]
