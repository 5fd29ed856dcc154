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


def test_changes_are_judged_by_the_spread_of_the_outputs() -> None:
    x = torch.randn(6, 1, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shifts = groups.translations((1, 4))

    def nearly(error: float, offset: float = 0.0):
        def call(v: torch.Tensor) -> torch.Tensor:
            kept = v.sum((1, 2))
            return offset + kept + error * kept.std() * v[:, 0, 0].tanh()

        return call

    ps.testing.assert_invariant(nearly(1e-9), shifts, inputs=x)
    with pytest.raises(AssertionError, match="outputs change by .*, their spread is"):
        ps.testing.assert_invariant(nearly(1e-3), shifts, inputs=x)
    ps.testing.assert_invariant(nearly(1e-3), shifts, inputs=x, tolerance=0.01)
    with pytest.raises(AssertionError):  # a large mean does not hide a change as large as the spread
        ps.testing.assert_invariant(nearly(1.0, offset=1e4), shifts, inputs=x)
    ps.testing.assert_invariant(lambda v: torch.full((len(v), 2), 3.0), shifts, inputs=x)


def test_as_many_elements_are_tried_as_asked() -> None:
    x = torch.randn(3, 1, 40, generator=torch.Generator().manual_seed(0))
    for n in (1, 5):
        seen: list[torch.Tensor] = []
        ps.testing.assert_invariant(
            lambda v, seen=seen: (seen.append(v), v.sum((1, 2)))[1],
            groups.translations((1, 40)),
            inputs=x,
            n_elements=n,
        )
        assert len(seen) == n + 1
    draws = []
    for seed in (0, 1, 0):
        seen = []
        group = groups.orthogonal((1, 40))
        ps.testing.assert_invariant(
            lambda v, seen=seen: (seen.append(v), v.square().sum((1, 2)))[1], group, inputs=x, n_elements=1, seed=seed
        )
        draws.append(seen[1])
    assert torch.equal(draws[0], draws[2])
    assert not torch.equal(draws[0], draws[1])
    with pytest.raises(TypeError, match="options go to systems only"):
        ps.testing.assert_invariant(lambda v: v, groups.translations((1, 40)), inputs=x, n_inputs=3)
