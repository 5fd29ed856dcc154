"""Exact eigenfunctions of kernels: circle, sphere, products of spheres, hypercube."""

from ._hypercube import hypercube_modes
from ._modes import Modes
from ._sphere import circle_modes, product_modes, sphere_modes

__all__ = ["Modes", "circle_modes", "hypercube_modes", "product_modes", "sphere_modes"]
