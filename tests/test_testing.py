import pytest
import torch

from priorscope.testing import assert_equivariant, dense_ntk


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
