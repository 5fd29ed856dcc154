"""Kernels sampled from redrawn networks: the closed form where there is one, a second computation where there is none."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from priorscope.contracts import is_kernel_model
from priorscope.inference import GaussianProcess, KernelRegression
from priorscope.models import Architecture, SampledModel, from_module

FLAT, LINE = (4,), (2, 6)


def sampled(net: nn.Module, **options: int | str) -> SampledModel:
    """The sampled kernel even of a module that has a closed form."""
    settings = {"variances": "measured", "draws": 300, "seed": 0, "why": "a test"} | options
    return SampledModel.of(net, **settings)  # type: ignore[arg-type]


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 3))


def normed() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 128), nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 1, bias=False))


def convolution() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(2, 64, 3, padding=1), nn.ReLU(), nn.AvgPool1d(2), nn.Dropout(0.2), nn.Flatten(), nn.Linear(192, 2)
    )


@pytest.mark.parametrize(
    ("make", "shape"), [(perceptron, FLAT), (normed, FLAT), (convolution, LINE)], ids=["perceptron", "norm", "dropout"]
)
def test_where_there_is_a_closed_form_it_is_found(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    """Within five standard errors and the finite width's part, 1/width; a kernel 1.3 times as large is seen."""
    torch.manual_seed(0)
    net = make()
    x = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    exact = from_module(net, shape, variances="torch").kernel(x)
    found = sampled(net).kernel(x)
    for kind in ("nngp", "ntk"):
        truth, value, error = (getattr(k, kind) for k in (exact, found, found.standard_error))
        room = 5 * error + truth.abs().max() / 64
        assert ((value - truth).abs() < room).all(), kind
        assert ((value - 1.3 * truth).abs() > room).any(), kind


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(2, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x.mT)[0][:, -1])


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(2, 8), nn.Linear(8, 1)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(self.embed(x.mT)).mean(1))


class Rectified(nn.Module):
    """An identity shortcut around a nonlinearity: the sum is not Gaussian at infinite width."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.a(x))
        return self.c(torch.relu(h + self.b(h)))


NO_CLOSED_FORM: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], str]] = {
    "max pooling": (
        lambda: nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(16, 1)),
        LINE,
        "MaxPool1d",
    ),
    "batch norm in training": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)),
        FLAT,
        "BatchNorm1d in training",
    ),
    "transformer": (Tokens, LINE, "TransformerEncoderLayer"),
    "LSTM": (Recurrent, LINE, "LSTM"),
    "rectified shortcut": (Rectified, FLAT, "not Gaussian"),
    "hook": (lambda: _hooked(perceptron()), FLAT, "a forward hook"),
}


def _hooked(net: nn.Module) -> nn.Module:
    net.register_forward_hook(lambda module, inputs, output: 2 * output)
    return net


@pytest.mark.parametrize("name", NO_CLOSED_FORM)
def test_what_has_no_closed_form_is_sampled_on_request(name: str) -> None:
    make, shape, message = NO_CLOSED_FORM[name]
    torch.manual_seed(0)
    net = make()
    with pytest.raises(NotImplementedError, match=message) as refusal:
        from_module(net, shape)
    assert 'fallback="sampled"' in str(refusal.value)
    model = from_module(net, shape, fallback="sampled", draws=6)
    assert isinstance(model, SampledModel)
    assert is_kernel_model(model)
    assert message in model.notes[1]
    x = torch.randn(4, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = model.kernel(x)
    by_hand = torch.stack([_kernels_by_hand(model, seed, x) for seed in range(6)])  # (draws, 2, n, n)
    for i, kind in enumerate(("nngp", "ntk")):
        value, error = getattr(found, kind), getattr(found.standard_error, kind)
        if kind == "nngp" or by_hand_outputs(net, x) == 1:  # several outputs share one gradient of random signs
            torch.testing.assert_close(value, by_hand[:, i].mean(0))
            torch.testing.assert_close(error, by_hand[:, i].std(0) / 6**0.5)
        assert torch.linalg.eigvalsh(value)[0] > -1e-10 * value.diagonal().max()


def by_hand_outputs(net: nn.Module, x: Tensor) -> int:
    return net.double()(x).shape[1]


def _kernels_by_hand(model: SampledModel, seed: int, x: Tensor) -> Tensor:
    """Both kernels of one network, entry by entry of its Jacobian; the mean square of torch's uniform laws is bound²/3."""
    net = model.network(seed).double()
    f = net(x)
    ntk = torch.zeros(len(x), len(x), dtype=x.dtype)
    for name, p in net.named_parameters():
        owner = net.get_submodule(name.rpartition(".")[0])
        flat = torch.stack([torch.autograd.grad(entry, p, retain_graph=True)[0].flatten() for entry in f.flatten()])
        flat = flat.reshape(*f.shape, -1)
        ntk += _mean_square(model, owner, name) * torch.einsum("aop,bop->ab", flat, flat) / f.shape[1]
    return torch.stack([(f @ f.mT / f.shape[1]).detach(), ntk])


def _mean_square(model: SampledModel, owner: nn.Module, name: str) -> float:
    if isinstance(owner, nn.Linear | nn.Conv1d) and model.redrawing is not None and name in model.redrawing.laws:
        constant = model.redrawing.laws[name].kind == "constant"
        return 0.0 if constant else 1 / (3 * owner.weight[0].numel())
    values = model.template.get_parameter(name).detach().double()
    return float(values.square().mean()) if bool((values != values.flatten()[0]).any()) else 0.0


