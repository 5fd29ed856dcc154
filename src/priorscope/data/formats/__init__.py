"""Readers of files, one format per module."""
