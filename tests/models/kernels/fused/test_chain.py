"""The chain of circular 3x3 filters and rectifiers: against the reference and against the general loops."""

import dataclasses

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.models.kernels import _engine
from priorscope.models.kernels._plan import plan
from priorscope.models.kernels.fused import fused_kernel

M = ps.models


def relative(a, b):
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize(
    "arch,shape",
    [
        (M.gap(3), (3, 8, 8)),
        (M.gap(1, bias_variance=0.3), (2, 3, 3)),  # the least size: every row is the first, the second or the last
        (M.gap(2, bias_variance=0.1, activation=M.ABReLU(-0.4, 0.8)), (2, 4, 11)),  # more displacements than lanes
        (M.gap(4, activation="abs"), (1, 5, 9)),
    ],
)
def test_it_agrees_with_the_reference_and_with_the_general_loops(arch, shape):
    generator = torch.Generator().manual_seed(0)
    x1, x2 = (torch.randn(n, *shape, generator=generator).double() for n in (4, 3))
    x2[0] = x1[1]  # equal images in the two batches
    x1[2, :, 1] = 0.0  # and a black row
    program = plan(arch, shape)
    assert program.chain is not None
    for second in (None, x2):
        expected = arch.kernel(x1, second, path="reference")
        fused = arch.kernel(x1, second)
        single = arch.kernel(x1.float(), None if second is None else second.float())
        plain = fused_kernel(
            dataclasses.replace(program, chain=None),
            x1.numpy(),
            None if second is None else x2.numpy(),
            True,
            np.float64,
        )
        for kind, loops in zip(("nngp", "ntk"), plain):
            assert relative(getattr(fused, kind), getattr(expected, kind)) < 1e-13
            assert relative(getattr(fused, kind), torch.from_numpy(loops)) < 1e-13
            assert relative(getattr(single, kind).double(), getattr(expected, kind)) < 1e-7


def test_other_networks_are_no_chain():
    for arch, shape in (
        (M.vec(2), (3, 8, 8)),
        (M.gap(2, padding="zeros"), (3, 8, 8)),
        (M.gap(2, padding="valid"), (3, 8, 8)),
        (M.gap(2, kernel_size=5), (3, 8, 8)),
        (M.gap(2, activation="erf"), (3, 8, 8)),
        (M.gap(2), (3, 8)),
        (M.gap(2), (3, 2, 8)),
    ):
        assert plan(arch, shape).chain is None


def test_a_wrong_bias_is_seen(monkeypatch):
    arch, shape = M.gap(2, bias_variance=0.1), (2, 4, 4)
    x = torch.randn(3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    wrong = plan(arch, shape)
    wrong.chain[1, 1] += 1e-9
    monkeypatch.setattr(_engine, "plan_or_reason", lambda *_: wrong)
    assert relative(arch.kernel(x).ntk, arch.kernel(x, path="reference").ntk) > 1e-10
