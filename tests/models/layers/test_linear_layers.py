"""Layers without weights are matrices: the kernel of a readout behind them is the inner product of what they give."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import (
    Activation,
    Architecture,
    AvgPool,
    Conv,
    Dense,
    Dropout,
    Flatten,
    GeneralAvgPool,
    GeneralConv,
    GlobalAvgPool,
    GlobalSumPool,
    GroupNorm,
    Identity,
    Scale,
    SumPool,
    ZeroPad,
)

LINE, IMAGE = (2, 9), (2, 6, 9)
LAYERS = [
    (AvgPool(2), LINE),
    (AvgPool(3, 2), IMAGE),
    (SumPool(2), LINE),
    (SumPool(2, 1), IMAGE),
    (SumPool(3), IMAGE),
    (GeneralAvgPool((3,)), LINE),
    (GeneralAvgPool((3,), (2,), (1,)), LINE),
    (GeneralAvgPool((3, 2), (2, 1), (1, 0)), IMAGE),
    (GeneralAvgPool((2, 4), (1, 3), (1, 2), count_padding=False), IMAGE),
    (ZeroPad(((1, 2),)), LINE),
    (ZeroPad(((0, 1), (2, 0))), IMAGE),
    (GlobalAvgPool(), LINE),
    (GlobalAvgPool(), IMAGE),
    (GlobalSumPool(), LINE),
    (GlobalSumPool(), IMAGE),
    (Scale(-1.7), IMAGE),
    (Identity(), IMAGE),
    (Flatten(), IMAGE),
]


@pytest.mark.parametrize(("layer", "shape"), LAYERS)
@pytest.mark.parametrize("path", ["auto", "reference"])
def test_kernels_behind_layers_without_weights(layer, shape, path):
    g = torch.Generator().manual_seed(0)
    x, z = (torch.randn(n, *shape, generator=g, dtype=torch.float64) for n in (3, 2))
    readout = (Dense(2.0, 0.3),) if len(layer.output_shape(shape)) == 1 else (Flatten(), Dense(2.0, 0.3))
    arch = Architecture("linear", (layer, *readout))
    module = arch.network(shape, dtype=torch.float64)[0]
    hx, hz = (module(a).flatten(1) for a in (x, z))
    assert tuple(module(x).shape[1:]) == layer.output_shape(shape)
    want = 2 * hx @ hz.T / hx.shape[1] + 0.3
    found = arch.kernel(x, z, path=path)
    torch.testing.assert_close(found.nngp, want)
    torch.testing.assert_close(found.ntk, want)
    own = arch.kernel(x, path=path)
    torch.testing.assert_close(own.nngp, 2 * hx @ hx.T / hx.shape[1] + 0.3)
    assert arch.kernel(x, kinds="nngp", path=path).ntk is None
    if hasattr(module, "as_layer"):
        assert module.as_layer() == layer


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GeneralAvgPool((3, 3), (1,)), "one or two axes"),
        (lambda: GeneralAvgPool((3,), (1,), (2,)), "at most half"),
        (lambda: GeneralAvgPool((3, 3, 3)), "one or two axes"),
        (lambda: GeneralAvgPool((3,)).output_shape((1, 4, 4)), "does not fit"),
        (lambda: GeneralAvgPool((5,)).output_shape((1, 4)), "does not fit"),
        (lambda: ZeroPad(((1, -1),)), "ZeroPad needs"),
        (lambda: ZeroPad(((1, 1),) * 3), "ZeroPad needs"),
        (lambda: ZeroPad(((1, 1),)).output_shape((1, 4, 4)), "with as many"),
        (lambda: GeneralConv((3, 3), stride=(1,)), "one or two axes"),
        (lambda: GeneralConv((3, 3, 3)), "one or two axes"),
        (lambda: GeneralConv((3,), padding=((1,),)), "one or two axes|padding"),
        (lambda: GeneralConv((3,)).output_shape((1, 4, 4)), "with as many axes"),
        (lambda: GroupNorm(3).module((4, 5), 4, None), "3 groups divide; got 4"),
        (lambda: Scale(float("inf")), "factor"),
        (lambda: SumPool(4).output_shape((1, 3)), "at least 4 pixels"),
    ],
)
def test_settings_that_do_not_fit(make, words):
    with pytest.raises(ValueError, match=words):
        make()
    assert GeneralAvgPool((4,), padding=(2,)).output_shape((1, 4)) == (1, 2)
    assert ZeroPad(((0, 0),)).output_shape((1, 4)) == (1, 4)


@pytest.mark.parametrize("kinds", [("nngp",), ("nngp", "ntk")])
def test_norms_and_masks_with_one_kind_alone(kinds):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(4, 2, 5, generator=g, dtype=torch.float64)
    for layer in (GroupNorm(), Dropout(0.3), Dropout(0.3, whole_channels=True)):
        for tail in ((Flatten(), Dense()), (GlobalAvgPool(), Dense())):
            arch = Architecture("a", (Conv(3), layer, *tail))
            both = arch.kernel(x, path="reference")
            some = arch.kernel(x, kinds=kinds, path="reference")
            assert (some.ntk is None) == (kinds == ("nngp",))
            torch.testing.assert_close(some.nngp, both.nngp)


def test_group_norm_divides_by_the_mean_variance_over_pixels():
    """Behind a convolution the covariances of pixels are those of patches; a flat readout takes the mean over equal pixels."""
    g = torch.Generator().manual_seed(0)
    x, z = (torch.randn(n, 2, 5, generator=g, dtype=torch.float64) for n in (3, 2))
    flat = [a.flatten(1) for a in (x, z)]
    dense = Architecture("flat", (Flatten(), Dense(3.0), GroupNorm(), Activation("erf"), Dense()))
    K = 3 * flat[0] @ flat[1].T / 10
    size = [(3 * a.square().sum(1) / 10 + 1e-12).sqrt() for a in flat]
    unit = (K / (size[0][:, None] * size[1])).clamp(-1, 1)
    want = 2 / torch.pi * torch.asin(2 * unit / 3)  # erf of unit variances: Williams (1997)
    torch.testing.assert_close(dense.kernel(x, z, kinds="nngp").nngp, want, rtol=1e-6, atol=1e-9)


def test_dropout_of_whole_channels_counts_all_pairs_of_pixels():
    """Mean over pixels behind a mask: an input with itself gains 1/(1 - p) at equal pixels, or at all of them."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(3, 2, 5, generator=g, dtype=torch.float64)
    K = torch.einsum("acs,bct->abst", x, x) / 2
    for whole in (False, True):
        factor = torch.ones(3, 3, 5, 5, dtype=torch.float64)
        for i in range(3):
            factor[i, i] = 1 / 0.6 if whole else 1 + (1 / 0.6 - 1) * torch.eye(5, dtype=torch.float64)
        arch = Architecture("masked", (Dropout(0.4, whole_channels=whole), GlobalAvgPool(), Dense()))
        torch.testing.assert_close(arch.kernel(x, path="reference").nngp, (K * factor).mean((2, 3)))
        other = arch.kernel(x, x.clone(), path="reference").nngp
        torch.testing.assert_close(other, K.mean((2, 3)))  # two batches: no input meets itself
