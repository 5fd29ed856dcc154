"""Geiger (2021), chapter 5: spherical, steerable and point-cloud networks, fields on homogeneous spaces, invariant kernels."""
