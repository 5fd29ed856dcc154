"""Geometry of descent and parametrisation: least norms, largest margins, homogeneous networks, networks of one input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from priorscope.lab import Check, Claim, Metrics, Paper, Point, above, at_least, at_most, falling, rising
from priorscope.papers._over_draws import where
from priorscope.papers.implicit_bias._geometry_measures import (
    DATA,
    NETWORKS,
    deep_ratio,
    farthest,
    kkt_gain,
    kkt_ratio,
    longest,
    nearest,
    own_over_gradient,
    share_by_steps,
    smallest_share,
    sparse_share,
    spline_off,
)
from priorscope.papers.implicit_bias._source import SOURCE, as_split, linear_problem, margin_share

if TYPE_CHECKING:
    import altair as alt
    from torch import nn

    from priorscope.inference import GradientDescent, Potential

Array = NDArray[np.float64]
POTENTIALS = ("quadratic", "hyperbolic", "power")
NORMS = ("l1", "l2", "linf")
LINEAR = ("diagonal", "convolutional")


def grid(scale: str) -> list[Point]:
    """Regression by potential, classification by norm, homogeneous networks by length of training, splines of one input."""
    seeds = {"tiny": 1, "small": 8, "paper": 20}[scale]
    lengths = {"tiny": (20, 40), "small": (400, 10_000), "paper": (400, 4000, 40_000)}[scale]
    most = {"tiny": 50, "small": 100_000, "paper": 100_000}[scale]
    points: list[Point] = []
    for s in range(seeds):
        points += [
            {"kind": "regression", "data": d, "potential": p, "steps": most, "seed": s}
            for d in DATA
            for p in POTENTIALS
        ]
        for steps in lengths:
            points += [{"kind": "margin", "data": d, "norm": q, "steps": steps, "seed": s} for d in DATA for q in NORMS]
            points += [
                {"kind": "network", "network": net, "loss": "exponential", "steps": steps, "seed": s}
                for net in NETWORKS
            ]
            points += [
                {"kind": "linear", "network": net, "depth": depth, "steps": steps, "seed": s}
                for net in LINEAR
                for depth in (2, 3)
            ]
        points += [
            {"kind": "network", "network": net, "loss": "squared", "steps": lengths[-1], "seed": s} for net in NETWORKS
        ]
        points.append({"kind": "spline", "n": 8, "seed": s})
    return points


def run(point: Point) -> Metrics:
    """One of the five measurements."""
    kinds: dict[str, Callable[[Point], Metrics]] = {
        "regression": _regression,
        "margin": _margin,
        "network": _network,
        "linear": _linear,
        "spline": _spline,
    }
    return kinds[point["kind"]](point)


def _line(d: int) -> nn.Module:
    import torch
    from torch import nn

    line = nn.Linear(d, 1, bias=False, dtype=torch.float64)
    nn.init.zeros_(line.weight)
    return line


def _potential(name: str) -> Potential:
    from priorscope.inference import HyperbolicEntropy, Power, Quadratic

    return {"quadratic": Quadratic(), "hyperbolic": HyperbolicEntropy(0.1), "power": Power(1.5)}[name]


def _regression(point: Point) -> Metrics:
    """Mirror descent from zero on 20 samples of more than 20 features, and the fits of least potential and of least norms."""
    from priorscope.inference import GradientDescent, Mirror
    from priorscope.probes import minimum_norm, minimum_potential

    x, y = linear_problem(point["data"], 20, 60, point["seed"])
    potential = _potential(point["potential"])
    steepest = float(np.linalg.norm(x, 2)) ** 2 / len(x)
    rate = {"quadratic": 1.0, "hyperbolic": 0.3, "power": 0.1}[point["potential"]] / steepest
    descent = GradientDescent(rate, point["steps"], optimiser=Mirror(potential), stop=1e-18, record=1)
    fitted = descent.fit(_line(x.shape[1]), as_split(x, y))
    w, wanted = fitted.params[0].numpy(), minimum_potential(x, y, potential)
    others = [minimum_norm(x, y, norm) for norm in ("l1", "l2")]
    return {
        "fitted": float(fitted.finished.all()),
        "off": float(np.linalg.norm(w - wanted) / np.linalg.norm(wanted)),
        "to_l1": float(np.linalg.norm(w - others[0]) / np.linalg.norm(others[0])),
        "to_l2": float(np.linalg.norm(w - others[1]) / np.linalg.norm(others[1])),
    }


def _descent(steps: int, rate: float, norm: str = "l2") -> GradientDescent:
    """Normalised steps in a norm that shrink like the root of their number, on the exponential loss's path."""
    from priorscope.inference import GradientDescent, Steepest

    shrink: Callable[[int], float] = lambda step: (1 + step / 100) ** -0.5  # noqa: E731
    return GradientDescent(
        rate, steps, optimiser=Steepest(norm, normalised=True), schedule=shrink, loss="log-exponential", record=1
    )


