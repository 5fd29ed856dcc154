"""Random ``nn.Module`` stacks, with the twists that real networks have: read rightly, or refused by name.

Rightly means: the kernel that is read off is the second moment of the outputs of such modules, drawn again and again with
Gaussian weights of torch's own variances. The module comes out of it as it went in.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import priorscope as ps

WIDTH, BLOCK = 48, 20


class Apply(nn.Module):
    """Any function of a tensor, in the middle of a stack."""

    def __init__(self, name: str, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.name, self.function = name, function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)

    def extra_repr(self) -> str:
        return self.name


class Branches(nn.Module):
    """Two branches that are joined: summed, multiplied or concatenated."""

    def __init__(self, join: str, *branches: nn.Module) -> None:
        super().__init__()
        self.join, self.branches = join, nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        a, b = (branch(x) for branch in self.branches)
        if self.join == "sum":
            return a + b
        if self.join == "product":
            return a * b
        return torch.cat([a, b], 1) if self.join == "cat" else torch.add(a, b, alpha=0.5)

    def extra_repr(self) -> str:
        return self.join


class Twice(nn.Module):
    """One layer used twice, with the same weights."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.inner(x).relu())


TWISTS: dict[str, Callable[[Tensor], Tensor]] = {
    "minus": lambda x: -x,
    "half": lambda x: 0.5 * x,
    "over two": lambda x: x / 2,
    "plus three": lambda x: x + 3,
    "square": lambda x: x**2,
    "abs": lambda x: x.abs(),
    "root": lambda x: (x.abs() + 1e-3).sqrt(),
    "clamp": lambda x: x.clamp(min=0),
    "clamp above": lambda x: x.clamp(-1, 1),
    "relu6": F.relu6,
    "softmax": lambda x: x.softmax(1),
    "flip": lambda x: x.flip(-1),
    "roll": lambda x: x.roll(1, -1),
    "first half": lambda x: x[:, : x.shape[1] // 2],
    "normalised": lambda x: F.normalize(x, dim=1),
    "masked": lambda x: x * (x > 0.5),
    "sorted": lambda x: x.sort(-1).values,
    "centred": lambda x: x - x.mean(1, keepdim=True),
    "swapped": lambda x: x.transpose(-1, -2).contiguous().reshape(x.shape) if x.ndim > 2 else x,
    "doubled": lambda x: x + x,
    "own product": lambda x: x * x,
    "mean over batch": lambda x: x - x.mean(0, keepdim=True),
    "silu": F.silu,
    "elu": lambda x: F.elu(x, alpha=0.7),
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "in place": lambda x: x.clone().relu_(),
    "leaky": lambda x: F.leaky_relu(x, 0.3),
    "softplus beta": lambda x: F.softplus(x, beta=3.0),
    "log": lambda x: torch.log(1 + x**2),
}
MODULES: list[Callable[[], nn.Module]] = [
    nn.ReLU,
    nn.Tanh,
    nn.GELU,
    lambda: nn.GELU(approximate="tanh"),
    nn.Sigmoid,
    nn.SiLU,
    nn.Softplus,
    lambda: nn.Softplus(beta=2.0),
    nn.ELU,
    lambda: nn.ELU(0.5),
    lambda: nn.LeakyReLU(0.2),
    nn.PReLU,
    nn.Hardtanh,
    nn.ReLU6,
    nn.SELU,
    nn.Mish,
    nn.Softsign,
    lambda: nn.Threshold(0.1, 0.0),
    lambda: nn.RReLU(),
    nn.Identity,
    lambda: nn.ReLU(inplace=True),
]


class Draw:
    """A random stack from one seed; a factory, so that the same stack can be drawn with other weights."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def pick(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def weights(self, space: tuple[int, ...], channels: int, width: int) -> nn.Module:
        bias = bool(self.rng.random() < 0.6)
        if not space:
            return nn.Linear(channels, width, bias=bias)
        kind = nn.Conv1d if len(space) == 1 else nn.Conv2d
        size = self.pick(1, 2, 3)
        options: dict = {"bias": bias, "stride": self.pick(1, 1, 1, 2)}
        odd = self.rng.integers(12)
        if odd == 0 and channels % 2 == 0:
            options["groups"] = 2
        elif odd == 1:
            options["dilation"] = 2
        elif odd in (2, 3):
            options |= {"padding": 1, "padding_mode": self.pick("zeros", "circular", "reflect", "replicate")}
        elif odd in (4, 5) and size == 3:
            options |= {"padding": "same", "stride": 1}
        elif odd in (6, 7) and size == 3:
            options |= {"padding": 1}
        return kind(channels, width, size, **options)

    def middle(self, channels: int, space: tuple[int, ...]) -> nn.Module:
        odd = self.rng.integers(16)
        if odd < 8:
            return self.pick(*MODULES)()
        if odd < 12:
            name = self.pick(*TWISTS)
            return Apply(name, TWISTS[name])
        if odd == 12:
            return nn.Dropout(self.pick(0.0, 0.3, 0.5))
        if odd == 13:
            return self.pick(
                nn.LayerNorm(channels) if not space else nn.GroupNorm(1, channels),
                nn.GroupNorm(2, channels),
                nn.BatchNorm1d(channels) if len(space) < 2 else nn.BatchNorm2d(channels),
            )
        if odd == 14 and space:
            pools = (nn.AvgPool1d, nn.MaxPool1d) if len(space) == 1 else (nn.AvgPool2d, nn.MaxPool2d)
            return self.pick(*pools)(2)
        return nn.Sequential(nn.Identity())

    def stack(self) -> tuple[nn.Module, tuple[int, ...]]:
        self.rng = np.random.default_rng([23, self.seed])
        space = self.pick((), (), (9,), (8, 8))
        channels = self.pick(2, 4)
        shape = (channels, *space)
        layers: list[nn.Module] = []
        for _ in range(self.pick(1, 1, 2)):
            layers.append(self.weights(space, channels, WIDTH))
            channels = WIDTH
            join = self.rng.integers(12)
            if join < 4 and not space:
                width = WIDTH
                a = nn.Sequential(nn.ReLU(), nn.Linear(width, width))
                b = self.pick(nn.Identity(), nn.Linear(width, width), nn.Sequential(nn.Linear(width, width), nn.Tanh()))
                name = self.pick("sum", "product", "cat", "weighted")
                layers += [Branches(name, a, b), nn.Linear(width * (2 if name == "cat" else 1), width)]
            elif join == 4 and not space:
                layers.append(Twice(nn.Linear(WIDTH, WIDTH)))
            for _ in range(self.pick(1, 1, 2)):
                layers.append(self.middle(channels, space))
        if space:
            end = self.pick("flatten", "pool", "mean", "adaptive")
            if end == "pool":
                layers.append(nn.AdaptiveAvgPool1d(1) if len(space) == 1 else nn.AdaptiveAvgPool2d(1))
            elif end == "mean":
                axes = tuple(range(2, 2 + len(space)))
                layers.append(Apply("mean over pixels", lambda x: x.mean(axes)))
            elif end == "adaptive":
                layers.append(nn.AdaptiveAvgPool1d(2) if len(space) == 1 else nn.AdaptiveAvgPool2d(2))
            if end != "mean":
                layers.append(nn.Flatten())
        body = nn.Sequential(*layers)
        with torch.no_grad():
            features = copy.deepcopy(body).eval()(torch.zeros(2, *shape)).shape
        return nn.Sequential(*layers, nn.Linear(features[1], 1)), shape


def again(module: nn.Module) -> None:
    """New Gaussian weights with the variances of torch's own initialisation.

    Torch draws them uniformly, which is the same in the limit and not for the first layer, whose fan-in is a few numbers.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv1d | nn.Conv2d):
            std = (3 * part.weight[0].numel()) ** -0.5
            nn.init.normal_(part.weight, std=std)
            if part.bias is not None:
                nn.init.normal_(part.bias, std=std)


