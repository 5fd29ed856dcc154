"""Kernels of the distance between inputs: Laplace, Gaussian and the Matérn family between them."""
