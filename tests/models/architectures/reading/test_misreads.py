"""Modules that look like something else: each is refused by name, or read for what it is; none is misread.

"Read for what it is" is judged by networks redrawn from the same law: the mean of f f' over them against the closed form, within
four standard errors, where a kernel 1.3 times as large must be seen.
"""

from __future__ import annotations

import copy
import random
import types
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrizations, prune

from priorscope.models import from_module


class Fn(nn.Module):
    """Layers a and b with a function of the user's around them."""

    def __init__(self, fn: Callable[..., Tensor], *, image: bool = False, line: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        if image or line:
            conv = nn.Conv2d if image else nn.Conv1d
            self.a, self.b = conv(2, 8, 3, padding=1), nn.Linear(8, 1)
        else:
            self.a, self.b, self.c = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)
        self.gain = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("mask", torch.arange(8.0))
        self.register_buffer("three", torch.tensor(3.0))
        self.fn = fn

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(self, x)


class DoubledSequential(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * 2 + super().forward(-x)


class ScaledLinear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight * 3, self.bias)


class PositiveLinear(nn.Linear):
    """The forward of nn.Linear, with weights of another sign."""

    def __getattr__(self, name: str) -> Tensor:
        value = super().__getattr__(name)
        return value.abs() if name == "weight" else value


def mlp() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def changed(change: Callable[[nn.Sequential], object]) -> nn.Module:
    net = mlp()
    change(net)
    return net


def _replace_forward(net: nn.Sequential) -> None:
    net[0].forward = types.MethodType(lambda self, x: nn.Linear.forward(self, x) + 1, net[0])


def _tie(net: nn.Sequential) -> None:
    net.insert(2, nn.Linear(8, 8))
    net.insert(3, nn.Linear(8, 8))
    net[3].weight = net[2].weight


def _tie_memory(net: nn.Sequential) -> None:
    net.insert(2, nn.Linear(8, 8))
    net.insert(3, nn.Linear(8, 8))
    net[3].weight = nn.Parameter(net[2].weight.data)


def _transpose(net: nn.Sequential) -> None:
    net.insert(2, nn.Linear(8, 4))
    net.insert(3, nn.Linear(4, 8))
    net[2].weight = nn.Parameter(net[0].weight.detach().mT.clone())


def _oppose(net: nn.Sequential) -> None:
    net.insert(2, nn.Linear(8, 8))
    net.insert(3, nn.Linear(8, 8))
    net[3].weight = nn.Parameter(-3 * net[2].weight.detach())


def _tie_rows(net: nn.Sequential) -> None:
    rows = torch.randn(9, 8)
    net[2].weight = nn.Parameter(rows[4:5])
    net.insert(2, nn.Linear(8, 8))
    net[2].weight = nn.Parameter(rows[1:9])


def _eye(n: int) -> nn.Linear:
    layer = nn.Linear(n, n)
    nn.init.eye_(layer.weight)
    return layer


def _copy_block(net: nn.Sequential) -> None:
    net.insert(2, nn.Linear(8, 8))
    net.insert(3, copy.deepcopy(net[2]))


def _no_grad(self: Fn, x: Tensor) -> Tensor:
    with torch.no_grad():
        h = self.a(x)
    return self.c(F.relu(h))


def _inplace_alias(self: Fn, x: Tensor) -> Tensor:
    h = self.a(x)
    g = self.b(F.relu(h, inplace=True))
    return self.c(F.relu(h + g))


def _inplace_dropped(self: Fn, x: Tensor) -> Tensor:
    h = self.a(x)
    h.mul_(2)
    return self.c(F.relu(h))


def _inplace_module(self: Fn, x: Tensor) -> Tensor:
    h = self.a(x)
    F.relu(h, True)
    return self.c(torch.tanh(self.b(h)))


def _branch_shared(self: Fn, x: Tensor) -> Tensor:
    p = self.a(x)
    q = self.b(F.relu(p))
    return self.c(F.relu(p + q) + F.tanh(q))


def _fork(self: Fn, x: Tensor) -> Tensor:
    p, q = self.a(x), self.b(F.relu(self.a(x)))
    return self.c(p + q)


def _training_noise(self: Fn, x: Tensor) -> Tensor:
    h = self.a(x)
    return self.c(h + torch.randn_like(h))


