"""Section 5.4 of 3D steerable CNNs on made-up backbones in place of CATH: how many samples two networks need."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, above, at_least, rising
from priorscope.papers._over_draws import lowest, over_draws
from priorscope.papers.equivariance._source import STEERABLE
from priorscope.statistics import exact

if TYPE_CHECKING:
    import altair as alt

    from priorscope.data import Dataset
    from priorscope.models import FiniteModel

SIZES: dict[str, Point] = {
    "tiny": {"size": 8, "voxel": 6.0, "n": (6,), "compared": 6, "n_test": 6, "steps": 2, "seeds": 2},
    "small": {"size": 16, "voxel": 3.0, "n": (24, 48, 96, 192), "compared": 96, "n_test": 240, "steps": 160, "seeds": 5},
    "paper": {
        "size": 50, "voxel": 2.0, "n": (311, 622, 1244, 2488, 4977), "compared": 2488, "n_test": 1422, "steps": 30000, "seeds": 5
    },
}  # fmt: skip
STEERABLE_FIELDS: dict[str, tuple[tuple[int, ...], ...]] = {
    "tiny": ((2, 1), (4,)),
    "small": ((2, 2, 1), (4, 3, 2), (16,)),
    "paper": ((4, 4, 4), (8, 8, 8), (16, 16, 16), (256,)),
}
PLAIN_CHANNELS: dict[str, tuple[int, ...]] = {
    "tiny": (5, 4),
    "small": (13, 23, 16),
    "paper": (36, 72, 144, 256),
}  # as many numbers per voxel as the steerable network
THIN_CHANNELS: dict[str, tuple[int, ...]] = {
    "tiny": (1, 1),
    "small": (1, 2, 2),
    "paper": (6, 8, 12, 16),
}  # about as many weights as the steerable network


FURTHER = 1000  # from the seed of a network that is dead as it starts to that of the next


def grid(scale: str) -> list[Point]:
    """Both networks at every number of samples; at one of them also trained upright, and a plain one with as few weights."""
    sizes = SIZES[scale]
    cells: list[Point] = [{"model": m, "n": n, "turned": True} for m in ("steerable", "plain") for n in sizes["n"]]
    cells += [{"model": m, "n": sizes["compared"], "turned": False} for m in ("steerable", "plain")]
    cells += [{"model": "thin", "n": sizes["compared"], "turned": True}]
    return [{**cell, "scale": scale, "seed": s} for cell in cells for s in range(sizes["seeds"])]


def run(point: Point) -> Metrics:
    """Accuracy on turned backbones, accuracy in training, and the number of weights."""
    from priorscope import models
    from priorscope.data import protein_folds
    from priorscope.inference import GradientDescent
    from priorscope.system import System

    scale, seed, sizes = point["scale"], point["seed"], SIZES[point["scale"]]
    rotate = ("train", "test") if point["turned"] else ("test",)
    data = protein_folds(
        point["n"], sizes["n_test"], size=sizes["size"], voxel=sizes["voxel"], rotate=rotate, seed=seed
    )
    fields = STEERABLE_FIELDS[scale]
    strides = (*(2 for _ in fields[:-1]), 1)
    kernel = 5 if scale != "tiny" else 3
    if point["model"] == "steerable":
        model = models.steerable_cnn(fields, strides, kernel_size=kernel, padding=kernel // 2, normalise=True)
        width, rate = fields[0][0], 0.1
    else:
        channels = (PLAIN_CHANNELS if point["model"] == "plain" else THIN_CHANNELS)[scale]
        model = models.voxel_cnn(
            channels, strides, kernel_size=kernel, padding=kernel // 2, low_pass=True, normalise=True
        )
        width, rate = channels[0], 0.003
    descent = GradientDescent(
        learning_rate=rate,
        steps=sizes["steps"],
        batch_size=16,
        optimiser="adam",
        loss="cross-entropy",
        schedule="cosine",
        record=2,
    )
    alive = _first_alive(model, data, width, seed)
    outcome = System(data, model, descent, width=width).run(alive)
    learned = outcome.predict(data.inputs).argmax(1) == data.targets.argmax(1)
    network = model.network(data.input_shape, width=width, outputs=data.n_outputs, seed=alive)
    return {
        "accuracy": float(outcome.test_accuracy or 0.0),
        "training": float(learned.double().mean()),
        "weights": sum(p.numel() for p in network.parameters()),
        "redrawn": (alive - seed) // FURTHER,
    }


def _first_alive(model: FiniteModel, data: Dataset, width: int, seed: int) -> int:
    """The first of ``seed``, ``seed + FURTHER`` … whose network answers to its input as it starts.

    A plain network of one or two channels may have no unit that is on for any input: it could learn nothing.
    """
    from priorscope.system import check_model

    for draw in range(seed, seed + 50 * FURTHER, FURTHER):
        network = model.network(data.input_shape, width=width, outputs=data.n_outputs, seed=draw)
        try:
            check_model(network, data.inputs)
        except ValueError:
            continue
        return draw
    raise ValueError("of 50 networks none answers to its input as it starts; take more channels.")


def _wide(table: pd.DataFrame, turned: bool = True) -> pd.DataFrame:
    return table[table["turned"] == turned].pivot_table(index="seed", columns=["n", "model"], values="accuracy")


def gap(table: pd.DataFrame, n: int, other: str = "plain") -> Measured:
    """The steerable network's accuracy minus another's at ``n`` samples, draw by draw."""
    wide = _wide(table)
    if (n, "steerable") not in wide or (n, other) not in wide:
        raise NotMeasured(f"no runs at {n} samples")
    difference = (wide[n, "steerable"] - wide[n, other]).dropna()
    means = f"{wide[n, 'steerable'].mean():.2f} and {wide[n, other].mean():.2f}"
    return Measured(over_draws(difference), f"{means}, {len(difference)} pairs of draws")


def least_training(table: pd.DataFrame) -> Measured:
    """The mean accuracy on the training samples of the network and number of samples where it is lowest."""
    rows = table[table["turned"] & table["model"].isin(["steerable", "plain"])]
    cells = {f"{m} at {n}": over_draws(part) for (m, n), part in rows.groupby(["model", "n"])["training"]}
    return lowest(cells)


def fewer_weights(table: pd.DataFrame) -> Measured:
    """How many times the plain network's weights are those of the steerable one."""
    counts = table.groupby("model")["weights"].max()
    if not {"steerable", "plain"} <= set(counts.index):
        raise NotMeasured("one of the networks is missing")
    note = f"{counts['plain']:,.0f} and {counts['steerable']:,.0f}"
    return Measured(exact(float(counts["plain"] / counts["steerable"])), note)


