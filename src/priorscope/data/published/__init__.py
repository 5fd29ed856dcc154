"""Published data sets, bundled or fetched once and checked."""

from priorscope.data.published._published import cached

__all__ = ["cached"]