def test_blocks_fit_together_and_seeds_decide() -> None:
    torch.manual_seed(0)
    model = from_module(Rectified(), fallback="sampled", draws=5, seed=3)
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    whole, block = model.kernel(x).ntk, model.kernel(x[:1], x[1:]).ntk
    torch.testing.assert_close(block, whole[:1, 1:])
    again, other = (from_module(Rectified(), fallback="sampled", draws=5, seed=s).kernel(x).nngp for s in (3, 4))
    assert not torch.equal(again, other)
    assert whole.dtype is torch.float32
    assert model.kernel(x, kinds="nngp").ntk is None


def test_kernel_methods_take_it() -> None:
    torch.manual_seed(0)
    model = from_module(Rectified(), fallback="sampled", draws=40)
    x = torch.randn(12, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    data = SimpleNamespace(inputs=x, targets=x[:, :1])
    ntk = model.kernel(x).ntk
    expected = ntk @ torch.linalg.solve(ntk + 0.1 * torch.eye(12), data.targets)
    torch.testing.assert_close(KernelRegression(ridge=0.1).fit(model, data).predict(x), expected)
    assert GaussianProcess(noise=0.1).fit(model, data).predict(x).shape == (12, 1)


def test_trained_weights_are_drawn_by_what_they_are_and_that_is_said() -> None:
    torch.manual_seed(0)
    net = Rectified()
    nn.init.normal_(net.b.weight, 0.5, 2.0)
    model = from_module(net, fallback="sampled", draws=2)
    assert isinstance(model, SampledModel)
    assert "its initial law is not known" in model.notes[0]
    drawn = torch.stack([model.network(seed).b.weight.detach() for seed in range(200)])
    n = drawn.numel()
    weight = net.b.weight.detach()
    mean, deviation = float(weight.mean()), float(weight.std(correction=0))
    assert abs(float(drawn.mean()) - mean) < 4 * deviation / n**0.5
    assert abs(float(drawn.std()) - deviation) < 4 * deviation / (2 * n) ** 0.5
    torch_law = from_module(net, fallback="sampled", variances="torch", draws=2)
    assert isinstance(torch_law, SampledModel)
    assert "initial law of its parts" in torch_law.notes[0]
    assert float(torch_law.network(0).b.weight.detach().abs().max()) <= 8**-0.5


def test_closed_forms_stay_closed_forms() -> None:
    assert isinstance(from_module(perceptron(), fallback="sampled"), Architecture)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="fallback must be None or 'sampled'"):
        from_module(perceptron(), fallback="guess")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="whole number draws >= 2"):
        from_module(Rectified(), fallback="sampled", draws=1)
    twice = nn.Linear(4, 4)
    net = nn.Sequential(twice, nn.ReLU(), nn.Linear(4, 4))
    net[2].load_state_dict(twice.state_dict())
    with pytest.raises(NotImplementedError, match="by which law is not known"):
        from_module(net, fallback="sampled")
    model = from_module(nn.Sequential(nn.Flatten(), nn.Softmax(1)), fallback="sampled", draws=2)
    with pytest.raises(ValueError, match="floating-point tensor"):
        model.kernel(torch.zeros(2, 2, dtype=torch.int64))


def test_a_parameter_of_no_known_law_is_redrawn_with_its_mean_and_its_variance() -> None:
    """Of the numbers 1 and 5 the mean is 3 and the variance 4 (8 if they were a sample of something)."""

    class Shift(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shift = nn.Parameter(torch.tensor([1.0, 5.0]))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.shift

    model = sampled(Shift())
    assert model.redrawing is None
    draws = torch.stack([next(model.network(seed).parameters()).detach() for seed in range(800)]).double()
    assert abs(float(draws.mean()) - 3) < 5 * 2 / 1600**0.5
    assert abs(float(draws.var()) - 4) < 5 * 4 * (2 / 1600) ** 0.5


class Gain(nn.Module):
    """Two numbers of no known law, and one that is fixed."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor([1.0, 3.0]))
        self.shift = nn.Parameter(torch.tensor([0.5, 0.5]))

    def forward(self, x: Tensor) -> Tensor:
        return (self.gain * x + self.shift).sum(1, keepdim=True)


def test_two_numbers_are_redrawn_with_the_deviation_that_they_have() -> None:
    like = SampledModel.of(Gain(), variances="measured", draws=3, seed=0, why="")
    assert like.redrawing is None
    drawn = like.network(7)
    omega = torch.randn(2, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    torch.testing.assert_close(drawn.gain.detach().double(), 2 + 1.0 * omega, rtol=1e-6, atol=1e-6)
    assert drawn.shift.tolist() == [0.5, 0.5]  # equal numbers stay
    x = torch.randn(4, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = like.kernel(x[:3], x[3:], dtype=torch.float32)
    assert found.ntk.dtype == torch.float32
    torch.testing.assert_close(found.ntk.double(), 5 * x[:3] @ x[3:].T, rtol=1e-5, atol=1e-5)  # mean square (1 + 9) / 2
    outputs = torch.stack([like.network(s).double()(x)[:, 0] for s in range(3)])
    want = torch.einsum("di,dj->ij", outputs[:, :3], outputs[:, 3:]).detach() / 3
    torch.testing.assert_close(found.nngp.double(), want, rtol=1e-5, atol=1e-5)
    alone = like.kernel(x, kinds=("nngp",))
    assert alone.ntk is None
    torch.testing.assert_close(alone.nngp[:3, 3:], want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(alone.nngp, alone.nngp.T)
