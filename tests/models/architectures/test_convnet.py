"""Convolutional networks that differ in one thing, and dense ones: parts, sizes, refusals."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from priorscope.models import convnet, dense, lenet


def kinds(network):
    return [type(part).__name__ for part in network.modules()]


@pytest.mark.parametrize("pooling", ["max", "average", "stride", "none"])
@pytest.mark.parametrize("readout", ["flatten", "mean"])
def test_every_pooling_and_readout_runs_on_odd_and_even_sides(pooling, readout):
    for side in (8, 11):
        net = convnet(2, 2, pooling, True, True, readout).network((3, side, side), width=4, outputs=5)
        assert net(torch.randn(2, 3, side, side)).shape == (2, 5)
    assert ("MaxPool2d" in kinds(net)) is (pooling == "max")
    assert ("AvgPool2d" in kinds(net)) is (pooling == "average")


def test_parameters_by_hand():
    net = convnet(2).network((1, 8, 8), width=4, outputs=3)  # 1→4, 4→8, 8·2·2→3
    assert sum(p.numel() for p in net.parameters()) == (9 + 1) * 4 + (36 + 1) * 8 + (32 + 1) * 3
    assert sum(isinstance(part, nn.Linear) for part in dense(6).network((1, 8, 8)).modules()) == 7


def test_a_shortcut_adds_the_input():
    net = convnet(1, 2, "none", skips=True).network((1, 4, 4), width=2, outputs=1)
    around = next(part for part in net if type(part).__name__ == "_Around")
    x = torch.randn(2, 2, 4, 4)
    torch.testing.assert_close(around(x), x + around.body(x))


def test_max_pools_of_lenet_and_refusals():
    assert "MaxPool2d" in kinds(lenet(pooling="max").network((1, 28, 28)))
    assert "MaxPool2d" not in kinds(lenet().network((1, 28, 28)))
    with pytest.raises(ValueError, match="lenet pools by 'average' or 'max'; got 'median'"):
        lenet(pooling="median")
    with pytest.raises(ValueError, match="pooling must be one of max, average, stride, none"):
        convnet(pooling="median")
    with pytest.raises(ValueError, match="readout must be 'flatten' or 'mean'"):
        convnet(readout="sum")
    with pytest.raises(ValueError, match="at least 8x8 pixels"):
        convnet(3).network((1, 4, 4))
