"""Parts of networks that people have: clamps, PReLU, means over an axis, copied encoders, trained weights, tokens."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from priorscope.models import SampledModel, from_module
from priorscope.probes import empirical_ntk


class Middle(nn.Module):
    """A function between two layers with weights."""

    def __init__(self, fn, images: bool = False):
        super().__init__()
        self.fn = fn
        self.first = nn.Conv2d(2, 40, 3) if images else nn.Linear(4, 60)
        self.last = nn.Linear(40 if images else 60, 30)

    def forward(self, x):
        return self.last(self.fn(self.first(x)))


@pytest.mark.filterwarnings("ignore:quadrature of the derivative")  # kinks: told with its size
@pytest.mark.parametrize(
    ("fn", "images"),
    [
        (lambda h: h.clamp(-0.5, 0.2), False),
        (lambda h: torch.clamp(h, min=0.3), False),
        (lambda h: h.clamp(max=0.1), False),
        (nn.Threshold(0.2, 0.2), False),
        (nn.PReLU(init=0.4), False),
        (lambda h: h.relu().mean(3).mean(2), True),
        (lambda h: h.relu().mean(2, keepdim=True).mean((2, 3)), True),
    ],
)
def test_the_kernel_of_what_is_read_is_the_mean_of_networks(fn, images):
    shape = (2, 5, 6) if images else (4,)
    x = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.manual_seed(0)
    found = from_module(Middle(fn, images), shape, variances="torch").kernel(x, kinds="nngp").nngp
    draws = []
    with torch.no_grad():
        for _ in range(400):
            f = Middle(fn, images).double()(x)
            draws.append(f @ f.T / f.shape[1])
    products = torch.stack(draws)
    noise = products.std(0) / len(products) ** 0.5
    assert ((products.mean(0) - found).abs() < 5 * noise + 2e-3 * found.abs()).all()
    relu = from_module(
        Middle(lambda h: h.relu().mean((2, 3)) if images else h.relu(), images), shape, variances="torch"
    )
    if not images:  # and another function would be seen
        assert ((products.mean(0) - relu.kernel(x, kinds="nngp").nngp).abs() > 5 * noise).any()


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (Middle(nn.Threshold(0.2, 0.0)), "a Threshold that jumps from 0.0 to 0.2"),
        (Middle(nn.PReLU(60)), None),
    ],
)
def test_jumps_and_unlike_channels_are_refused(net, words):
    if words is None:
        assert from_module(net, (4,)).layers[1].phi.slope == 0.25  # alike at its start
        with torch.no_grad():
            net.fn.weight[3] = 0.7
        words = "slopes that differ between channels"
    with pytest.raises(NotImplementedError, match=words):
        from_module(net, (4,))


def test_few_biases_by_torchs_law_have_its_variance():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 100), nn.ReLU(), nn.Linear(100, 1))
    read = from_module(net, (5,)).layers
    assert read[2].bias_variance == pytest.approx(1 / 300)
    assert read[0].bias_variance == pytest.approx(float(net[0].bias.detach().square().mean()))  # many: as they are
    with torch.no_grad():
        net[2].bias.fill_(0.3)
    assert from_module(net, (5,)).layers[2].bias_variance == pytest.approx(0.09)  # beyond the law's range: as it is


def test_encoders_as_torch_makes_them_are_drawn_layer_by_layer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    net = nn.Sequential(
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Flatten(), nn.Linear(24, 4)
    ).eval()
    model = from_module(net, (3, 8), fallback="sampled", draws=8)
    drawn = model.network(0)[0].layers
    assert not torch.equal(drawn[0].linear1.weight, drawn[1].linear1.weight)
    assert "drawn again by the initial law" in model.notes[0]
    by_hand = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    by_hand[2].load_state_dict(by_hand[0].state_dict())
    with pytest.raises(NotImplementedError, match="hold the same numbers"):  # a copy made by hand stays refused
        from_module(by_hand, (8,))


def test_related_weights_of_a_trained_network_give_the_kernel_at_them():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 3)).double()
    with torch.no_grad():
        net[2].weight.add_(3 * net[0].weight)  # as training ties layers
    model = from_module(net, (24,), fallback="sampled")
    assert isinstance(model, SampledModel)
    assert model.fixed
    assert "at its present weights" in model.notes[0]
    x = torch.randn(4, 24, dtype=torch.float64)
    found = model.kernel(x)
    f = net(x).detach()
    torch.testing.assert_close(found.nngp, f @ f.T / 3)
    assert found.draws == 1
    single = nn.Sequential(*net[:4], nn.Linear(24, 1, bias=False).double())
    torch.testing.assert_close(SampledModel.at_weights(single, "").kernel(x).ntk, empirical_ntk(single, x).detach())


def test_tokens_stay_whole_numbers_in_sampled_kernels():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(10, 8), nn.Flatten(), nn.Linear(24, 2))
    model = from_module(net, (3,), fallback="sampled", draws=16)
    x = torch.tensor([[1, 2, 3], [1, 2, 4], [7, 8, 9]])
    found = model.kernel(x)
    assert found.ntk.dtype == torch.get_default_dtype()
    assert found.ntk[0, 1] > found.ntk[0, 2] + 0.1  # two words in common against none
    with pytest.raises(ValueError, match="a floating-point tensor without NaN or infinite values, or as whole numbers"):
        model.kernel(x + 1j)


@pytest.mark.parametrize("fallback", [None, "sampled"])
def test_a_module_without_numbers_is_told(fallback):
    with torch.device("meta"):
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    with pytest.raises(NotImplementedError, match="on the meta device and has no numbers; build the module on the CPU"):
        from_module(net, (3,), fallback=fallback)
