"""Fig. 1 and Theorems 2.1 and 3.1: which symmetry each system has, and what a larger one costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

import priorscope.models as models
from priorscope.data.groups import named
from priorscope.inference import GradientDescent, KernelRegression
from priorscope.lab import Claim, Paper, Verdict
from priorscope.papers._symmetry_systems import (
    GROUPS,
    SIZE_OF,
    SOURCE,
    VARIANTS,
    architecture,
    element,
    images,
    inside,
    predictions,
    score,
)
from priorscope.probes import symmetry
from priorscope.system import System

__all__ = ["PAPER"]

ROTATIONS = ("O(c)⊗I", "O(c)^d", "O(cd)")
SYSTEMS = ("fcn", "lcn", "vec", "gap", "lap")
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"data": "local", "size": 4, "n": 16, "n_test": 32, "width": 4, "steps": 10},
    "small": {"data": "cifar10", "size": 8, "n": 256, "n_test": 1000, "width": 24, "steps": 300},
    "paper": {"data": "cifar10", "size": 32, "n": 50000, "n_test": 10000, "width": 512, "steps": 40000},
}


def grid(scale: str) -> list[dict[str, Any]]:
    """The exact parts (kernel, coupling, inclusion), then accuracies: system × group × variant × draw."""
    s = SIZES[scale]
    few = {**s, "n": min(int(s["n"]), 64), "n_test": 32, "width": 16 if scale != "tiny" else 3, "steps": 100, "seed": 0}
    few["size"] = min(int(s["size"]), 8)
    points: list[dict[str, Any]] = []
    for name in ("fcn", "lcn", "vec", "gap", "linear"):
        points += [{"part": "kernel", "system": name, "group": g, "variant": "ntk", **few} for g in GROUPS[1:]]
    for name in ("fcn", "lcn", "vec", "gap"):
        points += [{"part": "coupling", "system": name, "group": g, "variant": "nn+", **few} for g in ROTATIONS]
    for depth in (2, 3):
        points.append({"part": "inclusion", "system": "all", "group": "identity", "variant": f"depth {depth}", **few})
    draws = {"tiny": 1, "small": 2, "paper": 5}[scale]
    for seed in range(draws):
        for name in SYSTEMS if scale != "tiny" else ("fcn", "vec", "gap"):
            for variant in VARIANTS if scale != "tiny" else ("ntk", "nn+"):
                kept = GROUPS if variant == "ntk" and scale != "tiny" else ("identity", *ROTATIONS)
                sizes = (
                    {**s, "n": 128, "n_test": 256} if variant == "ntk" and scale == "small" else s
                )  # GAP costs d² a pair
                cell = {"part": "accuracy", "system": name, "variant": variant, **sizes, "seed": seed}
                points += [{**cell, "group": g} for g in kept]
    if scale == "small":  # more draws where S0.5 compares means
        for seed in range(draws, 5):
            for name in ("vec", "gap"):
                for variant in ("nn+", "nn++"):
                    points += [
                        {"part": "accuracy", "system": name, "group": g, "variant": variant, **s, "seed": seed}
                        for g in ("O(c)⊗I", "O(c)^d")
                    ]
    return points


def run(point: dict[str, Any]) -> dict[str, Any]:
    """One cell: a change, a difference, or an accuracy."""
    if point["part"] == "inclusion":
        return _inclusion(int(point["variant"].split()[1]), point["seed"])
    dataset = images(point["data"], point["size"], point["n"], point["n_test"], point["seed"])
    if point["part"] in ("kernel", "coupling"):
        group = named(dataset.input_shape)[point["group"]]
        if point["part"] == "kernel":
            system = System(dataset, architecture(point["system"]), KernelRegression())
            found = symmetry(system, group, n_inputs=8)
        else:
            descent = GradientDescent(
                learning_rate=0.05, momentum=0.9, weight_decay=1e-3, steps=point["steps"], batch_size=32, record=2
            )
            system = System(dataset, architecture(point["system"]), descent, width=point["width"])
            found = symmetry(system, group, test="coupling", n_elements=1)
        return {"change": found.change, "inside": inside(point["system"], point["group"], point["part"] == "kernel")}
    g = element(point["group"], tuple(dataset.input_shape), point["seed"])
    predicted = predictions(
        point["system"],
        point["variant"],
        dataset.transformed(g),
        width=point["width"] // 2 if point["system"] == "lcn" else point["width"],  # its filters are d times as many
        steps=point["steps"],
        seed=point["seed"],
    )
    infinite = point["variant"] == "ntk"
    return {"accuracy": score(predicted, dataset), "inside": inside(point["system"], point["group"], infinite)}


def _inclusion(depth: int, seed: int) -> dict[str, Any]:
    """Largest difference of outputs along GAP → VEC → LCN → wide VEC, float64."""
    shape = (3, 5, 5)
    x = torch.randn(10, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    gap = models.gap(depth=depth, bias_variance=0.1).network(shape, width=3, outputs=2, seed=seed, dtype=torch.float64)
    lcn = models.lcn(depth=depth, bias_variance=0.1).network(shape, width=2, outputs=2, seed=seed, dtype=torch.float64)
    vec = models.gap_to_vec(gap, shape)
    pairs = ((gap, vec), (vec, models.vec_to_lcn(vec, shape)), (lcn, models.lcn_to_vec(lcn, shape)))
    with torch.no_grad():
        worst = max(float((a(x) - b(x)).abs().max()) for a, b in pairs)
    return {"difference": worst}


def _judge_table(part: str, low: float, high: float) -> Any:
    def judge(table: pd.DataFrame) -> Verdict:
        cells = table[(table.part == part) & (table["group"].isin(ROTATIONS))]
        within = cells[cells.inside.astype(bool)].change.max()
        outside = cells[~cells.inside.astype(bool)].change.min()
        note = f"{len(cells)} cells: at most {within:.1e} inside the group, at least {outside:.1e} outside"
        return Verdict("holds" if within <= low and outside >= high else "fails", measured=float(within), note=note)

    return judge


def _judge_inclusion(table: pd.DataFrame) -> Verdict:
    worst = float(table[table.part == "inclusion"].difference.max())
    return Verdict(
        "holds" if worst <= 1e-5 else "fails", measured=worst, note="three embeddings, depths 2 and 3, float64"
    )


def drops(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy lost to a group against the plain data of the same draw, and how far it lies from FCN's."""
    cells = table[table.part == "accuracy"]
    keys = ["system", "variant", "seed"]
    plain = cells[cells["group"] == "identity"].set_index(keys).accuracy
    fcn = cells[(cells.system == "fcn") & (cells["group"] == "identity")].set_index(["variant", "seed"]).accuracy
    rows = cells[cells["group"] != "identity"].copy()
    at = list(zip(rows.system, rows.variant, rows.seed))
    rows = rows[[k in plain.index for k in at]]
    rows["plain"] = [float(plain[k]) for k in zip(rows.system, rows.variant, rows.seed)]
    rows["fcn"] = [float(fcn[k]) for k in zip(rows.variant, rows.seed)]
    return rows.assign(drop=rows.plain - rows.accuracy, above_fcn=rows.accuracy - rows.fcn)


