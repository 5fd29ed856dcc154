"""Kernels without a closed form: the mean over networks that are drawn again."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from priorscope.checks import SEED, checked, whole
from priorscope.models.architectures.reading._graph import WithoutDropout
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.models.networks._initial_law import InitialLaw, StatesLaws
from priorscope.models.networks._redrawing import Redrawing
from priorscope.printing import printed

__all__ = ["SampledKernel", "SampledModel"]

MEASURED = (
    "its initial law is not known; every parameter is drawn Gaussian and independent, with the mean and deviation of its "
    "present entries (those that are all alike stay as they are)"
)


@printed
@dataclass(frozen=True, eq=False)
class SampledKernel:
    """Kernels that are means over ``draws`` networks; ``standard_error`` has the error of each entry in the same fields.

    Example:
        >>> import torch, priorscope as ps
        >>> net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Softmax(1), torch.nn.Linear(16, 1))
        >>> k = ps.models.from_module(net, fallback="sampled", draws=8).kernel(torch.eye(3))
        >>> k.ntk.shape, k.standard_error.ntk.shape, k.draws
        (torch.Size([3, 3]), torch.Size([3, 3]), 8)
    """

    nngp: Tensor | None
    ntk: Tensor | None
    standard_error: Kernel
    draws: int


@checked(draws=whole(2), seed=SEED)
@dataclass(frozen=True)
class SampledModel:
    r"""A torch module whose kernels are sampled from networks like it, at its own width.

    .. math:: K = \frac1D\sum_{d}\frac1O f_d(x)\cdot f_d(x'), \qquad
        \Theta = \frac1D\sum_d\sum_p s_p^2\,\partial_p g_d(x)\,\partial_p g_d(x'), \quad g_d = \epsilon_d\cdot f_d/\sqrt O

    the definitions of Jacot et al. (2018), "Neural tangent kernel", averaged over D networks of O outputs,
    with random signs :math:`\epsilon_d` so that one gradient stands for all outputs, and
    :math:`s_p^2` the mean square of parameter p under its law: gradients are those of the NTK parametrisation
    :math:`p = s_p\,\omega_p`, as everywhere here. Parameters that the law holds fixed (gains of norms, biases at zero) and
    frozen ones do not count. The networks are the same in every call, so that blocks of one kernel fit together. ``notes`` say by
    which law the networks are drawn. Where outputs depend on the whole batch (batch normalisation in training), the
    kernel is that of the batch ``x1`` followed by ``x2``.

    Example:
        >>> import torch, priorscope as ps
        >>> nn = torch.nn
        >>> pooled = nn.Sequential(nn.Conv1d(2, 8, 3), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(16, 1))
        >>> model = ps.models.from_module(pooled, (2, 6), fallback="sampled", draws=16)
        >>> model.kernel(torch.ones(1, 2, 6), kinds="nngp").nngp.shape
        torch.Size([1, 1])
    """

    name: str
    template: nn.Module
    draws: int = 64
    seed: int = 0
    redrawing: Redrawing | None = None
    notes: tuple[str, ...] = ()
    fixed: bool = False  # the kernel is that of the template at its weights

    @classmethod
    def at_weights(cls, module: nn.Module, why: str) -> SampledModel:
        """The kernels of one trained network as it is: gradients are plain, and there is no other draw.

        Example:
            >>> import torch
            >>> net = torch.nn.Linear(2, 1, bias=False)
            >>> SampledModel.at_weights(net, "trained").kernel(torch.eye(2, dtype=torch.float64)).ntk.tolist()
            [[1.0, 0.0], [0.0, 1.0]]
        """
        template = copy.deepcopy(module)
        notes = ("the kernel is that of this one network at its present weights, of its plain gradients", why)
        return cls(type(module).__name__.lower(), template, draws=2, notes=notes, fixed=True)

    @classmethod
    def of(cls, module: nn.Module, *, variances: str, draws: int, seed: int, why: str) -> SampledModel:
        """Read the law by which the module is drawn again: its own, torch's, or that of its present weights."""
        template = copy.deepcopy(module)
        if variances == "torch":
            _reset(template)
        try:
            redrawing = Redrawing.of(template)
            law = redrawing.note
        except ValueError:
            redrawing, law = None, MEASURED
        notes = (f"the kernel is sampled from {draws} networks, {law}", why)
        return cls(type(module).__name__.lower(), template, draws, int(seed), redrawing, notes)

    def network(self, seed: int) -> nn.Module:
        """One of the networks, with weights of its own.

        Example:
            >>> import torch
            >>> like = SampledModel.of(torch.nn.Linear(2, 1), variances="measured", draws=2, seed=0, why="")
            >>> like.network(0)(torch.zeros(4, 2)).shape
            torch.Size([4, 1])
        """
        if self.fixed:
            return copy.deepcopy(self.template)
        if self.redrawing is not None:
            return self.redrawing.network(seed)
        fresh = copy.deepcopy(self.template)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in fresh.parameters():
                mean, deviation = float(parameter.double().mean()), float(parameter.double().std(correction=0))
                omega = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                if deviation > 0:
                    parameter.copy_(mean + deviation * omega)
        return fresh

    def kernel(
        self,
        x1: Tensor,
        x2: Tensor | None = None,
        *,
        kinds: tuple[str, ...] | str = ("nngp", "ntk"),
        dtype: torch.dtype | None = None,
    ) -> SampledKernel:
        """Kernels between two batches with their standard errors; computed in float64.

        Example:
            >>> import torch
            >>> like = SampledModel.of(torch.nn.Linear(2, 1), variances="measured", draws=4, seed=0, why="")
            >>> like.kernel(torch.eye(2), kinds="nngp").ntk is None
            True
        """
        kinds = check_kinds(kinds)
        tokens = any(isinstance(m, nn.Embedding | nn.EmbeddingBag) for m in self.template.modules())
        for name, x in (("x1", x1), ("x2", x2)):
            numbers = isinstance(x, Tensor) and (x.is_floating_point() or (tokens and not x.is_complex()))
            if x is not None and not (numbers and bool(x.isfinite().all())):
                raise ValueError(
                    f"kernel needs {name} as a floating-point tensor without NaN or infinite values, or as whole numbers for a "
                    "module that embeds them."
                )
        both = x1 if x2 is None else torch.cat([x1, x2])
        both = both.detach().to("cpu", torch.float64 if both.is_floating_point() else torch.long)  # tokens stay whole
        n1 = None if x2 is None else len(x1)
        means = {kind: _Mean() for kind in kinds}
        mixes = "ntk" in kinds and _depends_on_batch(copy.deepcopy(self.template).to("cpu", torch.float64), both)
        for net, sizes, seed in self._networks():
            found = _one_network(net, sizes, both, n1, mixes if "ntk" in kinds else None, seed)
            for kind in kinds:
                means[kind].add(found[kind])
        kept = dtype or (x1.dtype if x1.is_floating_point() else torch.get_default_dtype())
        values = {kind: mean.value.to(x1.device, kept) for kind, mean in means.items()}
        errors = Kernel(**{kind: mean.error.to(x1.device, kept) for kind, mean in means.items()})
        return SampledKernel(values.get("nngp"), values.get("ntk"), errors, 1 if self.fixed else self.draws)

    def _networks(self) -> Iterator[tuple[nn.Module, dict[str, float], int]]:
        """Each network in float64, with the mean squares of its trained parameters, and its seed."""
        sizes = {name: self._mean_square(name, p) for name, p in self.template.named_parameters() if p.requires_grad}
        sizes = {name: size for name, size in sizes.items() if size > 0}
        for draw in range(self.draws):
            seed = self.seed * 1_000_003 + draw
            yield self.network(seed).to("cpu", torch.float64), sizes, seed

    def _mean_square(self, name: str, parameter: Tensor) -> float:
        """Under the law; zero where the law holds the parameter fixed."""
        if self.fixed:
            return 1.0
        law: InitialLaw | None = None if self.redrawing is None else self.redrawing.laws.get(name)
        if law is not None:
            return 0.0 if law.kind == "constant" else law.mean_square
        values = parameter.detach().double()
        return float(values.square().mean()) if bool((values != values.flatten()[0]).any()) else 0.0


class _Mean:
    """Mean and standard error of matrices that come one by one."""

    def __init__(self) -> None:
        self.n, self.value, self.squares = 0, torch.zeros(()), torch.zeros(())

    def add(self, value: Tensor) -> None:
        self.n += 1
        before = self.value
        self.value = before + (value - before) / self.n
        self.squares = self.squares + (value - before) * (value - self.value)

    @property
    def error(self) -> Tensor:
        return (self.squares / (self.n - 1) / self.n).sqrt()


def _reset(module: nn.Module) -> None:
    """Every part drawn by its own reset_parameters, torch's random state left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for part in module.modules():
            reset = getattr(part, "reset_parameters", None)
            if callable(reset) and not isinstance(part, StatesLaws):
                reset()


def _one_network(
    net: nn.Module, sizes: dict[str, float], x: Tensor, n1: int | None, mixes: bool | None, seed: int
) -> dict[str, Tensor]:
    """The kernels of one network between the first ``n1`` inputs and the rest, or of all with themselves where it is None.

    ``mixes`` says whether outputs depend on the whole batch; None where no tangent kernel is wanted.
    """
    cut: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda a: (a, a) if n1 is None else (a[:n1], a[n1:])  # noqa: E731
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # masks of dropout come from the global generator
        with torch.no_grad():
            f = _outputs(copy.deepcopy(net), x)  # batch normalisation moves its averages
        first, second = cut(f)
        found = {"nngp": first @ second.mT / f.shape[1]}
        if mixes is not None:
            signs = torch.randint(0, 2, (f.shape[1],)).double() * 2 - 1
            jacobian = _gradients(net, sizes, x, signs / f.shape[1] ** 0.5, mixes)
            first, second = cut(jacobian)
            found["ntk"] = first @ second.mT
    return found


def _outputs(net: nn.Module, x: Tensor) -> Tensor:
    """Outputs (n, O)."""
    f = net(x)
    if not isinstance(f, Tensor) or len(f) != len(x):
        raise NotImplementedError(
            f"a sampled kernel needs a module that gives one tensor with a row per input; {type(net).__name__} gives "
            f"{type(f).__name__}. Wrap it in a module that returns the tensor meant."
        )
    return f.reshape(len(x), -1)


def _gradients(net: nn.Module, sizes: dict[str, float], x: Tensor, signs: Tensor, mixes: bool) -> Tensor:
    """Gradients (n, parameters) of the signed sum of outputs, each parameter in units of its own deviation."""
    if not sizes:
        return torch.zeros(len(x), 1, dtype=torch.float64)
    params = {name: p for name, p in net.named_parameters() if name in sizes}

    def scale(grads: dict[str, Tensor]) -> Tensor:
        return torch.cat([sizes[k] ** 0.5 * g.flatten(1) for k, g in grads.items()], 1)

    if not mixes:

        def one(p: dict[str, Tensor], row: Tensor) -> Tensor:
            found: Tensor = functional_call(net, p, (row[None],)).reshape(-1) @ signs
            return found

        detached = {k: p.detach() for k, p in params.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                return scale(vmap(jacrev(one), (None, 0), randomness="different", chunk_size=32)(detached, x))
        except (RuntimeError, ValueError, NotImplementedError, UserWarning):
            pass  # what torch.func cannot do, or only slowly, autograd does row by row
    rows = []
    f = _outputs(net, x) @ signs if mixes else None
    for i in range(len(x)):
        value = f[i] if f is not None else (_outputs(net, x[i : i + 1]) @ signs)[0]
        grads = torch.autograd.grad(value, list(params.values()), retain_graph=mixes, allow_unused=True)
        filled = [torch.zeros_like(p) if g is None else g for g, p in zip(grads, params.values())]
        rows.append(scale({k: g[None] for k, g in zip(params, filled)}))
    return torch.cat(rows)


def _depends_on_batch(net: nn.Module, x: Tensor) -> bool:
    """Whether an input's output changes with its neighbours, or it cannot be asked alone; masks of dropout left out."""
    with torch.no_grad(), WithoutDropout():
        together = _outputs(copy.deepcopy(net), x)
        try:
            alone = _outputs(copy.deepcopy(net), x[:1])
        except (RuntimeError, ValueError):  # batch normalisation in training wants more than one
            return True
    return not torch.allclose(together[:1], alone, rtol=1e-9, atol=1e-12)
