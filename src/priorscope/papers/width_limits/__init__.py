"""Limits of wide networks: random features (2019), parametrisations (2021), stochastic descent against flow (2021)."""
