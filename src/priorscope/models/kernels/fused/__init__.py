"""Kernels of infinitely wide networks in compiled loops on the CPU."""

from priorscope.models.kernels.fused._run import fused_kernel

__all__ = ["fused_kernel"]