REFUSED: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "subclass of Sequential with its own forward": (
        lambda: DoubledSequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)),
        "used twice with the same weights",
    ),
    "subclass of Linear with its own forward": (
        lambda: nn.Sequential(ScaledLinear(4, 8), nn.ReLU(), nn.Linear(8, 1)),
        "the operation linear",
    ),
    "subclass of Linear with other weights": (
        lambda: nn.Sequential(PositiveLinear(4, 8), nn.ReLU(), nn.Linear(8, 1)),
        "the operation linear",
    ),
    "forward hook": (lambda: changed(lambda n: n[0].register_forward_hook(lambda m, i, o: 3 * o)), "a forward hook"),
    "forward pre-hook": (
        lambda: changed(lambda n: n[0].register_forward_pre_hook(lambda m, i: (3 * i[0],))),
        "a forward pre-hook",
    ),
    "hook on the whole": (lambda: changed(lambda n: n.register_forward_hook(lambda m, i, o: o**2)), "a forward hook"),
    "backward hook": (
        lambda: changed(lambda n: n[0].register_full_backward_hook(lambda m, i, o: (2 * i[0],))),
        "a backward hook",
    ),
    "hook on a gradient": (
        lambda: changed(lambda n: n[0].weight.register_hook(lambda g: 2 * g)),
        "hook on its gradient",
    ),
    "weight norm": (lambda: changed(lambda n: parametrizations.weight_norm(n[0])), "parametrized weights"),
    "spectral norm": (lambda: changed(lambda n: parametrizations.spectral_norm(n[0])), "parametrized weights"),
    "spectral norm of older torch": (lambda: changed(lambda n: nn.utils.spectral_norm(n[0])), "a forward pre-hook"),
    "pruned": (lambda: changed(lambda n: prune.random_unstructured(n[0], "weight", 0.5)), "a forward pre-hook"),
    "forward replaced on the object": (lambda: changed(_replace_forward), "forward was replaced"),
    "shared weights": (lambda: changed(_tie), "weights shared by 2.weight and 3.weight"),
    "shared memory": (lambda: changed(_tie_memory), "share in memory"),
    "copied weights": (lambda: changed(_copy_block), "which hold the same numbers"),
    "transposed weights": (lambda: changed(_transpose), "hold the same numbers"),
    "opposite weights": (lambda: changed(_oppose), "hold the same numbers"),
    "memory of another's rows": (lambda: changed(_tie_rows), "share in memory"),
    "constant weights": (
        lambda: changed(lambda n: nn.init.constant_(n[0].weight, 0.3)),
        "0.weight, whose 32 numbers are all 0.3",
    ),
    "constant biases": (
        lambda: changed(lambda n: nn.init.constant_(n[0].bias, 0.1)),
        "0.bias, whose 8 numbers are all 0.1",
    ),
    "zero weights": (lambda: changed(lambda n: nn.init.zeros_(n[2].weight)), "2.weight, whose weights are all zero"),
    "identity weights": (
        lambda: nn.Sequential(nn.Linear(4, 16), nn.ReLU(), _eye(16), nn.ReLU(), nn.Linear(16, 1)),
        "most of whose weights are zero",
    ),
    "chance": (
        lambda: Fn(lambda s, x: s.c(F.relu(s.a(x) * (2.0 if random.random() < 2 else 3.0)))),
        "draws random numbers",
    ),
    "everything dropped": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(1.0), nn.Linear(8, 1)), "this Dropout"),
    "groups of two channels": (
        lambda: nn.Sequential(nn.Conv1d(2, 8, 3), nn.GroupNorm(4, 8), nn.ReLU(), nn.Flatten(), nn.Linear(48, 1)),
        "2 channels per group",
    ),
    "axes in a tuple": (lambda: Fn(lambda s, x: s.c(s.a(x).squeeze((0, 1)))), "squeeze"),
    "powers of a constant": (lambda: Fn(lambda s, x: s.c(2 ** s.a(x))), "a power with the exponent"),
    "divided by a guessed size": (
        lambda: Fn(lambda s, x: s.b((h := F.relu(s.a(x))).sum((2, 3)) / h.size(2)), image=True),
        "uses the size of a tensor; give input_shape",
    ),
    "frozen weights": (lambda: changed(lambda n: n[0].requires_grad_(False)), "some are frozen"),
    "module used twice": (lambda: Fn(lambda s, x: s.c(F.relu(s.b(F.relu(s.b(s.a(x))))))), "used twice"),
    "branches of one module": (lambda: Fn(_fork), "used twice"),
    "correlated branches": (lambda: Fn(_branch_shared), "not independent: both carry the output of b"),
    "rectified shortcut": (lambda: Fn(lambda s, x: s.c(F.relu((h := F.relu(s.a(x))) + s.b(h)))), "not Gaussian"),
    "factors that differ": (
        lambda: Fn(lambda s, x: s.c(s.a(x) * s.mask)),
        "tensor whose numbers differ",
    ),
    "minus itself": (lambda: Fn(lambda s, x: s.c((h := s.a(x)) - F.relu(h))), "not independent"),
    "trained factor": (lambda: Fn(lambda s, x: s.c(F.relu(s.gain * s.a(x)))), "gain, a parameter"),
    "trained factor, doubled": (lambda: Fn(lambda s, x: s.c(F.relu((2 * s.gain) * s.a(x)))), "gain, a parameter"),
    "constant added": (lambda: Fn(lambda s, x: s.c(F.relu(s.a(x) + 1))), r"ReLU\(\) of numbers that are not Gaussian"),
    "buffer added": (lambda: Fn(lambda s, x: s.c(F.relu(s.a(x) + s.mask))), "tensor whose numbers differ"),
    "noise": (lambda: Fn(_training_noise), "the operation randn_like"),
    "detached": (lambda: Fn(lambda s, x: s.c(F.relu(s.a(x).detach()))), "the operation detach"),
    "without gradients": (lambda: Fn(_no_grad), "gradients with respect to"),
    "in place, seen by a shortcut": (lambda: Fn(_inplace_alias), r"differ from the module's own by \d"),
    "in place, dropped": (lambda: Fn(_inplace_dropped), "mul_, which changes a tensor in place"),
    "in place by position, dropped": (lambda: Fn(_inplace_module), "relu, which changes a tensor in place"),
    "cast": (lambda: Fn(lambda s, x: s.c(F.relu(s.a(x)).to(torch.float32).to(torch.float64))), "the operation to"),
    "tuple": (lambda: Fn(lambda s, x: (s.c(F.relu(s.a(x))), x)), "not one tensor"),
    "dictionary": (lambda: Fn(lambda s, x: {"out": s.c(F.relu(s.a(x)))}), "not one tensor"),
    "features reversed": (lambda: Fn(lambda s, x: s.c(s.a(x).flip(1))), "the operation flip"),
    "some features": (lambda: Fn(lambda s, x: s.c(s.a(x)[:, [0] * 8])), "the operation getitem"),
    "mean over channels": (
        lambda: Fn(lambda s, x: s.b(F.relu(s.a(x)).mean(1)), line=True),
        "only over all pixels",
    ),
    "mean over the batch": (lambda: Fn(lambda s, x: s.c((h := s.a(x)) - h.mean(0))), "only over all pixels"),
    "sum over one axis": (
        lambda: Fn(lambda s, x: s.b(F.relu(s.a(x)).sum(3).mean(2)), image=True),
        "sum over axes 3",
    ),
    "mean in another precision": (
        lambda: Fn(lambda s, x: s.b(s.a(x).mean((2, 3), dtype=torch.float64)), image=True),
        "mean with the arguments .*dtype",
    ),
    "transposed pixels and channels": (
        lambda: Fn(lambda s, x: s.b(s.a(x).permute(0, 2, 3, 1).mean((1, 2))), image=True),
        "the operation permute",
    ),
    "view that mixes samples": (lambda: Fn(lambda s, x: s.c(s.a(x).t().reshape(-1, 8))), "the operation t"),
    "reshape into pixels": (lambda: Fn(lambda s, x: s.c(s.a(x).view(-1, 2, 4).flatten(1))), "a reshape of"),
    "batch size in the code": (lambda: Fn(lambda s, x: s.c(s.a(x).view(2, -1))), "no input shape|does not run"),
    "divided by the batch size": (
        lambda: Fn(lambda s, x: s.c(F.relu(s.a(x)) / x.size(0))),
        "differ from the module's own|uses the size",
    ),
    "softmax": (lambda: Fn(lambda s, x: s.c(s.a(x).softmax(1))), "the operation softmax"),
    "argument by position": (lambda: Fn(lambda s, x: s.c(F.dropout(s.a(x), 0.5, True, False, 3))), "cannot trace"),
    "output argument": (lambda: Fn(lambda s, x: s.c(torch.mul(h := s.a(x), 2.0, out=h))), "mul with the arguments"),
    "division with rounding": (
        lambda: Fn(lambda s, x: s.c(torch.div(s.a(x), 2, rounding_mode="floor"))),
        "not by a constant",
    ),
    "feature-wise dropout": (lambda: Fn(lambda s, x: s.c(F.alpha_dropout(s.a(x), 0.5, True))), "alpha_dropout"),
    "groups": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(144, 1)), "groups=2"),
    "reflected padding": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect"), nn.Flatten(), nn.Linear(256, 1)),
        "padding_mode='reflect'",
    ),
    "windows that stick out": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.AvgPool1d(4, ceil_mode=True), nn.Flatten(), nn.Linear(8, 1)),
        "ceil_mode",
    ),
    "LayerNorm with unlike weights": (
        lambda: nn.Sequential(nn.Linear(4, 8), _norm(weight=torch.arange(8.0)), nn.ReLU(), nn.Linear(8, 1)),
        "weights that differ",
    ),
    "LayerNorm with a bias": (
        lambda: nn.Sequential(nn.Linear(4, 8), _norm(bias=torch.ones(8)), nn.ReLU(), nn.Linear(8, 1)),
        "LayerNorm with a bias",
    ),
    "lazy": (lambda: nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.Linear(8, 1)), "a forward pre-hook"),
    "compiled": (lambda: changed(lambda n: setattr(n, "_compiled_call_impl", n._call_impl)), "is compiled"),
}


