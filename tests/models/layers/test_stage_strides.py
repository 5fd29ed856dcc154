"""Strides of a sequence multiply within a stage and start anew behind a pool; fused and reference kernels agree."""

import torch

from priorscope import models as M


def test_strides_multiply():
    assert M.Sequential((M.Conv(3, 2), M.Activation("relu"), M.Conv(3, 3))).stage_strides() == (6,)
    assert M.Sequential((M.Conv(3, 2), M.AvgPool(2), M.Conv(3, 3), M.Conv(3, 5))).stage_strides() == (2, 15)


def test_a_stack_of_strides_is_computed_alike_by_both_paths():
    x = torch.randn(3, 2, 12, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    layers = (M.Conv(3, 2), M.Activation("relu"), M.Conv(3, 3), M.Activation("relu"), M.GlobalAvgPool(), M.Dense())
    arch = M.Architecture("strided", layers)
    fused, reference = (arch.kernel(x, path=path).ntk for path in ("fused", "reference"))
    torch.testing.assert_close(fused, reference, rtol=1e-10, atol=0)
