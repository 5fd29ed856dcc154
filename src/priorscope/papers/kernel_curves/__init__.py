"""Asymptotic learning curves of kernel methods: empirical data versus teacher-student paradigm (2020)."""
