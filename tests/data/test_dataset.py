"""Dataset and Split: shapes, subsets, standardisation, bad input by message."""

import pytest
import torch

from priorscope.data import Dataset, Split


def make(n: int = 20, n_test: int = 8, dim: int = 3) -> Dataset:
    x = torch.randn(n + n_test, dim, generator=torch.Generator().manual_seed(0)) * 4 + 1
    y = x.sum(1)
    return Dataset(Split(x[:n], y[:n]), Split(x[n:], y[n:]), name="sum")


def test_subsets_of_one_seed_are_nested_and_differ_between_seeds():
    data = make()
    small, large = data.subset(5, seed=3), data.subset(12, seed=3, n_test=4)
    assert torch.equal(small.inputs, large.inputs[:5])
    assert len(small.test) == 8
    assert len(large.test) == 4
    assert not torch.equal(small.inputs, data.subset(5, seed=4).inputs)
    assert len(torch.unique(large.inputs[:, 0])) == 12


def test_standardised_uses_training_statistics_only():
    data = make()
    out = data.standardised()
    torch.testing.assert_close(out.inputs.mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.inputs.std(0, correction=0), torch.ones(3), atol=1e-5, rtol=0)
    scale = data.inputs.std(0, correction=0)
    torch.testing.assert_close(out.test.inputs, (data.test.inputs - data.inputs.mean(0)) / scale)
    assert (out.test.inputs.mean(0).abs() > 1e-4).any()  # the test split is not centred by itself


def test_standardised_images_go_by_channel_and_constants_are_only_centred():
    x = torch.rand(10, 2, 4, 4, generator=torch.Generator().manual_seed(1))
    x[:, 1] = 0.7
    data = Dataset(Split(x, torch.arange(10.0)), Split(x, torch.arange(10.0))).standardised()
    assert abs(float(data.inputs[:, 0].std(correction=0)) - 1) < 1e-5
    torch.testing.assert_close(data.inputs[:, 1], torch.zeros(10, 4, 4), atol=1e-6, rtol=0)
    assert float(data.inputs[:, 0].std(0).min()) != pytest.approx(1.0, abs=1e-3)  # by channel, not by pixel


def test_with_targets_and_transformed():
    data = make().with_targets(lambda x: x[:, 0].sign())
    assert data.task == "classification"
    assert data.n_outputs == 1
    doubled = data.transformed(lambda x: 2 * x)
    assert torch.equal(doubled.test.inputs, 2 * data.test.inputs)
    assert data.to(torch.float64).inputs.dtype == torch.float64


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.zeros(3), torch.arange(3.0), r"at least two axes; got \(3,\)"),
        (torch.zeros(3, 2), torch.arange(4.0), "3 inputs and 4 targets"),
        (torch.full((3, 2), torch.nan), torch.arange(3.0), "3 of 3 rows hold NaN or infinity"),
        (torch.zeros(3, 2), torch.tensor([0.0, torch.inf, 1.0]), r"targets must be finite.*row 1"),
        (torch.zeros(3, 2, dtype=torch.int64), torch.arange(3.0), "floating-point tensors"),
        (torch.zeros(3, 0), torch.arange(3.0), "at least one feature"),
        (torch.zeros(3, 2), torch.zeros(3, 1, 1), "targets must have shape"),
    ],
)
def test_split_says_what_is_wrong(x, y, message):
    with pytest.raises(ValueError, match=message):
        Split(x, y)


def test_dataset_says_what_is_wrong():
    good = Split(torch.zeros(3, 2), torch.arange(3.0))
    with pytest.raises(ValueError, match="targets are constant"):
        Dataset(Split(torch.zeros(3, 2), torch.ones(3)), good)
    with pytest.raises(ValueError, match="at least 2 training samples; got 1"):
        Dataset(Split(torch.zeros(1, 2), torch.ones(1)), good)
    with pytest.raises(ValueError, match="same input shape"):
        Dataset(good, Split(torch.zeros(3, 5), torch.arange(3.0)))
    with pytest.raises(ValueError, match=r"2 <= n <= 20.*got n = 21"):
        make().subset(21)
    with pytest.raises(ValueError, match="n_test = 9"):
        make().subset(5, n_test=9)
    with pytest.raises(ValueError, match="per must be"):
        make().standardised(per="pixel")


@pytest.mark.parametrize("shape, per", [((5,), "feature"), ((2, 3, 4), "channel"), ((2, 7), "all")])
def test_standardised_inputs_are_those_of_numpy(shape, per):
    """Few samples, so that dividing by n or by n - 1 is not the same."""
    x = torch.randn(6, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3 + 2
    data = Dataset(Split(x[:4], x[:4].flatten(1).sum(1)), Split(x[4:], x[4:].flatten(1).sum(1)), name="few")
    axes = {"feature": 0, "channel": (0, 2, 3), "all": None}[per]
    train = x[:4].numpy()
    want = (x[4:].numpy() - train.mean(axes, keepdims=True)) / train.std(axes, keepdims=True)
    assert torch.allclose(data.standardised(per=per).test.inputs, torch.from_numpy(want))