def _margin(point: Point) -> Metrics:
    """Steepest descent in one norm; its share of the largest margin in each."""
    x, y = linear_problem(point["data"], 20, 60, point["seed"])
    rate = {"l1": 3.0, "l2": 1.0, "linf": 0.3}[point["norm"]]
    w = _descent(point["steps"], rate, point["norm"]).fit(_line(x.shape[1]), as_split(x, y)).params[0].numpy()
    return {f"share_{norm}": margin_share(w, x, y, norm) for norm in NORMS}


def _network(point: Point) -> Metrics:
    """A homogeneous ReLU network on 20 separable points of the plane, or on digits: its KKT ratio."""
    import torch

    from priorscope.inference import GradientDescent
    from priorscope.models import fcn
    from priorscope.probes import margin

    rng = np.random.default_rng(point["seed"])
    if point["network"].endswith("digits"):
        x, y = linear_problem("digits", 40, 64, point["seed"])
    else:
        x = rng.normal(size=(200, 2))
        x = x[np.abs(x[:, 0] * x[:, 1]) > 0.2][:20]
        y = np.sign(x[:, 0] * x[:, 1])
    depth = int(point["network"][5])
    network = fcn(depth - 1).network((x.shape[1],), width=20, outputs=1, seed=point["seed"]).double()
    size = float(torch.cat([p.detach().flatten() for p in network.parameters()]).norm())
    data = as_split(x, y)
    if point["loss"] == "squared":
        descent = GradientDescent(0.1, point["steps"], loss="squared", record=1)
    else:
        descent = _descent(point["steps"], 0.02 * size)
    trained = descent.fit(network, data).network()
    right = float((trained(data.inputs).detach() * data.targets > 0).double().mean())
    if right < 1:
        return {"right": right, "ratio": 0.0, "support": 0}
    found = margin(trained, data.inputs, data.targets)
    return {"right": right, "ratio": found.ratio, "support": found.n_support}


def _linear(point: Point) -> Metrics:
    """A diagonal or convolutional linear network: share of the largest l1 margin (in features, in frequencies) and KKT ratio."""
    import torch

    from priorscope.models import CircularNetwork, DiagonalNetwork
    from priorscope.probes import margin

    x, y = linear_problem("normal", 10, 16, point["seed"])
    if point["network"] == "diagonal":
        network: DiagonalNetwork | CircularNetwork = DiagonalNetwork(16, 0.3, point["depth"])
        norm = "l1"
    else:
        network, norm = CircularNetwork(16, 1.0, point["depth"], seed=point["seed"]), "dft-l1"
    data = as_split(x, y)
    trained = _descent(point["steps"], 0.05).fit(network, data).network()
    w = trained(torch.eye(16, dtype=torch.float64))[:, 0].detach().numpy()
    wrong = bool((y * (x @ w) <= 0).any())
    return {
        "share": margin_share(w, x, y, norm),
        "share_l2": margin_share(w, x, y, "l2"),
        "ratio": 0.0 if wrong else margin(trained, data.inputs, data.targets).ratio,
    }


