"""What happens to the layers of a network as it widens."""

from priorscope.probes.limits.widths._coordinate_check import CoordinateCheck, coordinate_check

__all__ = ["CoordinateCheck", "coordinate_check"]
