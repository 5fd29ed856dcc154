"""Filled by its files; see DESIGN in docs."""
