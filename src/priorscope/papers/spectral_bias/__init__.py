"""Spectral bias: which frequencies a network learns first."""
