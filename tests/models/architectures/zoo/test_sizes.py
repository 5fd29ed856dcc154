"""The zoo's networks have as many parameters as those they are named after."""

from __future__ import annotations

import pytest
import torch

import priorscope as ps

# By hand: 156 + 2,416 + 48,120 + 10,164 + 850 for LeNet-5 with every second-layer map seeing every first-layer map.
# ResNet18 and VGG11 with BatchNorm for CIFAR-10: the counts that the common PyTorch versions for 32 × 32 images print.
PUBLISHED = [
    (ps.models.lenet(normalisation=False), (1, 28, 28), 61_706),
    (ps.models.resnet18(normalisation="batch"), (3, 32, 32), 11_173_962),
    (ps.models.vgg11(normalisation="batch"), (3, 32, 32), 9_231_114),
]


@pytest.mark.parametrize(("model", "shape", "count"), PUBLISHED, ids=lambda v: getattr(v, "name", None))
def test_parameters_are_counted_as_published(model, shape, count):
    network = model.network(shape, outputs=10)
    assert sum(p.numel() for p in network.parameters()) == count
    assert network.eval()(torch.zeros(2, *shape)).shape == (2, 10)


def test_networks_of_one_seed_are_equal_and_of_two_are_not():
    for model in (ps.models.vit(), ps.models.mixer(), ps.models.mlp(), ps.models.small_resnet()):
        first, again, other = (model.network((1, 8, 8), outputs=2, seed=seed) for seed in (0, 0, 1))
        x = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(first.eval()(x), again.eval()(x))
        assert not torch.allclose(first(x), other.eval()(x))


@pytest.mark.parametrize("shape", [(1, 4, 32), (1, 32, 4)])
def test_images_too_flat_or_too_narrow_are_refused(shape):
    with pytest.raises(ValueError, match="needs images"):
        ps.models.lenet().network(shape, outputs=2, seed=0)