def thinner_is_worse(table: pd.DataFrame) -> Measured:
    """Accuracy of the plain network with many weights minus that of the one with few, draw by draw."""
    wide = _wide(table)
    both = [column[0] for column in wide.columns if column[1] == "thin"]
    if not both or (both[0], "plain") not in wide:
        raise NotMeasured("no thin network")
    difference = (wide[both[0], "plain"] - wide[both[0], "thin"]).dropna()
    return Measured(over_draws(difference), f"{len(difference)} pairs of draws at {both[0]} samples")


def turning_helps(table: pd.DataFrame) -> Measured:
    """What training on turned samples gives the plain network beyond what it gives the steerable one, draw by draw."""
    turned, upright = _wide(table), _wide(table, turned=False)
    found = sorted({column[0] for column in upright.columns})
    if not found or (found[0], "plain") not in turned:
        raise NotMeasured("no networks trained upright")
    gains = {m: turned[found[0], m] - upright[found[0], m] for m in ("plain", "steerable")}
    note = f"plain {gains['plain'].mean():.2f}, steerable {gains['steerable'].mean():.2f}, at {found[0]} samples"
    return Measured(over_draws((gains["plain"] - gains["steerable"]).dropna()), note)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Accuracy on turned backbones by the number of training samples."""
    import altair as alt

    def name(model: str, turned: bool) -> str:
        return {"thin": "plain, as few weights"}.get(model, model) + ("" if turned else ", trained upright")

    named = table.assign(network=[name(*row) for row in zip(table["model"], table["turned"])])
    base = alt.Chart(named[["network", "n", "accuracy"]]).encode(
        x=alt.X("n:Q", title="training samples").scale(type="log", nice=False, padding=12),
        y=alt.Y("accuracy:Q", title="accuracy on turned backbones").scale(domain=[0, 1]),
        color=alt.Color("network:N", title=None),
    )
    drawn: alt.LayerChart = (
        base.mark_line().encode(y=alt.Y("mean(accuracy):Q")) + base.mark_circle(size=45, opacity=0.6)
    ).properties(width=340, height=240)
    return drawn


_CHANGES = (
    "six made-up architectures in place of CATH's ten, 16 voxels of 0.3 nm per side in place of 50 of 0.2 nm, three layers, 24 "
    "to 192 samples in place of about 300 to 5,000, batch normalisation, no other regularisation"
)
CLAIMS = (
    Claim(
        "Q.30",
        f"{STEERABLE}, section 5.4, figure 4",
        "a steerable network is more accurate than a plain one of equal channels at every number of training samples",
        checks=tuple(Check(f"{n} samples", partial(gap, n=n), rising()) for n in SIZES["small"]["n"]),
        changes=_CHANGES,
        trained=Check("least accuracy on the training samples, over networks and sizes", least_training, at_least(0.9)),
    ),
    Claim(
        "Q.31",
        f"{STEERABLE}, section 5.4",
        "it does so with over a hundred times fewer weights: 143,560 in place of 15,878,764",
        measure=fewer_weights,
        expect=above(100),
        changes="the counts of the small networks",
    ),
    Claim(
        "Q.32",
        f"{STEERABLE}, supplement, figure 6",
        "a plain network with as few weights as the steerable one is no better for it: the gap grows",
        measure=thinner_is_worse,
        expect=rising(),
        changes=_CHANGES,
    ),
    Claim(
        "Q.33",
        f"{STEERABLE}, section 5.4",
        "turning the training samples helps a steerable network little and a plain one much",
        measure=turning_helps,
        expect=rising(),
        changes=f"each sample is turned once, not at every presentation; {_CHANGES}",
    ),
)

PAPER = Paper("folds", "Folds from few samples", STEERABLE, 2, grid, run, CLAIMS, chart)