def check(seed: int, draws: int = 400) -> str:
    draw = Draw(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            module, shape = draw.stack()
        except (RuntimeError, ValueError):  # torch itself refuses the stack: windows larger than the image and the like
            return "no module"
        module = module.eval() if draw.rng.random() < 0.5 else module.train()
        note = f"seed {seed}: {module} on {shape}"
        before = copy.deepcopy(module.state_dict())
        modes = [part.training for part in module.modules()]
        try:
            arch = ps.models.from_module(module, shape, variances="torch")
        except NotImplementedError as error:
            if len(str(error).split()) < 4:  # not said in words
                raise
            return "refused"
        assert [part.training for part in module.modules()] == modes, f"{note}: modes were changed"
        for name, value in module.state_dict().items():
            assert torch.equal(value, before[name]), f"{note}: {name} was changed"
        x = torch.randn(2, *shape, dtype=torch.float64)
        K = arch.kernel(x, kinds=("nngp",)).nngp
        assert torch.isfinite(K).all(), note
        module = module.double()
        f = []
        with torch.no_grad():
            for _ in range(draws):
                again(module)
                f.append(module(x)[:, 0])
        outputs = torch.stack(f)
        products = outputs[:, :, None] * outputs[:, None, :]
        noise = products.std(0) / math.sqrt(draws)
        bias = 4 * len(arch.layers) / WIDTH * K.diagonal().max() / 3  # moments of finite layers move by O(1/width)
        gap = (products.mean(0) - K).abs()
        assert (gap <= 5 * noise + bias).all(), f"{note}: {products.mean(0)} is not {K}"
    return "read"


def run(block: int) -> dict[str, int]:
    seen = {"read": 0, "refused": 0, "no module": 0}
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        seen[check(seed)] += 1
    return seen


def test_a_few_random_modules_are_read_rightly_or_refused():
    seen = run(0)
    assert seen["read"] >= 3  # the control: some are read
    assert seen["refused"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("block", range(1, 36))
def test_random_modules_are_read_rightly_or_refused(block):
    run(block)


def test_the_moment_tells_a_wrong_kernel_apart():
    """The control: the same stack read with half of its nonlinearity's size would be seen."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).double()
    x = torch.randn(2, 4, dtype=torch.float64)
    K = ps.models.from_module(module, (4,), variances="torch").kernel(x, kinds=("nngp",)).nngp
    f = []
    with torch.no_grad():
        for _ in range(400):
            again(module)
            f.append(module(x)[:, 0])
    outputs = torch.stack(f)
    products = outputs[:, :, None] * outputs[:, None, :]
    noise = products.std(0) / 20
    bias = 4 * 3 / WIDTH * K.diagonal().max() / 3
    gap = (products.mean(0) - K).abs()
    assert (gap <= 5 * noise + bias).all()
    assert ((products.mean(0) - 2 * K).abs() > 5 * noise + bias).any()
