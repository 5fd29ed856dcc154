"""Rows and what holds them together: copies, groups, times and strata, and divisions in which nothing leaks."""

from priorscope.data.rows._structure import Ladder, Structure

__all__ = ["Ladder", "Structure"]
