"""Information and nuisance: where in the spectrum of a Jacobian the labels lie."""

from priorscope.probes.limits.information._gap import gap_dimension
from priorscope.probes.limits.information._split import (
    InformationPath,
    InformationSplit,
    information_path,
    information_split,
)

__all__ = ["InformationPath", "InformationSplit", "gap_dimension", "information_path", "information_split"]
