"""What PyTorch users write: each module converts, checked against itself in the conversion, or is refused by name.

Of those that convert a handful is redrawn from its own law (Gaussian, torch's variances) and the mean of f f' compared with the
closed form within four standard errors; ``-m slow`` does so for all of them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from priorscope.models import from_module

W = 64  # width of hidden layers


class Call(nn.Module):
    """Parts by name and a forward of the user's."""

    def __init__(self, fn: Callable[..., Tensor], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self.fn = fn

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(self, x)


class Block(nn.Module):
    """A residual block; the shortcut is projected, or taken before or after the nonlinearity."""

    def __init__(self, width: int, kind: str) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.project = nn.Conv2d(width, width, 1) if kind == "projected" else nn.Identity()
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "before":
            return x + self.second(F.relu(self.first(F.relu(x))))
        return F.relu(self.project(x) + self.second(F.relu(self.first(x))))


class NormBlock(nn.Module):
    """The block of ResNet as torchvision writes it, with a projection."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n_in, n_out, 3, 2, 1, bias=False), nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out)
        self.downsample = nn.Sequential(nn.Conv2d(n_in, n_out, 1, 2, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.downsample(identity)
        return self.relu(out)


class ConvReLU(nn.Sequential):
    """A subclass of Sequential with its forward left as it is."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU())


def mlp(activation: nn.Module, *more: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(5, W), activation, nn.Linear(W, W), *more, activation, nn.Linear(W, 1))


def hidden(fn: Callable[[Tensor], Tensor]) -> nn.Module:
    return Call(lambda s, x: s.b(fn(s.a(x))), a=nn.Linear(5, W), b=nn.Linear(W, 1))


def conv(*parts: nn.Module, n_out: int = W) -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, W, 3, padding=1), nn.ReLU(), *parts, nn.Flatten(), nn.Linear(n_out, 1))


def pooled(fn: Callable[[Tensor], Tensor]) -> nn.Module:
    return Call(lambda s, x: s.b(fn(F.relu(s.a(x)))), a=nn.Conv2d(2, W, 3, padding=1), b=nn.Linear(W, 1))


def swiglu() -> nn.Module:
    parts = {"a": nn.Linear(5, W), "g": nn.Linear(W, W), "u": nn.Linear(W, W), "b": nn.Linear(W, 1)}
    return Call(lambda s, x: s.b(F.silu(s.g(h := F.relu(s.a(x)))) * s.u(h)), **parts)


