"""The report page: one HTML file that carries its scripts and loads nothing."""

from priorscope.report._page._build import Figure, Picture, Section, folded, page, table

__all__ = ["Figure", "Picture", "Section", "folded", "page", "table"]
