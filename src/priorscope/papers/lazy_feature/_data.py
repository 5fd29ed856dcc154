"""Which regime is better on images: dense and convolutional networks, lazy and feature training of the same members."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.data import cifar10, digits, fashion_mnist, mnist
from priorscope.inference import GradientFlow
from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_least, rising
from priorscope.models import DenseStack, gap
from priorscope.papers._over_draws import over_draws, where
from priorscope.papers.lazy_feature._claims import SOURCE
from priorscope.statistics import exact

if TYPE_CHECKING:
    import altair as alt

    from priorscope.contracts import NetworkStack

SOURCES = {"mnist": mnist, "fashion_mnist": fashion_mnist, "cifar10": cifar10}
VARIANCE = 2.35  # of weights before GELU, about one over its second moment under N(0, 1): signals keep their size
# of each scale: (kind, data, side, width, draws of the training set, steps), then what all share
SIZES: dict[str, tuple[list[tuple[str, str, int, int, int, int]], Point]] = {
    "tiny": (
        [("dense", "digits", 8, 8, 1, 60), ("conv", "digits", 8, 4, 1, 60)],
        {"n_train": 10, "n_test": 100, "members": 2, "max_turn": 1e-1},
    ),
    "small": (
        [
            ("dense", "mnist", 10, 512, 8, 2000),
            ("dense", "fashion_mnist", 10, 512, 8, 2000),
            ("conv", "cifar10", 8, 16, 2, 8000),
            ("conv", "mnist", 8, 16, 2, 8000),
        ],
        {"n_train": 150, "n_test": 2000, "members": 4, "max_turn": 1e-3},
    ),
    "overnight": (
        [
            ("dense", "mnist", 10, 512, 8, 2000),
            ("dense", "fashion_mnist", 10, 512, 52, 2000),
            ("conv", "cifar10", 8, 16, 4, 48_000),
        ],
        {"n_train": 150, "n_test": 2000, "members": 4, "max_turn": 1e-3},
    ),
    "paper": (
        [
            ("conv", "cifar10", 32, 128, 3, 200_000),
            ("conv", "mnist", 28, 128, 3, 200_000),
            ("dense", "mnist", 28, 1000, 3, 200_000),
            ("dense", "fashion_mnist", 28, 1000, 3, 200_000),
            ("dense", "cifar10", 32, 1000, 3, 200_000),
        ],
        {"n_train": 10_000, "n_test": 10_000, "members": 10, "max_turn": 1e-4},
    ),
}
FEATURE, FROZEN = 1e-1, 1e2  # output scales √h α of the two regimes
DEPTH = 2
COMPARED = (("conv", "cifar10"), ("conv", "mnist"), ("dense", "mnist"), ("dense", "fashion_mnist"))
DONE = 0.9  # share of the networks that must have met all margins


def grid(scale: str) -> list[Point]:
    """One point per kind of network and draw of the training set: all members at both output scales in one flow."""
    shapes, common = SIZES[scale]
    return [
        {"kind": kind, "data": data, "side": side, "width": width, "max_steps": steps, **common, "seed": seed}
        for kind, data, side, width, draws, steps in shapes
        for seed in range(draws)
    ]


def images(point: Point) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Parity of the class, images centred by the training and test sets' mean, each of norm √d; training and test set."""
    n, m, seed = point["n_train"], point["n_test"], point["seed"]
    if point["data"] == "digits":
        data = digits("parity").subset(n, seed, m)
    else:
        data = SOURCES[point["data"]]("parity", size=point["side"], n_train=n, n_test=m, seed=seed)
    x = torch.cat([data.train.inputs, data.test.inputs])
    x = x - x.mean(0)
    x = x / x.flatten(1).norm(dim=1).reshape(-1, 1, 1, 1) * x[0].numel() ** 0.5
    x = x if point["kind"] == "conv" else x.flatten(1).double()
    return (
        SimpleNamespace(inputs=x[:n], targets=data.train.targets.to(x.dtype)),
        SimpleNamespace(inputs=x[n:], targets=data.test.targets.to(x.dtype)),
    )


