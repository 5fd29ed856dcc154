"""Teacher and student: a Gaussian field learned by kernel regression, its expected error, the theory of its exponent."""

from priorscope.probes.curves.teacher._exponent import TeacherExponent, spectral_beta, teacher_exponent
from priorscope.probes.curves.teacher._lattice import lattice_error, power_law_spectrum, torus_spectrum
from priorscope.probes.curves.teacher._many_digits import error_in_many_digits
from priorscope.probes.curves.teacher._points import gaussian_field, teacher_points
from priorscope.probes.curves.teacher._spectral_curve import SpectralCurve, spectral_curve
from priorscope.probes.curves.teacher._teacher_student import TeacherStudent, teacher_student

__all__ = [
    "SpectralCurve",
    "TeacherExponent",
    "TeacherStudent",
    "error_in_many_digits",
    "gaussian_field",
    "lattice_error",
    "power_law_spectrum",
    "spectral_beta",
    "spectral_curve",
    "teacher_exponent",
    "teacher_points",
    "teacher_student",
    "torus_spectrum",
]
