"""Spectra of kernels: eigenvalues, eigenfunctions, and which of them training meets first."""
