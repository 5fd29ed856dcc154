"""The jamming point: the smallest network that fits its training set, found by bisection over widths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from priorscope.checks import each, whole
from priorscope.contracts import (
    Fitted,
    Inference,
    LabelledData,
    NetworkFamily,
    Samples,
    guarded,
    is_network_family,
    needs_of,
    require,
)
from priorscope.inference import AllFitted, GradientDescent, GradientFlow, check_data
from priorscope.models import Ensemble, count_weights
from priorscope.system import System

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["JammingPoint", "jamming_point"]


@dataclass(frozen=True)
class JammingPoint:
    """Widths that were trained, weights N of each, and the share of seeds that fitted every training point.

    ``n_star`` is N at half success, interpolated in log N between the widths around it; ``low`` and ``high`` are the
    largest N at which no seed and the smallest at which every seed succeeded.

    Example:
        >>> point = JammingPoint((2, 4), (10, 40), (0.0, 1.0), 30, 3)
        >>> round(point.n_star), point.low, point.high
        (20, 10, 40)
    """

    widths: tuple[int, ...]
    n_weights: tuple[int, ...]
    success: tuple[float, ...]
    n_train: int
    n_seeds: int

    @property
    def n_star(self) -> float:
        """N at half success; NaN when the widths do not reach both sides."""
        pairs = list(zip(self.n_weights, self.success))
        for (n0, s0), (n1, s1) in pairwise(pairs):
            if s0 < 0.5 <= s1:
                return float(np.exp(np.log(n0) + (0.5 - s0) / (s1 - s0) * np.log(n1 / n0)))
        return float("nan")

    @property
    def low(self) -> int:
        """Largest N at which no seed succeeded; 0 when there is none."""
        return max((n for n, s in zip(self.n_weights, self.success) if s == 0), default=0)

    @property
    def high(self) -> float:
        """Smallest N at which every seed succeeded; infinite when there is none."""
        return min((n for n, s in zip(self.n_weights, self.success) if s == 1), default=float("inf"))

    @property
    def ratio(self) -> float:
        """P / N* at the transition."""
        return self.n_train / self.n_star

    def table(self) -> pd.DataFrame:
        """One row per width."""
        import pandas as pd

        rows = {"width": self.widths, "n_weights": self.n_weights, "success": self.success}
        return pd.DataFrame(rows).assign(n_train=self.n_train, n_seeds=self.n_seeds)

    def chart(self) -> alt.TopLevelMixin:
        """Success against the number of weights, with the transition marked."""
        import altair as alt
        import pandas as pd

        points: alt.Chart = alt.Chart(self.table()).mark_line(point=True)
        points = points.encode(
            alt.X("n_weights:Q", title="number of weights N", scale=alt.Scale(type="log", nice=False, padding=12)),
            alt.Y("success:Q", title="part of seeds that fit all points"),
        )
        if not np.isfinite(self.n_star):
            return points
        rule = alt.Chart(pd.DataFrame({"n_weights": [self.n_star]})).mark_rule(strokeDash=[4, 4])
        chart: alt.TopLevelMixin = points + rule.encode(x="n_weights:Q")
        return chart


def default_training() -> GradientDescent:
    """Adam at rate 0.01 on the quadratic hinge, until every margin is met or 4000 steps."""
    return GradientDescent(optimiser="adam", learning_rate=0.01, steps=4000, loss="quadratic-hinge", stop=AllFitted())


Trained: TypeAlias = "System | NetworkFamily | Callable[..., nn.Module]"


class Stopped(Protocol):
    """A fit that says which of its networks met their end."""

    @property
    def finished(self) -> Tensor:
        """Whether each network did, (K,)."""
        ...


def finished(fitted: Fitted) -> Tensor:
    """Whether each network of the fit met its end."""
    return require(fitted, Stopped, "a fit that says which networks finished", "Use GradientDescent(...).").finished


def parts_of(
    model: Trained, data: Samples | None, inference: Inference | None, probe: str
) -> tuple[Callable[[int | None, int], nn.Module], Samples, Inference]:
    """How networks of a width are made, data and training, of a system, an architecture, or a function (width, seed)."""
    samples = model.data if data is None and isinstance(model, System) else data
    if samples is None:
        raise ValueError(f"{probe} needs data unless it is given a System; pass something with inputs and targets.")
    shape, outputs = tuple(samples.inputs.shape[1:]), samples.targets.shape[1]

    def build(width: int | None, seed: int) -> nn.Module:
        if isinstance(model, System):
            whole = require(samples, LabelledData, "the data of a system", "Use priorscope.data.from_arrays(x, y).")
            one = replace(model, data=whole, members=1, width=model.width if width is None else width)
            network = one.network(seed)
            if not isinstance(network, nn.Module):
                raise TypeError(f"{probe} needs a system of one network; got {type(network).__name__}.")
            return network
        if is_network_family(model):
            if width is None:
                return model.network(shape, outputs=outputs, seed=seed)
            return model.network(shape, width=width, outputs=outputs, seed=seed)
        if not callable(model):
            raise TypeError(f"{probe} needs a System, an architecture or a function; got {type(model).__name__}.")
        return model(seed) if width is None else model(width, seed)

    method = inference or (model.inference if isinstance(model, System) else default_training())
    if needs_of(method) != "network":
        raise ValueError(f"{probe} trains networks; got {type(method).__name__}. Pass inference=GradientDescent(...).")
    return build, samples, method


def _stacked(networks: list[nn.Module], inputs: Tensor) -> Ensemble | None:
    """All networks in one, or None where something in them is random, frozen, or cannot be vectorised."""
    first = networks[0]
    random = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
    if any(isinstance(module, random) for module in first.modules()):
        return None
    if not all(p.requires_grad for p in first.parameters()):
        return None
    try:
        ensemble = Ensemble(networks)
        with torch.no_grad():
            ensemble(inputs[:2].to(next(first.parameters()).dtype))
    except (RuntimeError, ValueError, TypeError):
        return None
    return ensemble


def which_fit(method: Inference, networks: list[nn.Module], data: Samples) -> list[bool]:
    """Whether each network met its stop rule; all are trained in one vectorised run where nothing in it is random.

    Batches, dropout and batch statistics differ by seed: such networks are trained one by one, as are those with frozen
    parameters, those that ``vmap`` cannot trace, and all under an inference that is not ours.
    """
    ours = isinstance(method, GradientDescent | GradientFlow)
    drawn = isinstance(method, GradientDescent) and (method.batch_size is not None or method.mixup > 0)
    ensemble = _stacked(networks, data.inputs) if len(networks) > 1 and ours and not drawn else None
    if ensemble is not None:
        return [bool(done) for done in finished(method.fit(ensemble, data))]
    return [bool(finished(method.fit(net, data, seed=seed)).all()) for seed, net in enumerate(networks)]


@guarded(widths=each(whole(), empty=True), seeds=whole())
def jamming_point(
    model: Trained,
    data: Samples | None = None,
    widths: Sequence[int] = (),
    *,
    seeds: int = 3,
    inference: Inference | None = None,
) -> JammingPoint:
    r"""Find :math:`N^*`, where half of the seeds reach zero loss, by bisection over a ladder of widths.

    ``model`` is a System (whose data and inference are used unless given), an architecture, or a function ``(width, seed) ->
    network``; ``inference`` trains it and says ``finished`` (default: Adam at rate 0.01 on the quadratic hinge, until every
    margin is met or 4000 steps); the position depends on that budget. Both ends of the ladder and the widths around the
    transition are trained. Geiger et al. (2019) walk down the ladder with one seed; here several seeds give a success curve.

    Example:
        >>> from priorscope.data import random_patterns
        >>> from priorscope.models import plain_network
        >>> patterns = random_patterns(12, 3)
        >>> quick = GradientDescent(optimiser="adam", learning_rate=0.02, steps=300, loss="quadratic-hinge", stop=AllFitted())
        >>> point = jamming_point(lambda h, s: plain_network(3, h, 1, seed=s), patterns, [1, 12], seeds=1, inference=quick)
        >>> point.success
        (0.0, 1.0)
    """
    ladder = sorted(set(widths))
    if len(ladder) < 2:
        raise ValueError(f"jamming_point needs at least two different widths; got {list(widths)}.")
    build, samples, method = parts_of(model, data, inference, "jamming_point")
    x, _ = check_data(samples)
    done: dict[int, tuple[int, float]] = {}

    def success(index: int) -> float:
        width = ladder[index]
        if width not in done:
            networks = [build(width, seed) for seed in range(seeds)]
            done[width] = (count_weights(networks[0]), sum(which_fit(method, networks, samples)) / seeds)
        return done[width][1]

    low, high = 0, len(ladder) - 1
    if success(low) < 0.5 <= success(high):
        while high - low > 1:
            middle = (low + high) // 2
            if success(middle) >= 0.5:
                high = middle
            else:
                low = middle
    ordered = sorted(done)
    return JammingPoint(
        tuple(ordered), tuple(done[w][0] for w in ordered), tuple(done[w][1] for w in ordered), len(x), seeds
    )
