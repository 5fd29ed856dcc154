"""The exact spectrum of one-hidden-layer kernels on products of spheres, and spectra by sampling."""

from priorscope.probes.spectra.sphere._gram import compare_with_gram, gram_spectrum, sphere_inputs
from priorscope.probes.spectra.sphere._series import KernelSeries, kernel_series
from priorscope.probes.spectra.sphere._spectrum import SphereSpectrum, sphere_spectrum

__all__ = [
    "KernelSeries",
    "SphereSpectrum",
    "compare_with_gram",
    "gram_spectrum",
    "kernel_series",
    "sphere_inputs",
    "sphere_spectrum",
]
