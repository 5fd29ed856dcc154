"""Branches added, multiplied and put side by side: kernels and modules by hand; gradients of weights in their forms."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import (
    Activation,
    Architecture,
    AvgPool,
    Concatenate,
    Conv,
    Dense,
    Flatten,
    GlobalAvgPool,
    Identity,
    ParallelSum,
    Product,
    Sequential,
)
from priorscope.models.layers import _tangent_forms as forms

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Z = torch.randn(2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
BRANCHES = (Dense(1.0), Dense(2.0, 0.5), Dense(3.0))


def by_hand():
    K = X @ Z.T / 3
    return [K, 2 * K + 0.5, 3 * K]


def test_three_branches_added():
    found = Architecture("sum", (ParallelSum(BRANCHES),)).kernel(X, Z)
    parts = by_hand()
    torch.testing.assert_close(found.nngp, sum(parts))
    torch.testing.assert_close(found.ntk, sum(parts))  # one layer: the tangent kernel is that of the outputs
    alone = Architecture("sum", (ParallelSum(BRANCHES),)).kernel(X, Z, kinds=("nngp",))
    assert alone.ntk is None
    torch.testing.assert_close(alone.nngp, sum(parts))
    net = Architecture("sum", (ParallelSum(BRANCHES),)).network((3,), outputs=2, dtype=torch.float64)
    torch.testing.assert_close(net(X), sum(branch(X) for branch in net[0].branches))


def test_three_branches_multiplied():
    gate = Architecture("product", (Product(BRANCHES), Dense()))
    a, b, c = by_hand()
    found = gate.kernel(X, Z)
    torch.testing.assert_close(found.nngp, a * b * c)
    torch.testing.assert_close(found.ntk, a * b * c * 4)  # three branches and the readout, each as large
    assert gate.kernel(X, Z, kinds=("nngp",)).ntk is None
    net = gate.network((3,), width=5, dtype=torch.float64)
    one, two, three = net[0].branches
    torch.testing.assert_close(net[0](X), one(X) * two(X) * three(X))
    with pytest.raises(ValueError, match="Gaussian|Dense or Conv"):
        Architecture("bad", (Product(BRANCHES), Activation("relu"), Dense())).kernel(X, Z)
    lone = Architecture("lone", (Product((Dense(2.0),)), Activation("relu"), Dense()))
    torch.testing.assert_close(
        lone.kernel(X, Z).ntk, Architecture("d", (Dense(2.0), Activation("relu"), Dense())).kernel(X, Z).ntk
    )


def test_branches_side_by_side():
    shares = (0.2, 0.3, 0.5)
    found = Architecture("both", (Concatenate(BRANCHES, shares), Dense())).kernel(X, Z)
    a, b, c = by_hand()
    torch.testing.assert_close(found.nngp, 0.2 * a + 0.3 * b + 0.5 * c)
    even = Architecture("both", (Concatenate(BRANCHES), Dense())).kernel(X, Z)
    torch.testing.assert_close(even.nngp, (a + b + c) / 3)
    net = Architecture("both", (Concatenate(BRANCHES), Dense())).network((3,), width=4, dtype=torch.float64)
    assert net[0](X).shape == (4, 12)
    for bad in ((0.5, 0.5), (0.5, 0.7, -0.2), (0.5, 0.4, 0.2), (0.5, 0.3, 0.1)):
        with pytest.raises(ValueError, match="one share of the channels per branch|needs shares with every entry"):
            Concatenate(BRANCHES, bad)


@pytest.mark.parametrize("turned", [False, True])
def test_a_branch_of_the_inputs_beside_a_wide_one_is_as_wide_as_that(turned):
    """Inputs have finitely many channels; a sum or product with a wide layer has as many as the layer: half of the two."""
    K = X @ Z.T / 3
    pair = (Dense(), Identity()) if turned else (Identity(), Dense())
    added = Architecture("a", (Concatenate((ParallelSum(pair), Dense())), Dense())).kernel(X, Z, kinds="nngp").nngp
    torch.testing.assert_close(added, (2 * K + K) / 2)
    gated = Architecture("p", (Concatenate((Product(pair), Dense())), Dense())).kernel(X, Z, kinds="nngp").nngp
    torch.testing.assert_close(gated, (K * K + K) / 2)


@pytest.mark.parametrize(
    ("states", "added", "multiplied"),
    [
        ((True, True), True, True),
        ((True, None), None, True),
        ((None, True), None, True),
        ((True, False), False, True),
        ((None, False), False, False),
        ((None, None), None, None),
        ((False, False), False, False),
    ],
)
def test_what_is_centred(states, added, multiplied):
    """Sums are centred where all parts are, products where one independent part is; unknown where an unknown part decides."""
    of = {True: Dense(), None: Identity(), False: Activation("relu")}
    assert [of[s].centres for s in (True, None, False)] == [True, None, False]
    branches = tuple(of[s] for s in states)
    assert ParallelSum(branches).centres is added
    assert Concatenate(branches).centres is added
    assert Product(branches).centres is multiplied


def test_branches_that_do_not_fit():
    for kind in (ParallelSum, Product, Concatenate):
        for bad in ((), (Dense(), "relu")):
            with pytest.raises(TypeError, match="one or more layers as branches"):
                kind(bad)
        odd = kind((Sequential((Conv(3), AvgPool(2))), Conv(3)))
        with pytest.raises(ValueError, match="branches with the same pixels"):
            odd.output_shape((1, 8), 4)
        with pytest.raises(ValueError, match="same pixels"):
            Architecture("odd", (odd, Flatten(), Dense())).kernel(torch.zeros(2, 1, 8))
    with pytest.raises(ValueError, match="branches with one shape"):
        Architecture("odd", (ParallelSum((Identity(), Dense())), Dense())).network((3,), width=4)
    wide = Architecture("wide", (Concatenate((Identity(), Dense())), Dense())).network((3,), width=4)
    assert wide[0](X.float()).shape == (4, 7)
    with pytest.raises(ValueError, match="uncorrelated"):
        Architecture("tied", (Dense(), ParallelSum((Activation("relu"), Activation("erf"))), Dense())).kernel(X, Z)


def test_a_pooled_branch_needs_all_pairs_of_pixels():
    """The mean over pixels of one branch and a flat readout of the other: the sum of the two kernels."""
    g = torch.Generator().manual_seed(2)
    x, z = (torch.randn(n, 1, 6, generator=g, dtype=torch.float64) for n in (3, 2))
    pooled, flat = (Conv(3), GlobalAvgPool(), Dense()), (Conv(3), Flatten(), Dense())
    both = Architecture("both", (ParallelSum((Sequential(pooled), Sequential(flat))),)).kernel(x, z)
    parts = [Architecture("one", layers).kernel(x, z) for layers in (pooled, flat)]
    torch.testing.assert_close(both.nngp, parts[0].nngp + parts[1].nngp)
    torch.testing.assert_close(both.ntk, parts[0].ntk + parts[1].ntk)


def test_dense_layers_act_on_every_pixel_alike():
    layer = Dense(2.0, 0.5)
    assert layer.output_shape((3, 4, 5), 7) == (7, 4, 5)
    for parametrisation in ("ntk", "standard"):
        net = Architecture("d", (layer, Flatten(), Dense())).network(
            (3, 4), width=6, parametrisation=parametrisation, dtype=torch.float64
        )
        first, x = net[0], torch.randn(2, 3, 4, dtype=torch.float64)
        want = torch.stack(
            [x[:, :, p] @ first.weight.T * first.scale + first.bias_scale * first.bias for p in range(4)], 2
        )
        torch.testing.assert_close(first(x), want)
        torch.testing.assert_close(first(x[:, :, 0]), want[:, :, 0])
        assert first.scale == pytest.approx((2 / 3) ** 0.5 if parametrisation == "ntk" else 1.0)
        assert first.bias_scale == pytest.approx(0.5**0.5 if parametrisation == "ntk" else 1.0)


# -- forms of gradients ------------------------------------------------------------------------------------------------


def product(n, positions, seed):
    g = torch.Generator().manual_seed(seed)
    a = torch.randn(n, positions, 3, generator=g, dtype=torch.float64)
    return forms.Product(a, torch.randn(n, 2, positions, 4, generator=g, dtype=torch.float64))


@pytest.mark.parametrize("outputs", ["sum", "logit", "full"])
@pytest.mark.parametrize("positions", [1, 3])
def test_grams_of_forms_are_those_of_the_gradients_written_out(outputs, positions):
    left, right = product(5, positions, 0), product(2, positions, 1)
    J, K = left.explicit().jacobian, right.explicit().jacobian  # (n, outputs, weights)
    pattern = {"sum": "ncq,mcq->nm", "logit": "ncq,mcq->nmc", "full": "ncq,mdq->nmcd"}[outputs]
    want = torch.einsum(pattern, J, K)
    torch.testing.assert_close(left.gram(right, outputs), want)
    torch.testing.assert_close(left.explicit().gram(right.explicit(), outputs), want)
    one = forms.inner_products(J[:, :1], K[:, :1], outputs)
    torch.testing.assert_close(one, torch.einsum(pattern, J[:, :1], K[:, :1]))
    local = [forms.Local(p.activations, p.deltas) for p in (left, right)]
    J, K = (p.explicit().jacobian for p in local)
    torch.testing.assert_close(local[0].gram(local[1], outputs), torch.einsum(pattern, J, K))


def test_forms_of_one_parameter_used_twice_add_up():
    a, b, c = product(4, 2, 0), product(4, 3, 1), product(4, 1, 2)
    want = sum(f.explicit().jacobian for f in (a, b, c))
    joined = forms.combine([a, b, c])
    assert isinstance(joined, forms.Product)
    torch.testing.assert_close(joined.explicit().jacobian, want)
    mixed = forms.combine([a, b.explicit(), c])
    assert isinstance(mixed, forms.Explicit)
    torch.testing.assert_close(mixed.jacobian, want)
    own = forms.Local(a.activations, a.deltas)
    assert forms.combine([own]) is own  # nothing is written out without need


def test_forms_of_batches_are_joined_in_their_order():
    a, b = product(4, 2, 0), product(3, 2, 1)
    want = torch.cat([a.explicit().jacobian, b.explicit().jacobian])
    torch.testing.assert_close(forms.concatenate([a, b]).explicit().jacobian, want)
    torch.testing.assert_close(forms.concatenate([a.explicit(), b.explicit()]).jacobian, want)
    local = forms.concatenate([forms.Local(p.activations, p.deltas) for p in (a, b)])
    assert isinstance(local, forms.Local)
    assert local.activations.shape == (7, 2, 3)
    assert forms.concatenate([a]) is a


def test_bytes_are_those_of_the_tensors():
    a = product(4, 2, 0)
    assert a.n_bytes == 8 * (4 * 2 * 3 + 4 * 2 * 2 * 4)
    assert forms.Local(a.activations.float(), a.deltas.float()).n_bytes == 4 * (24 + 64)
    assert a.explicit().n_bytes == 8 * 4 * 2 * 12
