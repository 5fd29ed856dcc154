"""A certificate that noisy gradient descent cannot learn a family of functions: how far training on coin flips moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from priorscope.checks import NOT_NEGATIVE, POSITIVE, SEED, check, optional, whole
from priorscope.contracts import guarded
from priorscope.printing import printed
from priorscope.probes.limits._trainable import trainable
from priorscope.statistics import Interval, seed_interval

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["JunkFlow", "junk_flow"]


@printed
@dataclass(frozen=True)
class JunkFlow:
    r"""How far noisy gradient descent moves on labels that are coin flips.

    ``steps`` (runs, steps) are :math:`\gamma\sqrt{\mathbb E\|\nabla\ell\|^2}`. The junk labels never see the function
    to be learnt, so that one simulation speaks of all families at once.

    Example:
        >>> JunkFlow(np.full((3, 10), 2.0), noise=0.1).flow
        Interval(value=20.0, low=20.0, high=20.0)
    """

    steps: NDArray[np.float64]
    noise: float

    @property
    def flow(self) -> Interval:
        """The junk flow, summed over steps, with its interval over runs."""
        return seed_interval(self.steps.sum(1))

    def advantage(self, cross_predictability: float, *, orthonormal: bool = False) -> float:
        r"""The accuracy above one half that cannot be exceeded on a family of this cross-predictability; at most one half.

        .. math:: \mathrm{accuracy} \le \tfrac12 + \frac{1}{2\sigma}\,\mathrm{JF}\;\mathrm{CP}^{1/4}

        Abbe & Sandon (2018), Theorem 1, with the root mean square of the gradient of single samples (the slide prints
        the norm of the mean, which the proof does not give) and the constant of Pinsker's inequality. For an
        ``orthonormal`` family, such as parities, Bessel's inequality gives :math:`\mathrm{CP}^{1/2}` instead. The
        upper end of the flow's interval is used.

        Example:
            >>> JunkFlow(np.full((3, 10), 2.0), noise=0.1).advantage(2.0**-100)
            2.9802322387695312e-06
        """
        if not 0 <= cross_predictability <= 1:
            raise ValueError(f"a cross-predictability lies between 0 and 1; got {cross_predictability}.")
        power = 0.5 if orthonormal else 0.25
        return min(0.5, float(self.flow.high * cross_predictability**power / (2 * self.noise)))

    def verdict(self, cross_predictability: float, *, orthonormal: bool = False) -> str:
        """The certificate in one sentence."""
        most = self.advantage(cross_predictability, orthonormal=orthonormal)
        if most >= 0.5:
            return "No certificate: at this noise the bound does not exclude that the family is learnt."
        return (
            f"Gradient descent with this network, step size and noise cannot predict the family better than "
            f"{0.5 + most:.6g} of the time after {self.steps.shape[1]} steps."
        )

    def table(self) -> pd.DataFrame:
        """One row per step: its length, averaged over runs, and the flow so far."""
        import pandas as pd

        mean = self.steps.mean(0)
        return pd.DataFrame({"step": np.arange(1, len(mean) + 1), "length": mean, "flow": mean.cumsum()})

    def chart(self) -> alt.TopLevelMixin:
        """The flow against steps."""
        import altair as alt

        line: alt.Chart = alt.Chart(self.table()).mark_line().encode(x="step:Q", y=alt.Y("flow:Q", title="junk flow"))
        return line


@guarded(
    steps=whole(),
    learning_rate=POSITIVE,
    noise=NOT_NEGATIVE,
    clip=optional(POSITIVE),
    batch=whole(),
    runs=whole(),
    seed=SEED,
)
def junk_flow(
    network: nn.Module,
    inputs: Callable[[int, int], Tensor],
    *,
    steps: int,
    learning_rate: float,
    noise: float,
    clip: float | None = None,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    batch: int = 1000,
    runs: int = 4,
    seed: int = 0,
) -> JunkFlow:
    r"""Train a network by noisy gradient descent on coin flips, and add up how far the gradient could have carried it.

    Each step is :math:`w \leftarrow w - \gamma\,\mathbb E\nabla\ell + \mathcal N(0, \sigma^2)` with labels ±1
    independent of the input, both taken in expectation; ``inputs(seed, n)`` draws n inputs. ``clip`` bounds every
    derivative, as the range of the theorem. ``loss(f, y)`` is by default :math:`\frac12(f-y)^2`. Abbe & Sandon
    (2018), Theorem 1.

    Example:
        >>> def signs(seed, n):
        ...     return torch.randint(2, (n, 20), generator=torch.Generator().manual_seed(seed)).float() * 2 - 1
        >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
        <torch._C.Generator ...>
        >>> found = junk_flow(nn.Linear(20, 1), signs, steps=3, learning_rate=0.1, noise=0.01, batch=50)
        >>> 0.8 < found.flow.value < 3
        True
    """
    for name, value, rule in (
        ("steps", steps, whole(1)),
        ("learning_rate", learning_rate, POSITIVE),
        ("noise", noise, POSITIVE),
        ("clip", clip, optional(POSITIVE)),
        ("batch", batch, whole(2)),
        ("runs", runs, whole(1)),
        ("seed", seed, SEED),
    ):
        check("junk_flow", name, value, rule)
    measure = loss or (lambda f, y: 0.5 * (f - y).square())
    first = {name: p.clone() for name, p in trainable(network, "junk_flow").items()}
    kind = next(iter(first.values())).dtype

    def one(weights: dict[str, Tensor], row: Tensor, label: Tensor) -> Tensor:
        found: Tensor = functional_call(network, weights, (row[None],))
        if found.numel() != 1:
            raise ValueError(f"junk_flow needs one output per input; the network gives shape {tuple(found.shape)}.")
        return measure(found.reshape(()), label)

    slopes = vmap(grad_and_value(one), in_dims=(None, 0, None))
    lengths = np.empty((runs, steps))
    for run in range(runs):
        weights = {name: p.clone() for name, p in first.items()}
        draw = torch.Generator().manual_seed(seed + 7919 * run)
        for step in range(steps):
            x = inputs(int(torch.randint(2**31, (1,), generator=draw)), batch).to(kind)
            if len(x) != batch or not bool(torch.isfinite(x).all()):
                raise ValueError(
                    f"junk_flow needs inputs(seed, n) that gives n finite inputs; got {len(x)} for {batch}, or NaN."
                )
            mean = {name: torch.zeros_like(p) for name, p in weights.items()}
            square = 0.0
            for label in (-1.0, 1.0):
                found, _ = slopes(weights, x, torch.tensor(label, dtype=x.dtype))
                for name, g in found.items():
                    bounded = g if clip is None else g.clamp(-clip, clip)
                    mean[name] += bounded.mean(0) / 2
                    square += float(bounded.double().square().flatten(1).sum(1).mean()) / 2
            lengths[run, step] = learning_rate * square**0.5
            for name, p in weights.items():
                kick = torch.randn(p.shape, generator=draw, dtype=p.dtype)
                weights[name] = p - learning_rate * mean[name] + noise * kick
    if not np.isfinite(lengths).all():
        raise ValueError("training on coin flips diverged; use a smaller learning rate, less noise, or clip.")
    return JunkFlow(lengths, float(noise))
