"""Exact eigenfunctions of kernels: circle, sphere, products of spheres, hypercube."""

from priorscope.probes.spectra.eigenfunctions._hypercube import hypercube_modes
from priorscope.probes.spectra.eigenfunctions._modes import Modes
from priorscope.probes.spectra.eigenfunctions._sphere import circle_modes, product_modes, sphere_modes

__all__ = ["Modes", "circle_modes", "hypercube_modes", "product_modes", "sphere_modes"]
