"""Kernels of infinitely wide networks in compiled loops on the CPU."""

from priorscope.models.kernels.fused._run import OutOfRange, fused_average, fused_kernel

__all__ = ["OutOfRange", "fused_average", "fused_kernel"]
