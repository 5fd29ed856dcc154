"""Margins of homogeneous networks, and how far they are from the largest."""

from priorscope.probes.limits.margins._homogeneity import Homogeneity, homogeneity
from priorscope.probes.limits.margins._margin import margin
from priorscope.probes.limits.margins._result import Margin

__all__ = ["Homogeneity", "Margin", "homogeneity", "margin"]
