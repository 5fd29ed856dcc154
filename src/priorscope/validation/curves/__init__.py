"""Curves measured for the forecaster, and what its forecasts are worth."""