def run(point: Point) -> Metrics:
    """Test errors (2, members) of the same starts trained in the feature and in the lazy regime."""
    train, test = images(point)
    K, width = point["members"], point["width"]
    seeds = [*range(K), *range(K)]
    dtype = train.inputs.dtype
    model: NetworkStack
    if point["kind"] == "conv":
        net = gap(DEPTH, activation="gelu", weight_variance=VARIANCE)
        model = net.ensemble(tuple(train.inputs.shape[1:]), width=width, outputs=1, seeds=seeds)
    else:
        model = DenseStack(train.inputs.shape[1], width, DEPTH, seeds)
    flow = GradientFlow(
        alpha=(np.repeat([FEATURE, FROZEN], K) / width**0.5).tolist(),
        loss="soft-hinge",
        stop="fitted",
        max_turn=point["max_turn"],
        max_steps=point["max_steps"],
        record=1,
        time=1e12,
        dtype=dtype,
    )
    fitted = flow.fit(model, train)
    F = torch.cat([fitted.predict(part) for part in test.inputs.split(250)], 1)  # (2K, n, 1)
    errors = (F * test.targets <= 0).double().mean((1, 2)).reshape(2, K)
    means = F.reshape(2, K, -1).mean(1)
    return {
        "error": errors.numpy(),
        "ensemble": (means * test.targets[:, 0] <= 0).double().mean(1).numpy(),
        "finished": fitted.finished.double().reshape(2, K).numpy(),
        "steps": fitted.steps.double().reshape(2, K).numpy(),
        "weight_change": ((fitted.params - fitted.initial).norm(dim=1) / fitted.initial.norm(dim=1))
        .reshape(2, K)
        .numpy(),
    }


def gain(table: pd.DataFrame, kind: str, data: str) -> Measured:
    """Test error in the regime that is not better minus that in the better one: dense networks lazy, convolutional features.

    Of dense networks the ensemble of each training set counts, since the spread of single lazy networks over their starts hides
    what the regime gains; of convolutional ones, of which there are few training sets, every network.
    """
    rows = where(table, kind=kind, data=data)
    if kind == "dense":
        errors = np.stack([np.asarray(e, float) for e in rows.ensemble], 1)  # (2, draws)
    else:
        errors = np.concatenate([np.asarray(e, float) for e in rows.error], 1)  # (2, draws · members)
    found = over_draws((errors[0] - errors[1]) * (1 if kind == "dense" else -1))
    if kind == "dense" and (done := _least_done(rows)) < DONE:
        ends = f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
        raise NotMeasured(f"{ends}, but of some networks only {done:.0%} met all margins; {DONE:.0%} are wanted")
    of = "ensembles" if kind == "dense" else f"{errors.shape[1]} networks"
    return Measured(found, f"{of} of {len(rows)} training sets")


def _least_done(rows: pd.DataFrame) -> float:
    return min(float(np.asarray(f, float).mean()) for f in rows.finished)


def met(table: pd.DataFrame, kind: str, data: str) -> Measured:
    """The share of the networks that met all margins, of the training set where it is least."""
    rows = where(table, kind=kind, data=data)
    return Measured(exact(_least_done(rows)), f"of {len(rows)} training sets")


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Test errors of the two regimes, one line per network, from feature to lazy."""
    import altair as alt

    rows = []
    for _, row in table.iterrows():
        for k, pair in enumerate(np.asarray(row.error, float).T):
            name = f"{'dense' if row.kind == 'dense' else 'convolutional'}, {row.data.replace('_', '-')}"
            rows += [
                {"net": name, "member": f"{row.seed}.{k}", "regime": regime, "error": e}
                for regime, e in zip(("feature", "lazy"), pair)
            ]
    frame = pd.DataFrame(rows)
    x = alt.X("regime:N", title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y("error:Q", title="test error", scale=alt.Scale(zero=False), axis=alt.Axis(format="%"))
    lines = alt.Chart().mark_line(opacity=0.4, point=True).encode(x, y, detail="member:N")
    mean = alt.Chart().mark_line(strokeWidth=4, color="#fa5d36").encode(x, alt.Y("mean(error):Q"))
    both = alt.layer(lines, mean, data=frame).properties(width=150)
    chart: alt.TopLevelMixin = both.facet(alt.Facet("net:N", title=None), columns=4).resolve_scale(y="independent")
    return chart


PAPER = Paper(
    name="lazy-feature-data",
    title="Dense networks are better lazy, convolutional ones with features",
    source=SOURCE,
    version=2,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "L.12",
            SOURCE,
            "dense networks do better in the lazy regime",
            checks=tuple(
                Check(f"gain of the lazy regime, dense on {data}", partial(gain, kind=kind, data=data), rising())
                for kind, data in COMPARED
                if kind == "dense"
            ),
        ),
        Claim(
            "L.12b",
            SOURCE,
            "convolutional networks do better in the feature regime, on CIFAR-10",
            checks=(Check("gain of the feature regime", partial(gain, kind="conv", data="cifar10"), rising()),),
            trained=Check("networks that met all margins", partial(met, kind="conv", data="cifar10"), at_least(DONE)),
        ),
    ),
    chart=chart,
    overnight=True,
    members="members",
)
