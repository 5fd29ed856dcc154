"""Srebro (2019): which of many solutions training chooses, by geometry, parametrisation and initial scale."""