def _norm(weight: Tensor | None = None, bias: Tensor | None = None) -> nn.LayerNorm:
    norm = nn.LayerNorm(8)
    with torch.no_grad():
        if weight is not None:
            norm.weight.copy_(weight)
        if bias is not None:
            norm.bias.copy_(bias)
    return norm


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises((NotImplementedError, ValueError), match=message):
        from_module(make())


def test_a_hook_on_all_modules_is_refused() -> None:
    handle = register_module_forward_hook(lambda m, i, o: 2 * o if isinstance(m, nn.Linear) else None)
    try:
        with pytest.raises(NotImplementedError, match="a hook on all modules"):
            from_module(mlp())
    finally:
        handle.remove()


def test_reading_leaves_the_module_alone() -> None:
    net = Fn(lambda s, x: s.c(F.relu(s.a(x) * torch.tensor(2.0))))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    names, random = set(net.__dict__), torch.get_rng_state()
    from_module(net)
    assert net.a.weight.dtype is torch.float32
    assert net.a.weight.grad is None
    assert net.training
    assert set(net.__dict__) == names
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())


# -- read for what it is, judged by redrawn networks --------------------------------------------------------------------


OUTPUTS = 32  # over which f f' is averaged in each network


class Wide(nn.Module):
    """Layers a, b, c with a function around them, wide enough that the limit is near."""

    def __init__(self, fn: Callable[..., Tensor], shape: tuple[int, ...], width: int = 128) -> None:
        super().__init__()
        conv = {1: nn.Linear, 2: nn.Conv1d, 3: nn.Conv2d}[len(shape)]
        more = () if len(shape) == 1 else (3,)
        self.a, self.b = conv(shape[0], width, *more), nn.Linear(width, width)
        self.c, self.d = nn.Linear(width, OUTPUTS), nn.Linear(width, 3 * width)
        self.e, self.f = nn.Linear(4 * width, OUTPUTS), nn.Linear(width, width)
        self.fn = fn
        with torch.no_grad():
            for p in (
                self.a,
                self.b,
                self.c,
                self.d,
                self.e,
                self.f,
            ):  # torch's variances, but Gaussian: inputs are few
                for weights in p.parameters():
                    weights.normal_(std=(3 * p.weight[0].numel()) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(self, x)


def _inception(s: Wide, x: Tensor) -> Tensor:
    h = F.relu(s.a(x))
    return s.e(torch.cat([3 * s.b(h), s.d(h)], 1))


def _dense_net(s: Wide, x: Tensor) -> Tensor:
    """The second layer stands in two branches: beside the third, and under it."""
    h = s.a(x)
    g = s.b(F.relu(h))
    return s.e(torch.cat([g, s.d(F.relu(h + g))], 1))


def _reused(s: Wide, x: Tensor) -> Tensor:
    h = s.a(x)
    g = s.b(F.relu(h))
    return s.c(F.relu(h + g + s.f(F.relu(h + g))))


READ: dict[str, tuple[tuple[int, ...], Callable[..., Tensor]]] = {
    "add with alpha": ((4,), lambda s, x: s.c(F.relu(torch.add(h := s.a(x), s.b(F.relu(h)), alpha=3)))),
    "softplus with beta": ((4,), lambda s, x: s.c(F.softplus(s.a(x), 10.0))),
    "average pool with a divisor": (
        (2, 6, 6),
        lambda s, x: s.c(F.avg_pool2d(F.relu(s.a(x)), 2, divisor_override=1).mean((2, 3))),
    ),
    "mean over a line": ((2, 6), lambda s, x: s.c(F.relu(s.a(x)).mean(-1))),
    "square": ((4,), lambda s, x: s.c((h := s.a(x)) * h)),
    "twice the same": ((4,), lambda s, x: s.c(F.relu((h := s.a(x)) + h))),
    "difference": ((4,), lambda s, x: s.c(F.relu((h := s.a(x)) - s.b(F.relu(h))))),
    "branches of unlike widths": ((4,), _inception),
    "a layer in two branches": ((4,), _dense_net),
    "a sum used twice": ((4,), _reused),
    "divided by a size": ((4,), lambda s, x: s.c(F.relu(s.a(x)) * 9 / x.shape[1])),
    "gate": ((4,), lambda s, x: s.c(F.relu(h := s.a(x)) * s.b(h))),
}


@pytest.mark.parametrize("name", READ)
def test_read_for_what_it_is(name: str) -> None:
    shape, fn = READ[name]
    torch.manual_seed(1)
    x = torch.randn(2, *shape)
    with torch.no_grad():
        f = torch.stack([Wide(fn, shape)(x) for _ in range(200)]).double()  # (draws, n, outputs)
    nngp = from_module(Wide(fn, shape), shape, variances="torch").kernel(x.double(), kinds="nngp").nngp
    products = f @ f.mT / OUTPUTS
    noise = products.std(0) / len(f) ** 0.5
    assert ((products.mean(0) - nngp).abs() < 4 * noise).all()
    assert ((products.mean(0) - 1.3 * nngp).abs() > 4 * noise).any()


def test_weights_unlike_independent_draws_are_told() -> None:
    """A mean, or inputs that are hardly seen: the kernel cannot know it, and says so; torch's own weights are quiet."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    from_module(net)  # a warning would be an error here
    with torch.no_grad():
        net[0].weight[:, :5] *= 0.1
        net[2].weight += 0.05
    with pytest.warns(
        UserWarning, match=r"0.weight has mean squares from 0.0\d+ to .*2.weight has a mean \d+ standard errors"
    ):
        from_module(net)
    from_module(net, variances="torch")


def test_weights_of_every_usual_law_are_quiet() -> None:
    for seed, init in enumerate(
        (
            nn.init.kaiming_normal_,
            nn.init.kaiming_uniform_,
            nn.init.xavier_normal_,
            nn.init.orthogonal_,
            nn.init.trunc_normal_,
        )
    ):
        torch.manual_seed(seed)
        net = nn.Sequential(
            nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2304, 100), nn.ReLU(), nn.Linear(100, 1)
        )
        for part in net:
            if isinstance(part, nn.Linear | nn.Conv2d):
                init(part.weight)
        from_module(net, (3, 8, 8))


def test_a_forward_without_gradients_is_refused():
    class Silent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 40)

        def forward(self, x):
            with torch.no_grad():
                return self.layer(x)

    with pytest.raises(NotImplementedError, match="without gradients"):
        from_module(Silent(), (6,))


def test_one_input_whose_weights_are_larger_is_told():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 1))
    from_module(network, (100,))  # the control: a warning is an error here
    with torch.no_grad():
        network[0].weight[:, 3] *= 1.6  # one of a hundred: the others hardly change
    with pytest.warns(UserWarning, match="mean squares from .* over its inputs"):
        from_module(network, (100,))