def _spline(point: Point) -> Metrics:
    r"""Shortest weights of a wide ReLU network of one input that fits points, and what the source says they are.

    That is :math:`\max(\int|f''|, |f'(-\infty) + f'(\infty)|)`. Rectifiers are homogeneous, so that half the squared weights of a
    neuron are least at its slope: the cost is the l1 norm of the slopes of neurons with kinks anywhere on a fine grid, in both
    directions. The least value over all functions through the points is that of straight lines between them, bent at the ends
    where that helps.
    """
    from priorscope.probes import minimum_norm

    rng = np.random.default_rng(point["seed"])
    n: int = point["n"]
    x, y = np.sort(rng.uniform(-1, 1, size=n)), rng.normal(size=n)
    kinks = np.sort(np.r_[np.linspace(-1.5, 1.5, 301), x])
    features = np.hstack([np.maximum(x[:, None] - kinks, 0), np.maximum(kinks - x[:, None], 0)])
    slopes = minimum_norm(features[1:] - features[0], y[1:] - y[0], "l1")  # the offset is free
    right, left = slopes[: len(kinks)], slopes[len(kinks) :]
    bends, ends = np.abs(right + left).sum(), abs(right.sum() - left.sum())
    lines = np.diff(y) / np.diff(x)
    least, tilt = float(np.abs(np.diff(lines)).sum()), float(abs(lines[0] + lines[-1]))
    return {
        "cost": float(np.abs(slopes).sum()),
        "formula": float(max(bends, ends)),
        "least": max(least, (least + tilt) / 2),
    }


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Left: shares of the largest margins by norm of descent. Right: KKT ratios of networks by loss."""
    import altair as alt

    rows = longest(where(table, kind="margin"))
    names = {f"share_{q}": f"in {q}" for q in NORMS}
    shares = rows[["norm", "data", "seed", *names]].melt(
        ["norm", "data", "seed"], var_name="margin", value_name="share"
    )
    shares["margin"] = shares["margin"].map(names)
    left = (
        alt.Chart(shares)
        .mark_circle(opacity=0.6)
        .encode(
            x=alt.X("share:Q", title="share of the largest margin").scale(domain=[0.2, 1.0], clamp=True),
            y=alt.Y("norm:N", title="steepest descent in"),
            color=alt.Color("margin:N", title="margin"),
            yOffset="margin:N",
        )
        .properties(width=290, height=200, title="Linear models, 20 samples")
    )
    nets = longest(where(table, kind="network"))
    right = (
        alt.Chart(nets[["network", "loss", "ratio", "seed"]])
        .mark_circle(opacity=0.6)
        .encode(
            x=alt.X("ratio:Q", title="margin over the largest its gradients allow").scale(domain=[0, 1]),
            y=alt.Y("network:N", title=None),
            color=alt.Color("loss:N", title="loss"),
            yOffset="loss:N",
        )
        .properties(width=290, height=200, title="ReLU networks without biases")
    )
    drawn: alt.HConcatChart = alt.hconcat(left, right).resolve_scale(color="independent")
    return drawn


CLAIMS = (
    Claim(
        "R.1",
        f"{SOURCE}, effect of optimization geometry",
        "gradient descent from zero on linear regression with many fits ends at the fit of least l2 norm",
        checks=(
            Check("distance to it", partial(farthest, potentials=("quadratic",)), at_most(1e-6)),
            Check(
                "distance to the least l1 norm", partial(nearest, potentials=("quadratic",), column="to_l1"), above(0.1)
            ),
        ),
    ),
    Claim(
        "R.2",
        f"{SOURCE}, effect of optimization geometry",
        "mirror descent from zero ends at the fit of least potential",
        checks=(
            Check("distance to it", partial(farthest, potentials=("hyperbolic", "power")), at_most(1e-6)),
            Check(
                "distance to the least l2 norm",
                partial(nearest, potentials=("hyperbolic", "power"), column="to_l2"),
                above(0.05),
            ),
        ),
    ),
    Claim(
        "R.3",
        f"{SOURCE}, effect of optimization geometry",
        "on separable data with a loss of exponential tail gradient descent tends to the hard-margin support vector machine",
        checks=(
            Check("share of the largest l2 margin", partial(smallest_share, norms=("l2",)), at_least(0.98)),
            Check("log of what lacks, long minus short training", partial(share_by_steps, norms=("l2",)), falling()),
        ),
        changes="steps are normalised: plain ones come near like one over the logarithm of their number",
    ),
    Claim(
        "R.4",
        f"{SOURCE}, effect of optimization geometry (Telgarsky 2013)",
        "coordinate descent tends to the largest l1 margin, and descent by signs to the largest l∞ margin",
        checks=(
            Check(
                "share of the largest margin in the norm", partial(smallest_share, norms=("l1", "linf")), at_least(0.95)
            ),
            Check("share above that of gradient descent", partial(own_over_gradient, norms=("l1", "linf")), above(0.0)),
        ),
        changes="steps are normalised, as for R.3",
    ),
    Claim(
        "R.5",
        f"{SOURCE}, homogeneous models (Nacson et al. 2019; Lyu & Li 2020)",
        "a homogeneous network on a loss of exponential tail tends to a first-order stationary point of its margin problem",
        checks=(
            Check("margin over the largest its gradients allow", kkt_ratio, at_least(0.95)),
            Check("long minus short training", partial(kkt_gain, against="short"), rising()),
            Check("minus that of the squared loss", partial(kkt_gain, against="squared"), above(0.0)),
        ),
    ),
    Claim(
        "R.6",
        f"{SOURCE}, effect of parametrization (Gunasekar et al. 2018)",
        "a linear convolutional network of D layers tends to few frequencies, by the 2/D norm of the Fourier transform",
        checks=(
            Check("share of the largest margin, D = 2", partial(sparse_share, network="convolutional"), at_least(0.95)),
            Check(
                "margin over the largest its gradients allow, D = 3",
                partial(deep_ratio, network="convolutional"),
                at_least(0.95),
            ),
        ),
    ),
    Claim(
        "R.7",
        f"{SOURCE}, homogeneous models",
        "a diagonal network of D layers on a loss of exponential tail tends to few features, by the 2/D norm",
        checks=(
            Check("share of the largest margin, D = 2", partial(sparse_share, network="diagonal"), at_least(0.95)),
            Check(
                "margin over the largest its gradients allow, D = 3",
                partial(deep_ratio, network="diagonal"),
                at_least(0.95),
            ),
        ),
    ),
    Claim(
        "R.8",
        f"{SOURCE}, effect of parametrization (Savarese et al. 2019)",
        "least weights of a wide ReLU network of one input are the larger of the total bend and the sum of the end slopes",
        checks=(
            Check("relative difference from the formula", partial(spline_off, column="formula"), at_most(1e-6)),
            Check(
                "relative difference from the least over all functions",
                partial(spline_off, column="least"),
                at_most(1e-6),
            ),
        ),
        changes="infinite width is a fine grid of kinks, weight decay the exact minimum of its cost",
    ),
)

PAPER = Paper("implicit-bias", "Which solution descent chooses", SOURCE, 1, grid, run, CLAIMS, chart)
