"""What the gradient of a network knows of a parity: its Walsh coefficients, by degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from priorscope.checks import check, whole
from priorscope.contracts import guarded
from priorscope.printing import printed
from priorscope.probes.limits._trainable import trainable
from priorscope.probes.tangent._apart import check_takes

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["GradientSignal", "all_signs", "gradient_signal", "walsh_hadamard"]

_MOST_BITS = 16


@guarded(n=whole())
def all_signs(n: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """All inputs of n bits ±1 (2^n, n); bit k of the row's number decides the sign of column k.

    Example:
        >>> all_signs(2).tolist()
        [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    """
    check("all_signs", "n", n, whole(1, most=24))
    return 1 - 2 * (torch.arange(2**n)[:, None] >> torch.arange(n) & 1).to(dtype)


@guarded()
def walsh_hadamard(values: Tensor) -> Tensor:
    r"""Coefficients :math:`\hat f(S) = \mathbb E_x f(x) \prod_{i \in S} x_i` along the first axis, rows as in :func:`all_signs`.

    Row S of the result belongs to the set of bits of its number. The fast transform of Fino & Algazi (1976): n 2^n additions.

    Example:
        >>> x = all_signs(3)
        >>> walsh_hadamard(x[:, 0] * x[:, 2]).tolist()  # bits 0 and 2: row 5
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    n = len(values)
    if n & (n - 1) or n == 0:
        raise ValueError(f"walsh_hadamard needs a power of two rows; got {n}.")
    out, step = values.clone(), 1
    while step < n:
        pairs = out.reshape(n // (2 * step), 2, step, *values.shape[1:])
        out = torch.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(values.shape)
        step *= 2
    return out / n


@printed
@dataclass(frozen=True)
class GradientSignal:
    r"""Root mean square of :math:`\|\hat\nabla_S\|` over the sets S of each degree, and that over all sets.

    ``floor`` is :math:`(\mathbb E\|\nabla f\|^2/2^n)^{1/2}`, what a gradient that knows nothing of parities has at every degree.

    Example:
        >>> signal = gradient_signal(nn.Linear(3, 1, bias=False).double(), 3)
        >>> [round(v, 6) for v in signal.by_degree.tolist()]  # a linear network sees single bits alone
        [0.0, 1.0, 0.0, 0.0]
    """

    by_degree: NDArray[np.float64]
    floor: float

    def table(self) -> pd.DataFrame:
        """One row per degree."""
        import pandas as pd

        return pd.DataFrame({"degree": np.arange(len(self.by_degree)), "signal": self.by_degree, "floor": self.floor})

    def chart(self) -> alt.TopLevelMixin:
        """The signal by degree (points), and the floor (dashed)."""
        import altair as alt

        table = self.table()
        table = table[table["signal"] > 1e-12 * max(float(table["signal"].max()), 1e-300)]
        base = alt.Chart(table).encode(x=alt.X("degree:O", title="degree of the monomial"))
        y = alt.Y("signal:Q", title="gradient signal, root mean square").scale(type="log")
        floor = base.mark_line(strokeDash=[4, 4], color="grey").encode(y="floor:Q")
        return alt.layer(base.mark_line(point=True).encode(y=y), floor)


@guarded(n=whole(), batch=whole())
def gradient_signal(network: nn.Module, n: int, *, batch: int = 512) -> GradientSignal:
    r"""How strongly the gradient of a network on n bits points to monomials of each degree, exactly, over all inputs.

    For the squared loss, learning :math:`\prod_{i\in S}x_i` changes the gradient by :math:`\hat\nabla_S = \mathbb
    E_x[\nabla_w f(x)\prod_{i\in S}x_i]`, one Walsh coefficient per weight (Abbe & Sandon 2018, the proof of Theorem
    1). By Parseval the mean of :math:`\|\hat\nabla_S\|^2` over all sets is :math:`\mathbb E\|\nabla f\|^2/2^n`: high
    degrees sink to that floor.

    Example:
        >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
        <torch._C.Generator ...>
        >>> net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)).double()
        >>> signal = gradient_signal(net, 6)
        >>> bool(signal.by_degree[1] > 3 * signal.by_degree[5])
        True
    """
    check("gradient_signal", "n", n, whole(1, "All 2^n inputs are visited.", most=_MOST_BITS))
    params = trainable(network, "gradient_signal")
    kind = next(iter(params.values())).dtype
    x = all_signs(n, kind)
    check_takes(network, x[:1], "gradient_signal")

    def output(weights: dict[str, Tensor], row: Tensor) -> Tensor:
        found: Tensor = functional_call(network, weights, (row[None],))
        if found.numel() != 1:
            raise ValueError(
                f"gradient_signal needs one output per input; the network gives shape {tuple(found.shape)}."
            )
        return found.reshape(())

    jacobian = vmap(jacrev(output), in_dims=(None, 0))
    size = sum(p.numel() for p in params.values())
    if size * len(x) > 2**28:
        raise ValueError(
            f"gradient_signal holds {size} weights times {len(x)} inputs; use a smaller network or fewer bits."
        )
    rows = []
    for part in x.split(batch):
        slopes = jacobian(params, part)
        rows.append(torch.cat([slopes[name].reshape(len(part), -1) for name in params], 1))
    slope = torch.cat(rows).double()
    power = walsh_hadamard(slope).square().sum(1).numpy()
    degree = np.array([int(s).bit_count() for s in range(2**n)])
    by_degree = np.sqrt([power[degree == k].mean() for k in range(n + 1)])
    return GradientSignal(by_degree, float(np.sqrt(float(slope.square().sum(1).mean()) / 2**n)))
