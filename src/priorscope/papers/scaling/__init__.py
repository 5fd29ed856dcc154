"""Generalisation against the number of parameters: double descent (2019) and fluctuations (2020)."""
