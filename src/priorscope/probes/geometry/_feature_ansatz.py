"""The neural feature ansatz on a network of one's own: do weights become the average gradient outer product of their layer?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.checks import SEED, whole
from priorscope.contracts import Samples, guarded
from priorscope.models.layers import ConvModule, DenseModule
from priorscope.probes.geometry._outer_product import inputs_of
from priorscope.probes.tangent._capture import Call, capture

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FeatureAnsatz", "LayerFeatures", "feature_ansatz"]

POWERS = tuple(round(0.05 * k, 2) for k in range(1, 31))  # s that are compared
BLOCKS = 10  # of samples, for errors


@dataclass(frozen=True, eq=False)
class LayerFeatures:
    r"""One layer: its weight W (out, in · taps) and :math:`E[\delta\delta^\top]` (blocks, out, out) of the gradients at its
    output.

    With respect to what enters the layer (patches of it, for a convolution) the gradient is :math:`W^\top\delta`, so that
    :math:`M = W^\top E[\delta\delta^\top] W`; powers and products with :math:`W^\top W` need matrices of out by out only.

    Example:
        >>> layer = LayerFeatures("first", torch.eye(2), torch.eye(2)[None])
        >>> layer.moment.tolist(), round(layer.correlation(0.5), 6)
        ([[1.0, 0.0], [0.0, 1.0]], 1.0)
    """

    name: str
    weight: Tensor = field(repr=False)
    deltas: Tensor = field(repr=False)

    @property
    def inputs(self) -> int:
        """How many numbers one output of the layer sees."""
        return int(self.weight.shape[1])

    @property
    def moment(self) -> Tensor:
        """M (in, in) of this layer in float64."""
        W = self.weight.double()
        return W.mT @ self.deltas.double().mean(0) @ W

    @cached_property
    def _parts(self) -> tuple[Tensor, Tensor]:
        return _spectral(self.weight, self.deltas.mean(0))

    def correlation(self, power: float = 0.5, *, without_identity: bool = False) -> float:
        r"""Frobenius cosine of :math:`W^\top W` and :math:`M^s`; ``without_identity``: of both less their multiple of the
        identity.

        Wide layers start with both near a multiple of the identity, which alone makes the cosine high; what is left without
        it is what was learnt.
        """
        return _cosine(self.weight, *self._parts, power, without_identity)

    def best(self) -> tuple[float, float]:
        """The power s in (0, 1.5] with the highest correlation, and that correlation."""
        found = [(self.correlation(s), s) for s in POWERS]
        value, s = max(found)
        return s, value

    def error(self, power: float = 0.5, *, without_identity: bool = False) -> float:
        """Standard error of the correlation: a jackknife over blocks of samples; not a number for one block."""
        n = len(self.deltas)
        if n < 2:
            return float("nan")
        total = self.deltas.sum(0)
        left = [
            _cosine(self.weight, *_spectral(self.weight, (total - one) / (n - 1)), power, without_identity)
            for one in self.deltas
        ]
        return float(((n - 1) * torch.tensor(left, dtype=torch.float64).var(correction=0)) ** 0.5)


def _spectral(weight: Tensor, deltas: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues of M above zero, and ‖W v‖² of its modes: from B = E[δδᵀ]^½ W and its small Gram matrix."""
    W = weight.double()
    lam, U = torch.linalg.eigh(deltas.double())
    B = (U * lam.clamp(min=0).sqrt()) @ U.mT @ W  # (out, in), M = BᵀB
    if B.shape[0] <= B.shape[1]:
        mu, left = torch.linalg.eigh(B @ B.mT)
        kept = mu > 1e-14 * mu[-1].clamp(min=1e-300)
        V = B.mT @ left[:, kept] / mu[kept].sqrt()
    else:
        mu, V = torch.linalg.eigh(B.mT @ B)
        kept = mu > 1e-14 * mu[-1].clamp(min=1e-300)
        V = V[:, kept]
    return mu[kept], (W @ V).square().sum(0)


def _cosine(weight: Tensor, mu: Tensor, along: Tensor, power: float, without_identity: bool) -> float:
    W = weight.double()
    small = W @ W.mT if W.shape[0] <= W.shape[1] else W.mT @ W
    D, a = W.shape[1], mu**power
    inner, first, second = float(a @ along), float(small.square().sum()), float(a @ a)
    if without_identity:
        trace, other = float(W.square().sum()), float(a.sum())
        inner, first, second = inner - trace * other / D, first - trace**2 / D, second - other**2 / D
    size = (max(first, 0.0) * max(second, 0.0)) ** 0.5
    return inner / size if size > 1e-14 * abs(float(W.square().sum()) * float(a.sum())) else float("nan")


