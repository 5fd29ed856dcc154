"""How kernels predict: regression, Gaussian processes, infinite ensembles."""
