"""Which layers of a network learn as it widens: the coordinate check."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from priorscope.checks import POSITIVE, each, whole
from priorscope.contracts import guarded
from priorscope.inference import GradientDescent
from priorscope.printing import printed
from priorscope.statistics import Interval, fit_power_law

if TYPE_CHECKING:
    import altair as alt

__all__ = ["CoordinateCheck", "coordinate_check"]

Array = NDArray[np.float64]
STILL = (
    -0.25
)  # slopes below are on the way to no change at all, above +0.25 to blowing up: half-way to the exponents ±1/2


@printed
@dataclass(frozen=True)
class CoordinateCheck:
    """Root mean square change of every layer's outputs after a few steps (layers, seeds, widths), and its exponent in the width.

    Example:
        >>> import priorscope as ps
        >>> mup = ps.models.abc_parametrisation("mup", 2)
        >>> x = ps.data.sphere(32, 4, radius=2.0, seed=0)
        >>> make = lambda width, seed: ps.models.ABCNetwork(mup, 4, width, seed=seed)
        >>> found = coordinate_check(make, x, x[:, :1], widths=(32, 64, 128), seeds=range(2))
        >>> set(found.verdicts().values())
        {'learns'}
    """

    layers: tuple[str, ...]
    widths: NDArray[np.int64]
    changes: Array
    sizes: Array
    steps: int

    def exponents(self) -> dict[str, Interval]:
        """The exponent of the change in the width for every layer, with its interval over seeds."""
        return {name: fit_power_law(self.widths, rows).interval for name, rows in zip(self.layers, self.changes)}

    def verdicts(self) -> dict[str, str]:
        """By layer: "learns" (the change stays), "freezes" (it vanishes with the width), "blows up"."""
        words = {}
        for name, found in self.exponents().items():
            words[name] = "freezes" if found.value < STILL else "blows up" if found.value > -STILL else "learns"
        return words

    def sentence(self) -> str:
        """What was found, in a sentence."""
        groups: dict[str, list[str]] = {}
        for name, word in self.verdicts().items():
            groups.setdefault(word, []).append(name)
        said = [f"{', '.join(names)} {word if len(names) == 1 else _PLURAL[word]}" for word, names in groups.items()]
        advice = (
            "" if set(groups) == {"learns"} else " Maximal update (µP) would let every layer learn at the same rate."
        )
        return f"As the network widens from {self.widths[0]} to {self.widths[-1]}: {'; '.join(said)}.{advice}"

    def table(self) -> pd.DataFrame:
        """One row per layer, seed and width."""
        layers, seeds, widths = self.changes.shape
        return pd.DataFrame(
            {
                "layer": np.repeat(self.layers, seeds * widths),
                "seed": np.tile(np.repeat(np.arange(seeds), widths), layers),
                "width": np.tile(self.widths, layers * seeds),
                "change": self.changes.ravel(),
                "size": self.sizes.ravel(),
            }
        )

    def chart(self) -> alt.TopLevelMixin:
        """Change of the layers' outputs against width: flat lines learn, falling ones freeze, rising ones blow up."""
        import altair as alt

        means = self.table().groupby(["layer", "width"], as_index=False).change.mean()
        lines: alt.Chart = (
            alt.Chart(means, title=f"coordinate check: change after {self.steps} steps")
            .mark_line(point=True)
            .encode(
                alt.X("width:Q", title="width h").scale(type="log", base=2, nice=False),
                alt.Y("change:Q", title="root mean square change of outputs").scale(type="log"),
                alt.Color("layer:N", title="layer", sort=list(self.layers)),
            )
        )
        return lines


_PLURAL = {"learns": "learn", "freezes": "freeze", "blows up": "blow up"}


