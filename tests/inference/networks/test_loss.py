import pytest
import torch

from priorscope.inference import Hinge, Logistic, QuadraticHinge, SoftHinge, Squared, as_loss
from priorscope.inference.networks._loss import LOSSES

F = torch.tensor([[0.3], [-2.0], [1.5]], dtype=torch.float64)
Y = torch.tensor([[1.0], [1.0], [-1.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("loss", "by_hand"),
    [
        (Squared(), [0.245, 4.5, 3.125]),
        (Hinge(), [0.7, 3.0, 2.5]),
        (Hinge(margin=0.5), [0.2, 2.5, 2.0]),
        (QuadraticHinge(), [0.245, 4.5, 3.125]),
        (Logistic(), [0.554355, 2.126928, 1.701413]),
        (SoftHinge(sharpness=1.0), [1.103187, 3.048587, 2.578890]),
    ],
)
def test_losses_by_hand(loss, by_hand):
    torch.testing.assert_close(loss.pointwise(F, Y), torch.tensor(by_hand).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(loss(F, Y), torch.tensor(by_hand).double().mean(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("outputs", [1, 3])
def test_slopes_are_derivatives(name, outputs):
    g = torch.Generator().manual_seed(0)
    f = torch.randn(2, 5, outputs, generator=g, dtype=torch.float64)
    y = torch.randn(5, outputs, generator=g, dtype=torch.float64)
    loss, h = as_loss(name), 1e-6
    found = loss.slope(f, y)[..., 0]
    for i in range(5):  # one sample at a time, of the sum over samples: some losses join them
        bump = torch.zeros_like(f)
        bump[:, i, 0] = h
        finite = (loss.pointwise(f + bump, y).sum(-1) - loss.pointwise(f - bump, y).sum(-1)) / (2 * h)
        torch.testing.assert_close(found[:, i], finite, atol=1e-6, rtol=1e-6)


def test_cross_entropy_is_torchs():
    g = torch.Generator().manual_seed(1)
    f, labels = torch.randn(6, 4, generator=g), torch.tensor([0, 3, 1, 2, 2, 0])
    one_hot = torch.nn.functional.one_hot(labels, 4).float()
    want = torch.nn.functional.cross_entropy(f, labels)
    torch.testing.assert_close(Logistic()(f, one_hot), want)
    torch.testing.assert_close(Logistic()(f, one_hot - 0.25), want)  # centred targets name the same class


def test_soft_hinge_tends_to_the_hinge():
    gap = [float((SoftHinge(sharpness=b)(F, Y) - Hinge()(F, Y)).abs()) for b in (1.0, 10.0, 100.0)]
    assert gap[0] > gap[1] > gap[2]
    assert gap[2] < 1e-9


def test_fitted_means_every_margin_met():
    y = torch.tensor([[1.0], [-1.0]])
    assert bool(Hinge().satisfied(torch.tensor([[1.1], [-1.1]]), y))
    assert not bool(Hinge().satisfied(torch.tensor([[1.1], [-0.9]]), y))
    assert not bool(Logistic().satisfied(100 * y, y))


def test_messages():
    with pytest.raises(ValueError, match="loss must be one of squared, .*; got 'mse'"):
        as_loss("mse")
    with pytest.raises(ValueError, match="targets with a sign"):
        Hinge()(F, torch.zeros_like(Y))