def _judge_fig1(table: pd.DataFrame) -> Verdict:
    cells = drops(table)
    noise = float(np.sqrt(2 * 0.25 / cells.n_test.min()))  # of a difference of two accuracies, an upper bound
    kept = cells[cells.inside.astype(bool)]
    lost = cells[~cells.inside.astype(bool)]
    mean = lambda part, column: part.groupby(["system", "variant", "group"])[column].mean()  # noqa: E731
    inside_mean = mean(kept, "drop").abs().max()
    outside = mean(lost, "drop")
    error = float(outside.std(ddof=1) / np.sqrt(len(outside)))
    full = lost[lost["group"].isin(["O(cd)"])]
    gap_before = float((full.plain - full.fcn).abs().mean())
    gap_after = float(full.above_fcn.abs().mean())
    note = (
        f"inside: largest mean change {inside_mean:.3f} (noise of one cell {noise:.3f}); outside: mean drop "
        f"{outside.mean():.3f} ± {error:.3f} over {len(outside)} cells; "
        f"distance to FCN under O(cd) {gap_before:.3f} -> {gap_after:.3f}"
    )
    value, low, high = float(outside.mean()), float(outside.mean() - 2 * error), float(outside.mean() + 2 * error)
    if inside_mean > 3 * noise or high < 0:
        return Verdict("fails", value, low, high, note)
    shown = low > 0 and gap_after < max(gap_before, noise)
    return Verdict("holds" if shown else "not shown", value, low, high, note)