def inception() -> nn.Module:
    parts = {
        "stem": nn.Conv2d(2, W, 3, padding=1),
        "one": nn.Conv2d(W, W // 2, 1),
        "three": nn.Conv2d(W, W, 3, padding=1),
        "pool": nn.Conv2d(W, W // 4, 1),
        "head": nn.Linear(7 * W // 4, 1),
    }

    def forward(s: Call, x: Tensor) -> Tensor:
        h = F.relu(s.stem(x))
        branches = [s.one(h), s.three(h), s.pool(F.avg_pool2d(h, 3, 1, 1))]
        return s.head(torch.cat([F.relu(b) for b in branches], dim=1).mean((2, 3)))

    return Call(forward, **parts)


def dense_block() -> nn.Module:
    def forward(s: Call, x: Tensor) -> Tensor:
        h = s.a(x)
        h = torch.cat([h, s.b(F.relu(h))], 1)
        return s.head(F.adaptive_avg_pool2d(s.c(h).relu(), 1).flatten(1))

    parts = {"a": nn.Conv2d(2, W, 3, padding=1), "b": nn.Conv2d(W, W // 2, 3, padding=1)}
    return Call(forward, **parts, c=nn.Conv2d(W + W // 2, W, 1), head=nn.Linear(W, 1))


def lenet(pool: Callable[[Tensor], Tensor]) -> nn.Module:
    def forward(s: Call, x: Tensor) -> Tensor:
        x = pool(F.relu(s.conv1(x)))
        x = pool(F.relu(s.conv2(x)))
        x = x.view(x.size(0), -1)
        return s.fc3(F.relu(s.fc2(F.relu(s.fc1(x)))))

    parts = {"conv1": nn.Conv2d(1, 6, 5), "conv2": nn.Conv2d(6, 16, 5), "fc1": nn.Linear(256, 120)}
    return Call(forward, **parts, fc2=nn.Linear(120, 84), fc3=nn.Linear(84, 10))


def vgg(pool: nn.Module) -> nn.Module:
    layers: list[nn.Module] = []
    for n_in, n_out in ((2, 16), (16, 32)):
        layers += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU(inplace=True), pool]
    features = nn.Sequential(*layers)
    head = nn.Sequential(nn.Linear(128, W), nn.ReLU(True), nn.Dropout(), nn.Linear(W, 1))
    return Call(lambda s, x: s.classifier(torch.flatten(s.features(x), 1)), features=features, classifier=head)


def resnet(*blocks: nn.Module, width: int = W) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, width, 3, padding=1), *blocks, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(W, 1)
    )


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(self.embed(x)).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


FLAT, LINE, IMAGE = (5,), (2, 8), (2, 8, 8)
Case = tuple[Callable[[], nn.Module], tuple[int, ...]]
CONVERTS: dict[str, Case] = {
    "linear regression": (lambda: nn.Linear(5, 1), FLAT),
    "perceptron with ReLU": (lambda: mlp(nn.ReLU()), FLAT),
    "perceptron with ReLU in place": (lambda: mlp(nn.ReLU(inplace=True)), FLAT),
    "perceptron with tanh": (lambda: mlp(nn.Tanh()), FLAT),
    "perceptron with GELU": (lambda: mlp(nn.GELU()), FLAT),
    "perceptron with tanh GELU": (lambda: mlp(nn.GELU("tanh")), FLAT),
    "perceptron with SiLU": (lambda: mlp(nn.SiLU()), FLAT),
    "perceptron with leaky ReLU": (lambda: mlp(nn.LeakyReLU(0.2)), FLAT),
    "perceptron with ELU": (lambda: mlp(nn.ELU()), FLAT),
    "perceptron with CELU": (lambda: mlp(nn.CELU(0.5)), FLAT),
    "perceptron with softplus": (lambda: mlp(nn.Softplus(2)), FLAT),
    "perceptron with sigmoid": (lambda: mlp(nn.Sigmoid()), FLAT),
    "perceptron with Hardswish": (lambda: mlp(nn.Hardswish()), FLAT),
    "perceptron with Mish": (lambda: mlp(nn.Mish()), FLAT),
    "perceptron with dropout": (lambda: mlp(nn.Tanh(), nn.Identity()).append(nn.Dropout(0.1)), FLAT),  # type: ignore
    "perceptron with LayerNorm": (lambda: mlp(nn.ReLU(), nn.LayerNorm(W)), FLAT),
    "perceptron with RMSNorm": (lambda: mlp(nn.ReLU(), nn.RMSNorm(W)), FLAT),
    "perceptron with BatchNorm, evaluating": (lambda: mlp(nn.ReLU(), nn.BatchNorm1d(W)).eval(), FLAT),
    "perceptron that flattens images": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(128, W), nn.ReLU(), nn.Linear(W, 10)),
        IMAGE,
    ),
    "named and nested Sequential": (
        lambda: nn.Sequential(
            OrderedDict(body=nn.Sequential(nn.Sequential(nn.Linear(5, W), nn.ReLU())), head=nn.Linear(W, 1))
        ),
        FLAT,
    ),
    "list of layers": (
        lambda: Call(
            lambda s, x: s.layers[2](F.relu(s.layers[1](F.relu(s.layers[0](x))))),
            layers=nn.ModuleList([nn.Linear(5, W), nn.Linear(W, W), nn.Linear(W, 1)]),
        ),
        FLAT,
    ),
    "functional leaky ReLU": (lambda: hidden(lambda h: F.leaky_relu(h, 0.1)), FLAT),
    "functional dropout": (lambda: hidden(lambda h: F.dropout(F.relu(h), 0.3, True)), FLAT),
    "functional softplus": (lambda: hidden(lambda h: F.softplus(h, beta=3)), FLAT),
    "swish by hand": (lambda: hidden(lambda h: h * torch.sigmoid(h)), FLAT),
    "GELU by hand": (lambda: hidden(lambda h: 0.5 * h * (1 + torch.erf(h / math.sqrt(2)))), FLAT),
    "scaled activation": (lambda: hidden(lambda h: 1.7159 * torch.tanh(2 / 3 * h)), FLAT),
    "ReLU by clamp": (lambda: hidden(lambda h: h.clamp(min=0) * math.sqrt(2)), FLAT),
    "squared ReLU's square": (lambda: hidden(lambda h: h**2), FLAT),
    "sine network": (lambda: hidden(lambda h: torch.sin(3.0 * h)), FLAT),
    "one number per sample": (lambda: Call(lambda s, x: s.a(x).squeeze(-1), a=mlp(nn.ReLU())), FLAT),
    "pre-activation residual perceptron": (
        lambda: Call(
            lambda s, x: s.c(F.relu((h := s.a(x)) + s.b(F.relu(h)))),
            a=nn.Linear(5, W),
            b=nn.Linear(W, W),
            c=nn.Linear(W, 1),
        ),
        FLAT,
    ),
    "gated linear units": (swiglu, FLAT),
    "convolution with global average": (lambda: conv(nn.AdaptiveAvgPool2d(1)), IMAGE),
    "convolution with windows": (lambda: conv(nn.AvgPool2d(2), n_out=16 * W), IMAGE),
    "convolution with padded windows": (lambda: conv(nn.AvgPool2d(3, 2, 1), n_out=16 * W), IMAGE),
    "convolution with windows that do not count padding": (
        lambda: conv(nn.AvgPool2d(3, 2, 1, count_include_pad=False), n_out=16 * W),
        IMAGE,
    ),
    "rectangular windows": (lambda: conv(nn.AvgPool2d((2, 1)), n_out=32 * W), IMAGE),
    "functional windows": (lambda: pooled(lambda h: F.avg_pool2d(h, 8).flatten(1)), IMAGE),
    "mean over pixels": (lambda: pooled(lambda h: h.mean([2, 3])), IMAGE),
    "mean over pixels that stay": (lambda: pooled(lambda h: h.mean((-2, -1), keepdim=True).flatten(1)), IMAGE),
    "mean over merged pixels": (lambda: pooled(lambda h: h.flatten(2).mean(-1)), IMAGE),
    "reshape by shape": (lambda: pooled(lambda h: F.avg_pool2d(h, 8).reshape(h.shape[0], -1)), IMAGE),
    "dropout of channels": (lambda: conv(nn.Dropout2d(0.2), nn.AdaptiveAvgPool2d(1)), IMAGE),
    "rectangular filters": (lambda: conv(nn.Conv2d(W, W, (3, 1)), nn.ReLU(), nn.AdaptiveAvgPool2d(1)), IMAGE),
    "dilated filters": (
        lambda: conv(nn.Conv2d(W, W, 3, dilation=2, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        IMAGE,
    ),
    "wide padding": (lambda: conv(nn.Conv2d(W, W, 4, 2, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1)), IMAGE),
    "explicit padding": (
        lambda: conv(nn.ZeroPad2d((1, 2, 0, 1)), nn.Conv2d(W, W, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        IMAGE,
    ),
    "group norm": (lambda: conv(nn.Conv2d(W, W, 3), nn.GroupNorm(4, W), nn.ReLU(), nn.AdaptiveAvgPool2d(1)), IMAGE),
    "batch norm, evaluating": (
        lambda: conv(nn.Conv2d(W, W, 3), nn.BatchNorm2d(W), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).eval(),
        IMAGE,
    ),
    "sequence convolution": (
        lambda: nn.Sequential(
            nn.Conv1d(2, W, 3, padding="same"), nn.ReLU(), nn.AvgPool1d(2), nn.Flatten(), nn.Linear(4 * W, 1)
        ),
        LINE,
    ),
    "causal convolution": (
        lambda: Call(
            lambda s, x: s.b(F.relu(s.a(F.pad(x, (4, 0)))).mean(-1)),
            a=nn.Conv1d(2, W, 3, dilation=2),
            b=nn.Linear(W, 1),
        ),
        LINE,
    ),
    "subclass of Sequential": (lambda: resnet(ConvReLU(W, W)), IMAGE),
    "LeNet with average pools": (lambda: lenet(lambda h: F.avg_pool2d(h, 2)), (1, 28, 28)),
    "VGG with average pools": (lambda: vgg(nn.AvgPool2d(2, 2)), IMAGE),
    "residual blocks before the nonlinearity": (lambda: resnet(Block(W, "before"), Block(W, "before")), IMAGE),
    "residual blocks with projections": (lambda: resnet(Block(W, "projected"), nn.Conv2d(W, W, 1)), IMAGE),
    "residual blocks of ResNet, evaluating": (lambda: resnet(NormBlock(16, W), width=16).eval(), IMAGE),
    "inception": (inception, IMAGE),
    "dense block": (dense_block, IMAGE),
}
REFUSED: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], str]] = {
    "LeNet": (lambda: lenet(lambda h: F.max_pool2d(h, 2)), (1, 28, 28), "max_pool2d"),
    "VGG": (lambda: vgg(nn.MaxPool2d(2, 2)), IMAGE, "the module MaxPool2d"),
    "batch norm, training": (lambda: mlp(nn.ReLU(), nn.BatchNorm1d(W)), FLAT, "BatchNorm1d in training"),
    "batch norm, trained": (
        lambda: _trained(mlp(nn.ReLU(), nn.BatchNorm1d(W))),
        FLAT,
        "BatchNorm1d in evaluation mode with",
    ),
    "instance norm": (lambda: conv(nn.InstanceNorm2d(W), nn.AdaptiveAvgPool2d(1)), IMAGE, "InstanceNorm2d"),
    "rectified identity shortcut": (
        lambda: resnet(nn.ReLU(), Block(W, "after")),
        IMAGE,
        "ReLU.. of numbers that are not",
    ),
    "softmax head": (lambda: mlp(nn.ReLU()).append(nn.LogSoftmax(1)), FLAT, "LogSoftmax"),  # type: ignore[attr-defined]
    "separable convolution": (lambda: conv(nn.Conv2d(W, W, 3, groups=W), nn.AdaptiveAvgPool2d(1)), IMAGE, "groups=64"),
    "transposed convolution": (
        lambda: conv(nn.ConvTranspose2d(W, W, 2, 2), nn.AdaptiveAvgPool2d(1)),
        IMAGE,
        "ConvTranspose2d",
    ),
    "upsampling": (lambda: conv(nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(1)), IMAGE, "Upsample"),
    "squeeze and excitation": (
        lambda: Call(
            lambda s, x: s.b(
                ((h := F.relu(s.a(x))) * torch.sigmoid(s.g(h.mean((2, 3))))[:, :, None, None]).mean((2, 3))
            ),
            a=nn.Conv2d(2, W, 3),
            g=nn.Linear(W, W),
            b=nn.Linear(W, 1),
        ),
        IMAGE,
        "the operation getitem",
    ),
    "transformer": (Tokens, (3, 4), "TransformerEncoderLayer"),
    "LSTM": (Recurrent, (3, 4), "LSTM"),
    "embedding": (lambda: nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(12, 1)), (3,), "Embedding"),
    "channels mixed": (lambda: hidden(lambda h: h.roll(1, 1)), FLAT, "the operation roll"),
}


def _trained(net: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    net(3 * torch.randn(20, 5))
    return net.eval()


def test_there_are_enough() -> None:
    assert len(CONVERTS) + len(REFUSED) >= 70
    assert len(CONVERTS) >= 52


@pytest.mark.parametrize("name", CONVERTS)
def test_converts(name: str) -> None:
    make, shape = CONVERTS[name]
    torch.manual_seed(0)
    arch = from_module(make(), shape)
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    kernel = arch.kernel(x)
    for matrix in (kernel.nngp, kernel.ntk):
        torch.testing.assert_close(matrix, matrix.mT)
        assert torch.linalg.eigvalsh(matrix)[0] > 0
    assert from_module(make()).layers[-1:] != ()  # a shape is found where none is given


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    make, shape, message = REFUSED[name]
    with pytest.raises(NotImplementedError, match=message):
        from_module(make(), shape)


def _redrawn(net: nn.Module, seed: int) -> None:
    """Gaussian weights with torch's variances."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in net.modules():
            if isinstance(part, nn.Linear | nn.Conv1d | nn.Conv2d):
                for weights in part.parameters():
                    weights.normal_(std=(3 * part.weight[0].numel()) ** -0.5, generator=generator)


def _check_against_draws(name: str, draws: int) -> None:
    make, shape = CONVERTS[name]
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.manual_seed(2)
    net = make().double()
    nngp = from_module(net, shape, variances="torch").kernel(x, kinds="nngp").nngp
    samples = []
    with torch.no_grad():
        for seed in range(draws):
            _redrawn(net, seed)
            f = net(x).reshape(2, -1)
            samples.append(f @ f.mT / f.shape[1])
    products = torch.stack(samples)
    noise = products.std(0) / draws**0.5
    assert ((products.mean(0) - nngp).abs() < 4 * noise).all(), (products.mean(0), nngp, noise)


HANDFUL = (
    "perceptron with RMSNorm",
    "causal convolution",
    "inception",
    "GELU by hand",
    "convolution with padded windows",
)


@pytest.mark.parametrize("name", HANDFUL)
def test_closed_form_of_a_handful_is_that_of_redrawn_networks(name: str) -> None:
    _check_against_draws(name, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVERTS)
def test_closed_form_is_that_of_redrawn_networks(name: str) -> None:
    _check_against_draws(name, 1500)


def test_a_finite_layer_says_what_it_is_and_a_class_derived_from_it_must_say_so_again():
    from priorscope.models.layers._scale import Scale, ScaleModule

    class Threefold(ScaleModule):
        """Inherits the word of another class and computes something else."""

        def forward(self, x):
            return 3 * super().forward(x)

    class Named(ScaleModule):
        def as_layer(self):
            return Scale(3 * self.factor)

        def forward(self, x):
            return 3 * super().forward(x)

    def kernel(middle):
        torch.manual_seed(0)
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        return from_module(nn.Sequential(nn.Linear(4, 8), middle, nn.Linear(8, 1)), (4,)).kernel(x).nngp

    sixfold = kernel(ScaleModule(6.0))
    torch.testing.assert_close(kernel(Named(2.0)), sixfold)
    torch.testing.assert_close(kernel(Threefold(2.0)), sixfold)  # walked into, not believed
    assert not torch.allclose(kernel(ScaleModule(2.0)), sixfold, rtol=0.1)
