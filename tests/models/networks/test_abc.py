"""Parametrisations (a, b, c): the table of the source, its stability conditions one by one, and the networks drawn so."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import ABCNetwork, ABCParametrisation, abc_parametrisation


@pytest.mark.parametrize(
    ("a", "b", "c", "update", "regime"),
    [
        ((0.0, 0.5, 0.5), (0.0, 0.0, 0.0), 0.0, 0.5, "kernel"),  # NTK
        ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), 1.0, 0.5, "kernel"),  # standard, at its largest stable rate
        ((-0.5, 0.0, 0.5), (0.5, 0.5, 0.5), 0.0, 0.0, "feature"),  # maximal update
        ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), 0.0, -1.0, "unstable"),  # standard at a rate that does not shrink
        ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), 2.0, 1.5, "trivial"),  # at one that shrinks too fast
        ((-0.5, 0.0, 0.5), (0.4, 0.5, 0.5), 0.0, 0.0, "unstable"),  # the first layer blows up
        ((-0.5, 0.0, 0.5), (0.6, 0.5, 0.5), 0.0, 0.0, "unstable"),  # or vanishes
        ((-0.5, 0.0, 0.5), (0.5, 0.6, 0.5), 0.0, 0.0, "unstable"),  # an inner layer vanishes
        ((-0.5, 0.0, 0.5), (0.5, 0.4, 0.5), 0.0, 0.0, "unstable"),  # or blows up
        ((-0.5, 0.25, 0.5), (0.5, 0.25, 0.5), 0.0, 0.0, "feature"),  # scales may move between a and b
        ((-0.5, 0.0, 0.5), (0.5, 0.5, -0.1), 0.0, -0.6, "unstable"),  # the output blows up at the start
        ((-0.5, 0.0, 0.5), (0.5, 0.5, 2.0), 0.0, 0.0, "feature"),  # it may start at zero: 2a + c = 1 still moves
        ((0.0, 0.5, 0.5), (0.0, 0.0, 2.0), 0.0, 1.0, "kernel"),
        ((0.0, 0.5, 0.25), (0.0, 0.0, 0.25), 0.0, 0.5, "unstable"),  # 2a + c below one: the output runs away
        ((-0.5, 0.0, 1.0), (0.5, 0.5, -0.5), 0.0, -0.5, "unstable"),
        ((-0.25, 0.0, 0.5), (0.25, 0.5, 0.5), 0.0, 0.0, "feature"),
        ((-0.5, 0.0, 1.0), (0.5, 0.5, 0.0), 0.0, 0.0, "feature"),
        ((-0.25, 0.0, 1.0), (0.25, 0.5, 0.0), 0.0, 0.0, "feature"),
        ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0), 0.0, 1.0, "trivial"),
    ],
)
def test_regimes_by_the_conditions_of_the_source(a, b, c, update, regime):
    """r = min(a' + b', 2a' + c) + c - 1 + min(2a_1 + 1, 2a_l) by hand, and the regime that follows from Theorem 3.3."""
    found = ABCParametrisation("own", a, b, c)
    by_hand = min(a[-1] + b[-1], 2 * a[-1] + c) + c - 1 + min(2 * a[0] + 1, 2 * a[1])
    assert found.update == pytest.approx(by_hand)
    stable = (
        abs(a[0] + b[0]) < 1e-9
        and abs(a[1] + b[1] - 0.5) < 1e-9
        and a[-1] + b[-1] >= 0.5
        and by_hand >= 0
        and 2 * a[-1] + c >= 1
        and a[-1] + b[-1] + by_hand >= 1
    )
    moves = a[-1] + b[-1] + by_hand == 1 or 2 * a[-1] + c == 1
    expected = ("feature" if by_hand == 0 else "kernel") if moves else "trivial"
    assert found.regime == (expected if stable else "unstable") == regime
    assert found.update == pytest.approx(update)


def test_names_and_refusals():
    for depth in (1, 2, 4):
        assert abc_parametrisation("ntk", depth).regime == abc_parametrisation("standard", depth).regime == "kernel"
        assert abc_parametrisation("mup", depth).regime == "feature"
        assert len(abc_parametrisation("mup", depth).a) == depth + 1
    with pytest.raises(ValueError, match="a parametrisation is one of 'standard', 'ntk', 'mup'; got 'mean'"):
        abc_parametrisation("mean", 2)
    for a, b in (((0.0,), (0.0,)), ((0.0, 0.5), (0.0,)), ((0.0, 0.5), (0.0, 0.5, 0.5))):
        with pytest.raises(ValueError, match="one a and one b per layer"):
            ABCParametrisation("own", a, b, 0.0)


@pytest.mark.parametrize("name", ["standard", "ntk", "mup"])
def test_weights_have_the_sizes_that_the_exponents_say(name):
    """W = h^-a w with w of deviation h^-b, the rate's exponent c absorbed: a + c/2 in front, b - c/2 in the draw."""
    made, h, dim = abc_parametrisation(name, 2), 64, 300
    net = ABCNetwork(made, dim, h, outputs=40, gain=3.0, activation="tanh", seed=1)
    layers = [net[0], net[2], net[4]]
    assert [tuple(layer.weight.shape) for layer in layers] == [(h, dim), (h, h), (40, h)]
    for layer, a, b, fan in zip(layers, made.a, made.b, (dim, 1, 1)):
        assert layer.factor == pytest.approx((3.0 / fan) ** 0.5 * h ** -(a + made.c / 2))
        assert float(layer.weight.detach().std()) == pytest.approx(h ** -(b - made.c / 2), rel=0.06)
    x = torch.randn(5, dim, generator=torch.Generator().manual_seed(0))
    first, second, last = (layer.factor * layer.weight for layer in layers)
    torch.testing.assert_close(net(x), torch.tanh(torch.tanh(x @ first.T) @ second.T) @ last.T)
    assert not torch.equal(ABCNetwork(made, dim, h, outputs=40, gain=3.0, seed=2)[0].weight, net[0].weight)