def _outputs(network: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """Outputs of every part that has weights of its own, by name, in the order of the pass."""
    found: dict[str, Tensor] = {}
    handles = [
        part.register_forward_hook(lambda _m, _i, out, name=name: found.__setitem__(name, out.detach()))
        for name, part in network.named_modules()
        if any(True for _ in part.parameters(recurse=False))
    ]
    try:
        with torch.no_grad():
            network(x)
    finally:
        for handle in handles:
            handle.remove()
    return found


@guarded(widths=each(whole()), seeds=each(whole(0)), steps=whole(), learning_rate=POSITIVE)
def coordinate_check(
    make: Callable[..., nn.Module],
    inputs: Tensor,
    targets: Tensor,
    *,
    widths: Sequence[int] = (64, 128, 256, 512),
    seeds: Sequence[int] = range(3),
    steps: int = 3,
    learning_rate: float = 0.1,
    loss: str = "squared",
) -> CoordinateCheck:
    r"""Train networks of growing width for a few steps of gradient descent and see how far the outputs of every layer move.

    .. math:: \sqrt{\langle(z^l_t - z^l_0)^2\rangle} \sim h^{-r_l}

    over samples and units. r = 0: the layer learns however wide the network; 1/2: it freezes, as in the
    tangent-kernel parametrisation; below 0: it blows up (Yang & Hu 2021; the coordinate check of Yang et al. 2022,
    "Tensor programs V", App. D.1).

    Args: ``make(width, seed)`` or ``make(width)`` gives your network (the latter is called with torch seeded); every part with
    weights of its own counts as a layer. ``learning_rate`` is the same at all widths: factors that depend on it belong into the
    network. Evaluated in evaluation mode, trained as it is.

    Example:
        >>> import priorscope as ps
        >>> x = ps.data.sphere(32, 4, radius=2.0, seed=0)
        >>> found = coordinate_check(
        ...     lambda width, seed: ps.models.fcn(2).network((4,), width=width, seed=seed), x, x[:, :1], widths=(64, 256, 1024)
        ... )
        >>> list(found.verdicts().values())  # the tangent kernel's parametrisation
        ['freezes', 'freezes', 'learns']
    """
    hs = np.array(sorted(set(widths)))
    if len(hs) < 2:
        raise ValueError(f"coordinate_check needs two or more widths; got {list(widths)}.")
    data = SimpleNamespace(inputs=inputs, targets=targets)
    changes: dict[str, Array] = {}
    sizes: dict[str, Array] = {}
    for i, seed in enumerate(seeds):
        for j, width in enumerate(hs):
            before = _made(make, int(width), int(seed))
            trained = GradientDescent(learning_rate=learning_rate, steps=steps, loss=loss, record=1).fit(
                copy.deepcopy(before), data
            )
            start, end = _outputs(before.eval(), inputs), _outputs(trained.network().eval().to(inputs.dtype), inputs)
            for name in start:
                for table, value in ((changes, end[name] - start[name]), (sizes, start[name])):
                    table.setdefault(name, np.full((len(seeds), len(hs)), np.nan))[i, j] = float(
                        value.square().mean().sqrt()
                    )
    frozen = [name for name, rows in changes.items() if not (np.isfinite(rows).all() and (rows > 0).all())]
    if frozen:
        raise ValueError(
            f"outputs of {', '.join(frozen)} did not change or were not finite after {steps} steps; check that the layer "
            "is trained, or give a smaller learning_rate."
        )
    return CoordinateCheck(tuple(changes), hs, np.stack(list(changes.values())), np.stack(list(sizes.values())), steps)


def _made(make: Callable[..., nn.Module], width: int, seed: int) -> nn.Module:
    """The network of this width and seed; torch is seeded for a function of the width alone."""
    try:
        given = len([p for p in inspect.signature(make).parameters.values() if p.default is p.empty])
    except (TypeError, ValueError):
        given = 2
    if given > 1:
        found = make(width, seed)
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found = make(width)
    if not isinstance(found, nn.Module):
        raise TypeError(f"make(width, seed) must give an nn.Module; got {type(found).__name__}.")
    return found
