"""assert_invariant passes what is invariant and stops what is not, for systems and for functions."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps
from priorscope.data import groups


def test_systems() -> None:
    data = ps.data.local_features(12, 12, size=4)
    system = ps.System(data, ps.models.vec(depth=1), ps.inference.KernelRegression())
    ps.testing.assert_invariant(system, groups.pixel_orthogonal(data.input_shape), n_inputs=5)
    with pytest.raises(AssertionError, match=r"not invariant under O\(cd\): kernel test"):
        ps.testing.assert_invariant(system, groups.orthogonal(data.input_shape), n_inputs=5)


def test_functions() -> None:
    x = torch.randn(4, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    ps.testing.assert_invariant(lambda x: x.square().sum((1, 2, 3)), groups.orthogonal((3, 4, 4)), inputs=x)
    with pytest.raises(AssertionError, match="outputs change by"):
        ps.testing.assert_invariant(lambda x: x.sum((1, 2, 3)), groups.orthogonal((3, 4, 4)), inputs=x)
    with pytest.raises(ValueError, match="needs inputs="):
        ps.testing.assert_invariant(lambda x: x, groups.orthogonal((3, 4, 4)))
