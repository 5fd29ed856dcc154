"""Forecasts held against what was measured with more samples."""