@dataclass(frozen=True)
class FeatureAnsatz:
    """The layers of a network with how far :math:`W^\\top W` is proportional to :math:`M^s` in each.

    Example:
        >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
        >>> [layer.name for layer in feature_ansatz(net, torch.randn(20, 3)).layers]
        ['0', '2']
    """

    layers: tuple[LayerFeatures, ...]
    notes: tuple[str, ...] = ()

    def layer(self, name: str) -> LayerFeatures:
        """The layer of this name."""
        found = next((one for one in self.layers if one.name == name), None)
        if found is None:
            raise KeyError(f"no layer {name!r}; there are {', '.join(one.name for one in self.layers)}.")
        return found

    def table(self) -> pd.DataFrame:
        """One row per layer: correlations at s = ½ and 1 with a jackknife error, without the identity, and the best s."""
        rows = []
        for place, one in enumerate(self.layers, 1):
            power, best = one.best()
            rows.append(
                {
                    "place": place,
                    "layer": one.name,
                    "inputs": one.inputs,
                    "outputs": int(one.weight.shape[0]),
                    "correlation": one.correlation(0.5),
                    "standard_error": one.error(0.5),
                    "at_one": one.correlation(1.0),
                    "without_identity": one.correlation(0.5, without_identity=True),
                    "best_power": power,
                    "best_correlation": best,
                }
            )
        return pd.DataFrame(rows)

    def chart(self) -> alt.TopLevelMixin:
        """Correlation against the power s, one line per layer."""
        import altair as alt

        rows = [
            {"layer": f"{place} ({one.name})", "s": s, "correlation": one.correlation(s)}
            for place, one in enumerate(self.layers, 1)
            for s in POWERS
        ]
        lines = alt.Chart(pd.DataFrame(rows), title="WᵀW against M^s").mark_line()
        encoded = lines.encode(
            x=alt.X("s:Q", title="power s"), y=alt.Y("correlation:Q").scale(zero=False), color="layer:N"
        )
        chart: alt.TopLevelMixin = encoded.properties(width=420, height=260)
        return chart


@guarded(n_samples=whole(2), seed=SEED)
def feature_ansatz(network: nn.Module, data: Samples | Tensor, *, n_samples: int = 500, seed: int = 0) -> FeatureAnsatz:
    r"""Compare, layer by layer, :math:`W^\top W` with powers of :math:`M = E[\nabla f\nabla f^\top]` at what enters the layer.

    The deep neural feature ansatz says that trained weights have :math:`W^\top W \propto M^s` (Radhakrishnan et al. 2024,
    Science 383, 1461; for patches of convolutions Beaglehole et al. 2023, arXiv 2309.00570). Gradients are means over
    up to ``n_samples`` inputs and over outputs, through the layer itself; layers are the linear and convolutional ones that
    the network calls once, with what they see in the order of their weight. The network is looked at in evaluation mode and
    left as it was.

    Example:
        >>> net = nn.Sequential(nn.Linear(4, 1, bias=False))
        >>> round(feature_ansatz(net, torch.randn(10, 4)).layers[0].correlation(1.0), 6)  # W'W = ww', M = ww'
        1.0
    """
    x = inputs_of(data)
    generator = torch.Generator().manual_seed(seed)
    if len(x) > n_samples:
        x = x[torch.randperm(len(x), generator=generator)[:n_samples].sort().values]
    dtype = next((p.dtype for p in network.parameters() if p.is_floating_point()), None)
    if dtype is None:
        raise ValueError("feature_ansatz needs a network with weights; this one has none.")
    names = {id(module): name for name, module in network.named_modules()}
    watched = [module for module in network.modules() if _weight(module) is not None]
    if not watched:
        raise ValueError(
            "feature_ansatz found no linear or convolutional layer with ungrouped weights in this network."
        )
    was = network.training
    network.eval()
    sums: dict[int, list[Tensor]] = {}
    calls: dict[int, int] = {}
    blocks = min(BLOCKS, len(x))
    try:
        for part in x.to(dtype).tensor_split(blocks):
            share = len(part) * blocks / len(x)  # so that every row counts alike
            _, seen = capture(network, part, watched, guard=True)
            for call in seen.calls:
                sums.setdefault(id(call.module), []).append(share * _moment(call))
                calls[id(call.module)] = calls.get(id(call.module), 0) + 1
    finally:
        network.train(was)
    layers, notes = [], []
    for module in watched:
        weight = _weight(module)
        assert weight is not None
        name = names[id(module)] or "the network"
        if calls.get(id(module), 0) != blocks:
            notes.append(f"{name} is called {calls.get(id(module), 0) // blocks} times per pass and was left out")
            continue
        deltas = torch.stack(sums[id(module)])
        if not bool(deltas.any()):
            notes.append(f"{name} does not move the outputs and was left out")
            continue
        layers.append(LayerFeatures(name, weight.detach().flatten(1).double(), deltas))
    return FeatureAnsatz(tuple(layers), tuple(notes))


def _weight(module: nn.Module) -> Tensor | None:
    """The weight of a linear layer or an ungrouped convolution, of torch or of this library; None of anything else."""
    if isinstance(module, nn.Conv1d | nn.Conv2d) and module.groups != 1:
        return None
    known = (nn.Linear, nn.Conv1d, nn.Conv2d, DenseModule, ConvModule)
    return module.weight if isinstance(module, known) else None


def _moment(call: Call) -> Tensor:
    """Mean of δδᵀ (out, out) over samples, outputs and positions; features of torch's linear layers stand last."""
    assert call.deltas is not None
    d = call.deltas.double()  # (n, outputs, *out)
    if isinstance(call.module, nn.Linear):
        rows = d.reshape(-1, d.shape[-1])
    else:
        rows = d.movedim(2, -1).reshape(-1, d.shape[2])
    return rows.mT @ rows / len(rows)
