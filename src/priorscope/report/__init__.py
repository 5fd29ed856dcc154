"""Results for readers: one look for all charts, tables for terminal and page, files in every format."""

from priorscope.report._claims import ClaimRow, claims_behind, claims_list, claims_long, claims_summary, claims_table
from priorscope.report._page import Figure, Picture, Section, folded, page, table
from priorscope.report._page._document import document, specification
from priorscope.report._page._templates import environment, render
from priorscope.report._papers_page import PaperSection, papers_page
from priorscope.report._save import save_chart
from priorscope.report._tables import format_value, html_table, rich_table
from priorscope.report._theme import PALETTE, Spec, styled, theme

__all__ = [
    "PALETTE",
    "theme",
    "styled",
    "save_chart",
    "rich_table",
    "html_table",
    "ClaimRow",
    "claims_behind",
    "claims_list",
    "claims_table",
    "claims_long",
    "claims_summary",
    "format_value",
    "papers_page",
    "PaperSection",
    # parts of a page
    "page",
    "Section",
    "Figure",
    "Picture",
    "folded",
    "table",
    "document",
    "specification",
    "environment",
    "render",
    "Spec",
]
