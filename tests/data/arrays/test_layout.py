"""Which axis holds the channels: the rule by hand, arrays both ways round, what is refused."""

import itertools

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from priorscope.data import from_arrays, from_torch
from priorscope.data.arrays._layout import find_layout

FIRST, LAST = "channels_first", "channels_last"


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((32, 32, 3), LAST),
        ((3, 32, 32), FIRST),
        ((28, 28, 1), LAST),
        ((1, 28, 28), FIRST),
        ((4, 5, 3), LAST),
        ((3, 4, 4), FIRST),
        ((1, 4, 4), FIRST),
        ((4, 4, 1), LAST),
        ((2, 2, 3), LAST),
        ((1, 3, 3), FIRST),
        ((3, 3, 1), LAST),
        ((48, 64, 4), LAST),
        ((2, 48, 64), FIRST),
        ((64, 8, 8), FIRST),
        ((8, 8, 64), LAST),
        ((8, 30, 20), FIRST),
        ((30, 20, 8), LAST),
        ((1, 16, 16, 16), FIRST),
        ((16, 16, 16, 2), LAST),
        ((1, 1, 128), FIRST),
        ((128, 1, 1), None),
        ((64, 3, 3), FIRST),
        ((5, 2, 2), FIRST),
        ((3, 32, 3), None),
        ((3, 3, 3), None),
        ((1, 28, 1), None),
        ((8, 8, 8), None),
        ((10, 20, 15), FIRST),
        ((20, 10, 15), None),
        ((1, 128), FIRST),
        ((128, 1), LAST),
        ((3, 64), FIRST),
        ((64, 3), LAST),
        ((500, 12), LAST),
        ((28, 28), "grey"),
        ((28, 60), "grey"),
    ],
)
def test_the_rule_by_hand(shape, layout):
    assert find_layout(shape) == layout


def test_the_rule_is_the_same_from_both_ends():
    """Moving the channels from one end to the other turns the answer round, for every small shape."""
    turned = {FIRST: LAST, LAST: FIRST, None: None, "grey": "grey"}
    for channels, side in itertools.product(range(1, 9), range(2, 9)):
        first, last = find_layout((channels, side, side)), find_layout((side, side, channels))
        assert first == turned[last] == (None if channels == side else FIRST), (channels, side)
    for shape in itertools.product(range(2, 8), repeat=3):
        assert find_layout(shape[::-1]) == turned[find_layout(shape)], shape


@pytest.mark.parametrize("made", [np.asarray, torch.from_numpy, np.ndarray.tolist])
def test_channels_last_is_turned_and_told(made):
    x = np.random.default_rng(0).integers(0, 256, (20, 6, 6, 3), dtype=np.uint8)
    y = np.arange(20) % 2
    data = from_arrays(made(x), y, test=(made(x[:5]), y[:5]))
    scale = 1 if made is np.ndarray.tolist else 255  # a list of Python integers is no array of bytes
    assert data.input_shape == (3, 6, 6)
    assert torch.equal(data.inputs, torch.from_numpy(x.transpose(0, 3, 1, 2).copy()).float() / scale)
    assert torch.equal(data.test.inputs, data.inputs[:5])
    assert data.notes[0] == "inputs (6, 6, 3) are read as 6×6 with 3 channels last, and turned to channels first"
    first = from_arrays(made(x.transpose(0, 3, 1, 2).copy()), y, test=(made(x.transpose(0, 3, 1, 2).copy()), y))
    assert torch.equal(first.inputs, data.inputs)
    assert not first.notes


def test_grey_images_and_signals_are_told():
    x, y = np.random.default_rng(1).normal(size=(12, 7, 9)), np.arange(12) % 2
    assert from_arrays(x, y).notes == ("inputs (7, 9) are read as grey images of 7×9",)
    signals = np.random.default_rng(1).normal(size=(12, 50, 2))
    data = from_arrays(signals, y, test=(signals, y))
    assert data.input_shape == (2, 50)
    torch.testing.assert_close(data.inputs, torch.from_numpy(signals).float().mT.contiguous())
    assert "2 channel(s) and 50 samples: (50, 2) had the channels last" in data.notes[0]
    assert from_arrays(signals, y, layout="grey").input_shape == (1, 50, 2)


def test_an_open_shape_is_refused_and_settled_by_layout():
    x, y = np.random.default_rng(2).normal(size=(10, 3, 32, 3)), np.arange(10) % 2
    with pytest.raises(
        ValueError, match=r"may be 3 channels of 32×3 or 3×32 with 3 channels last\. Say which: layout="
    ):
        from_arrays(x, y)
    assert from_arrays(x, y, layout="channels_first").input_shape == (3, 32, 3)
    last = from_arrays(x, y, layout="channels_last", test=(x, y))
    assert torch.equal(last.inputs, torch.from_numpy(x.transpose(0, 3, 1, 2).copy()).float())
    pairs = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    assert from_torch(pairs, layout="channels_last").input_shape == (3, 3, 32)
    with pytest.raises(
        ValueError, match="layout must be 'channels_first', 'channels_last', 'grey' or 'sequence'; got 'NHWC'"
    ):
        from_arrays(x, y, layout="NHWC")
    with pytest.raises(ValueError, match=r"layout='grey' needs images \(n, height, width\)"):
        from_arrays(x, y, layout="grey")
