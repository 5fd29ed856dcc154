import numpy as np
import pytest
import torch

from priorscope.data import groups
from priorscope.testing import assert_equivariant, dense_flow, dense_kernel_regression, dense_ntk


def roll(x):
    return x.roll(1, -1)


def test_equivariance_is_seen_and_its_absence_too():
    torch.manual_seed(0)
    x = torch.randn(4, 1, 8)
    circular = torch.nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")
    assert_equivariant(circular, x, roll, roll)
    zeros = torch.nn.Conv1d(1, 2, 3, padding=1)
    with pytest.raises(AssertionError, match=r"not equivariant: f\(g x\) and g f\(x\) differ by up to"):
        assert_equivariant(zeros, x, roll, roll)
    with pytest.raises(ValueError, match="leaves all of these inputs as they are"):
        assert_equivariant(circular, torch.ones(2, 1, 8), roll, roll)
    with pytest.raises(AssertionError, match="check act_output"):
        assert_equivariant(circular, x, roll, lambda v: v[:, :1])


def test_the_dense_tangent_kernel_of_a_linear_map_is_the_gram_matrix():
    x, z = torch.randn(5, 3), torch.randn(2, 3)
    torch.testing.assert_close(dense_ntk(torch.nn.Linear(3, 1), x, z), x @ z.mT + 1)


def test_the_allowance_is_in_units_of_the_outputs():
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    size = float(x.square().mean().sqrt())

    def nearly(error):
        return lambda v: (
            v + error * size * (v.argmax(1, keepdim=True) == 0)
        )  # one entry in six, where the first is largest

    for factor in (1.0, 1e6):
        assert_equivariant(lambda v, factor=factor: factor * v, x, roll)
    wrong = nearly(1e-3)
    with pytest.raises(
        AssertionError, match=r"differ by up to 0\.00\d+.* of the outputs' root mean square; allowed is 0.0005"
    ):
        assert_equivariant(wrong, x, roll, relative=5e-4)
    assert_equivariant(wrong, x, roll, relative=2e-3)
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(wrong, x, roll)  # 1e-4 unless told
    assert_equivariant(lambda v: v.sum(1), x, roll, "invariant")
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(lambda v: v.cumsum(1), x, roll, "invariant")
    with pytest.raises(ValueError, match="'same' or 'invariant'"):
        assert_equivariant(lambda v: v, x, roll, "turned")


def test_every_element_of_a_group_is_tried():
    x = torch.randn(3, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    for name in ("p4", groups.quarter_turns((1, 4, 4))):
        assert_equivariant(lambda v: v.square(), x, name)
        with pytest.raises(AssertionError, match="not equivariant"):  # half a turn is fine, a quarter is not
            assert_equivariant(lambda v: v.sum(3, keepdim=True).expand_as(v), x, name)
    tried = []
    turns = groups.quarter_turns((1, 4, 4)).elements()

    def note(v):
        tried.extend(i for i, g in enumerate(turns) if torch.equal(v, g(x)))
        return v

    assert_equivariant(note, x, "p4")
    assert set(tried) == {0, 1, 2, 3}


def test_dense_oracles_by_hand():
    x, z = torch.randn(4, 2, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    network = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).double()
    network[0].bias.requires_grad_(False)

    def slopes(rows):
        weights = [p for p in network.parameters() if p.requires_grad]
        return torch.stack(
            [torch.cat([g.flatten() for g in torch.autograd.grad(network(row)[0], weights)]) for row in rows]
        )

    torch.testing.assert_close(dense_ntk(network, x, z), slopes(x) @ slopes(z).mT)
    torch.testing.assert_close(dense_ntk(network, x), slopes(x) @ slopes(x).mT)
    K, y = torch.tensor([[2.0, 1.0], [1.0, 3.0]]), torch.tensor([[1.0], [2.0]])
    found = dense_kernel_regression(
        K, torch.tensor([[1.0, 0.0]]), y, ridge=1.0
    )  # the inverse of [[3, 1], [1, 4]], over 11
    torch.testing.assert_close(found, torch.tensor([[(4 - 2) / 11]], dtype=torch.float64))
    torch.testing.assert_close(dense_kernel_regression(K, K, y), y.double())
    turned = dense_flow(lambda w: np.array([-w[1], w[0]]), np.array([1.0, 0.0]), np.pi / 2)
    np.testing.assert_allclose(turned, [0.0, 1.0], atol=1e-6)
    rough = dense_flow(lambda w: np.array([-w[1], w[0]]), np.array([1.0, 0.0]), np.pi / 2, rtol=1e-2, atol=1e-2)
    assert 1e-5 < np.abs(rough - [0.0, 1.0]).max() < 0.1