def _judge_interventions(table: pd.DataFrame) -> Verdict:
    cells = table[(table.part == "accuracy") & table.variant.isin(["nn+", "nn++"])]
    wide = cells.pivot_table(index="seed", columns=["variant", "system", "group"], values="accuracy")
    wanted = [("nn+", "vec", "O(c)⊗I"), ("nn+", "vec", "O(c)^d"), ("nn+", "gap", "O(c)⊗I")]
    wanted += [("nn++", "gap", "O(c)⊗I"), ("nn++", "vec", "O(c)⊗I")]
    missing = [" ".join(cell) for cell in wanted if cell not in wide.columns]
    if missing:
        return Verdict("not shown", note=f"this grid has no {', '.join(missing)}")
    first = (wide["nn+", "vec", "O(c)⊗I"] - wide["nn+", "vec", "O(c)^d"]).dropna()
    gap_plus = (wide["nn+", "gap", "O(c)⊗I"] - wide["nn+", "vec", "O(c)⊗I"]).dropna()
    gap_mixup = (wide["nn++", "gap", "O(c)⊗I"] - wide["nn++", "vec", "O(c)⊗I"]).dropna()
    closing = gap_plus - gap_mixup

    def bounds(values: pd.Series) -> tuple[float, float]:
        error = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
        return float(values.mean() - 2 * error), float(values.mean() + 2 * error)

    (low1, high1), (low2, high2) = bounds(first), bounds(closing)
    note = (
        f"NN+: VEC under O(c)⊗I minus under O(c)^d {first.mean():.3f} [{low1:.3f}, {high1:.3f}]; GAP minus VEC falls from "
        f"{gap_plus.mean():.3f} to {gap_mixup.mean():.3f} with MixUp, by {closing.mean():.3f} [{low2:.3f}, {high2:.3f}]"
    )
    if high1 < 0 or high2 < 0:
        return Verdict("fails", float(first.mean()), low1, high1, note)
    return Verdict("holds" if low1 > 0 and low2 > 0 else "not shown", float(first.mean()), low1, high1, note)


def chart(table: pd.DataFrame) -> Any:
    """Accuracy against group, one line a system, one panel a way to train."""
    import altair as alt

    cells = table[table.part == "accuracy"][["system", "group", "variant", "seed", "accuracy"]]
    cells = cells.assign(system=cells.system.str.upper(), variant=cells.variant.str.upper())
    order = sorted(set(cells["group"]), key=lambda g: (SIZE_OF[g], g))
    base = alt.Chart(cells).encode(
        x=alt.X("group:N", sort=order, title="group applied to the data"),
        color=alt.Color("system:N", title="system"),
    )
    line = base.mark_line(point=True).encode(
        y=alt.Y("mean(accuracy):Q", title="test accuracy", scale=alt.Scale(zero=False))
    )
    return line.properties(width=160).facet(column=alt.Column("variant:N", title="training"))


PAPER = Paper(
    name="symmetry",
    title="Symmetries of learning systems",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=(
        Claim(
            "S0.1",
            f"{SOURCE}, Theorem 3.1",
            "infinite width: FCN and minimum-norm regression have O(cd), LCN and VEC have O(c)^d, GAP has O(c)⊗I, none has more",
            "kernel change ≤ 1e-5 inside, ≥ 1e-2 outside",
            1e-5,
            _judge_table("kernel", 1e-5, 1e-2),
        ),
        Claim(
            "S0.2",
            f"{SOURCE}, Theorem 3.1",
            "finite width: FCN has O(cd), LCN has O(c)^d, VEC and GAP have O(c)⊗I, after training with momentum and L2",
            "prediction change ≤ 1e-4 after ≥ 100 steps",
            1e-4,
            _judge_table("coupling", 1e-4, 1e-2),
        ),
        Claim(
            "S0.3", f"{SOURCE}, Theorem 2.1", "GAP ⊆ VEC ⊆ LCN ⊆ wide VEC", "difference ≤ 1e-5", 1e-5, _judge_inclusion
        ),
        Claim(
            "S0.4",
            f"{SOURCE}, Fig. 1",
            "a group inside the system's symmetry leaves its accuracy; a larger one lowers it towards the system that has it",
            "no change inside; a drop outside; under O(cd) near FCN",
            "intervals of 2 standard errors over cells",
            _judge_fig1,
        ),
        Claim(
            "S0.5",
            f"{SOURCE}, Fig. 1, Sec. 3.1",
            "NN+ separates VEC under O(c)⊗I from VEC under O(c)^d; MixUp closes VEC to GAP",
            "both differences > 0",
            "intervals of 2 standard errors over draws",
            _judge_interventions,
        ),
    ),
    chart=chart,
)
