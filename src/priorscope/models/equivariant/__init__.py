"""Models with symmetries built in: spheres, steerable filters, point clouds, fields on homogeneous spaces, invariant kernels."""
