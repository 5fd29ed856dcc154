"""Every argument of a network away from its default: parameters counted by hand, layers looked up, outputs compared."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope.models import convnet, dense, group_cnn, lap, lcn, lenet, mixer, plain_network, resnet18, vgg11, vit


def count(network):
    return sum(p.numel() for p in network.parameters())


def kinds(network, kind):
    return [m for m in network.modules() if isinstance(m, kind)]


def test_dense():
    for depth, width in ((4, 64), (2, 5), (1, 7)):
        net = dense(depth, width).network((3, 2, 2), outputs=3)
        assert count(net) == 13 * width + (depth - 1) * (width + 1) * width + (width + 1) * 3
        assert dense(depth, width).name == f"dense-{depth}"
    x = torch.randn(4, 12, generator=torch.Generator().manual_seed(0))
    nets = [dense(1, 5, activation).network((12,), seed=1) for activation in ("relu", "tanh")]
    for net, phi in zip(nets, (torch.relu, torch.tanh)):
        torch.testing.assert_close(net(x), net[-1](phi(net[1](x))))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_stages_of_a_convnet(depth):
    net = convnet(2, depth, activation="tanh", normalisation="group", skips=depth > 1).network((3, 8, 8), width=6)
    sides = [(3, 6), *[(6, 6)] * (depth - 1), (6, 12), *[(12, 12)] * (depth - 1)]
    weights = [tuple(c.weight.shape) for c in kinds(net, nn.Conv2d)]
    assert weights == [(after, before, 3, 3) for before, after in sides]
    assert [(g.num_groups, g.num_channels) for g in kinds(net, nn.GroupNorm)] == [
        (2 if after == 6 else 4, after) for _, after in sides
    ]
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert not torch.allclose(net(x), convnet(2, depth, normalisation="group").network((3, 8, 8), width=6)(x))


def test_transformers_and_mixers():
    """Patches of p², an embedding, and per block 4 w² of attention and 4 w² of a perceptron, besides biases and norms."""
    w, shape, outputs = 8, (2, 12, 6), 3
    for depth, patch, heads in ((4, 3, 4), (1, 3, 4), (2, 6, 2), (2, 2, 1)):
        tokens = 72 // patch**2
        start, end = w * (2 * patch**2 + 1), 2 * w + (w + 1) * outputs
        perceptron = (w + 1) * 2 * w + (2 * w + 1) * w
        attention = (w + 1) * 3 * w + (w + 1) * w
        net = vit(depth, patch, heads).network(shape, width=w, outputs=outputs)
        assert count(net) == start + tokens * w + depth * (attention + perceptron + 4 * w) + end
        assert {m.heads for m in net.modules() if hasattr(m, "heads")} == {heads}
        mixing = (tokens + 1) * w + (w + 1) * tokens
        net = mixer(depth, patch).network(shape, width=w, outputs=outputs)
        assert count(net) == start + depth * (mixing + perceptron + 4 * w) + end
    bare = vit(1, 3, normalisation=False).network(shape, width=w, outputs=outputs)
    assert not kinds(bare, nn.LayerNorm)
    for shape in ((1, 12, 7), (1, 7, 12)):
        with pytest.raises(ValueError, match="patch=3 must divide the image sides"):
            vit(1, 3).network(shape)


def test_heads_of_attention_do_not_see_each_other():
    """With two heads the first half of the values depends on the first half of queries and keys alone."""
    net = vit(1, 3, 2, normalisation=False).network((1, 6, 6), width=8)
    attention = net[1].body
    x = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))
    q, k, v = (attention.inward(x)[..., 8 * i : 8 * (i + 1)] for i in range(3))
    mixed = [torch.softmax(q[..., h] @ k[..., h].mT / 2, -1) @ v[..., h] for h in (slice(0, 4), slice(4, 8))]
    torch.testing.assert_close(attention(x), attention.outward(torch.cat(mixed, -1)))


@pytest.mark.parametrize("side", [(16, 16), (15, 16), (16, 15), (17, 40), (8, 30)])
def test_lenet_pads_its_second_layer_where_the_smaller_side_is_short(side):
    net = lenet("tanh", normalisation="group", pooling="max").network((1, *side), outputs=4)
    assert kinds(net, nn.Conv2d)[1].padding == ((0, 0) if min(side) >= 16 else (2, 2))
    assert len(kinds(net, nn.MaxPool2d)) == 2
    assert len(kinds(net, nn.GroupNorm)) == 2
    assert net(torch.zeros(2, 1, *side)).shape == (2, 4)


def test_vgg_halves_as_long_as_the_smaller_side_lasts():
    for side, pools in (((4, 4), 2), ((8, 4), 2), ((4, 8), 2), ((8, 8), 3), ((32, 64), 5)):
        assert len(kinds(vgg11(normalisation=False).network((1, *side), width=2), nn.MaxPool2d)) == pools


def test_shortcuts_of_a_resnet_are_convolutions_where_shapes_change():
    net = resnet18(normalisation=False).network((3, 8, 8), width=4)
    blocks = [m for m in net if hasattr(m, "shortcut")]
    assert [isinstance(b.shortcut, nn.Identity) for b in blocks] == [True, True, False, True, False, True, False, True]
    from priorscope.models.architectures.zoo._resnet import Block

    for n_in, n_out, stride, plain in ((4, 4, 1, True), (4, 4, 2, False), (4, 8, 1, False), (4, 8, 2, False)):
        block = Block(n_in, n_out, stride, "relu", False)
        assert isinstance(block.shortcut, nn.Identity) == plain
        assert block(torch.zeros(1, n_in, 8, 8)).shape == (1, n_out, 8 // stride, 8 // stride)


def test_ensembles_of_finite_models():
    how = {"initialisation": "antisymmetric", "dtype": torch.float64}
    found = dense(1, 4).ensemble((3,), seeds=[2, 5], **how)
    x = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert found(x).dtype == torch.float64
    torch.testing.assert_close(found(x), torch.zeros(2, 4, 1, dtype=torch.float64))  # antisymmetric: zero at first
    plain = dense(1, 4).ensemble((3,), seeds=[2, 5], dtype=torch.float64)
    torch.testing.assert_close(plain(x)[1], dense(1, 4).network((3,), seed=5, dtype=torch.float64)(x))
    assert plain(x).abs().min() > 0
    for bad, words in (({"parametrisation": "ntk"}, "torch's own"), ({"initialisation": "zero"}, "got 'zero'")):
        with pytest.raises(ValueError, match=words):
            dense(1, 4).network((3,), **bad)
        with pytest.raises(ValueError, match=words):
            dense(1, 4).ensemble((3,), **bad)


def test_named_architectures_hand_their_arguments_on():
    settings = {"activation": "erf", "weight_variance": 1.7, "bias_variance": 0.3, "kernel_size": 5, "padding": "zeros"}
    for make, first in ((lcn, "LocallyConnected"), (lap, "Conv"), (ps.models.vec, "Conv"), (ps.models.gap, "Conv")):
        layers = make(2, **settings).layers
        assert type(layers[0]).__name__ == first
        assert (layers[0].kernel_size, layers[0].padding) == (5, "zeros")
        for layer in (layers[0], layers[2], layers[-1]):
            assert (layer.weight_variance, layer.bias_variance) == (1.7, 0.3)
        assert layers[1] == layers[3] == ps.models.Activation("erf")
    layers = group_cnn(2, "p4m", **settings).layers
    assert layers[0] == layers[2]
    assert (layers[0].kernel_size, layers[0].padding, layers[0].weight_variance, layers[0].bias_variance) == (
        5,
        "zeros",
        1.7,
        0.3,
    )
    assert layers[1] == layers[3] == ps.models.Activation("erf")
    assert (layers[-1].weight_variance, layers[-1].bias_variance) == (1.7, 0.3)
    assert lap(1, window=3).layers[-3].window == 3


def test_plain_networks():
    net = plain_network(3, 5, 2, outputs=2, gain=4.0, seed=3)
    assert count(net) == 4 * 5 + 6 * 5 + 6 * 2
    first, second, last = kinds(net, nn.Linear)
    torch.testing.assert_close(last.weight @ last.weight.T, 16 * torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(second.weight @ second.weight.T, torch.eye(5, dtype=torch.float64))
    torch.testing.assert_close(first.weight[:3] @ first.weight[:3].T, torch.eye(3, dtype=torch.float64))
    other = plain_network(3, 5, 2, outputs=2, seed=4)
    assert (kinds(other, nn.Linear)[1].weight - second.weight).abs().max() > 0.1
    again = plain_network(3, 5, 2, outputs=2, seed=3)
    torch.testing.assert_close(kinds(again, nn.Linear)[2].weight * 4, last.weight)
    assert len(kinds(plain_network(3, 5, 2, activation="tanh"), nn.Tanh)) == 2
    with pytest.raises(ValueError, match="activation must be one of relu, tanh, linear; got 'gelu'"):
        plain_network(3, 5, 2, activation="gelu")


def test_everyday_networks_read_images_row_by_row():
    image, row = torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(0)), torch.randn(2, 6)
    for make in (ps.models.transformer_network, ps.models.lstm_network):
        net = make((3, 5, 7), 4)
        assert net(image).shape == (2, 4)
        assert make((6,), 4)(row).shape == (2, 4)
    lstm = ps.models.lstm_network((3, 5, 7), 4)
    tokens = torch.stack([image[:, :, r].flatten(1) for r in range(5)], 1)  # (n, rows, channels × columns)
    torch.testing.assert_close(lstm(image), lstm.head(lstm.lstm(tokens)[0][:, -1]))
    flat = ps.models.lstm_network((6,), 4)
    torch.testing.assert_close(flat(row), flat.head(flat.lstm(row[..., None])[0][:, -1]))
    for shape, norm, weights in (((6,), nn.BatchNorm1d, 6 * 64), ((3, 5, 7), nn.BatchNorm2d, 3 * 16 * 9)):
        net = ps.models.normalised_network(shape, 4)
        assert len(kinds(net, norm)) == 2
        assert net[0].weight.numel() == weights
        assert net(torch.zeros(3, *shape)).shape == (3, 4)
