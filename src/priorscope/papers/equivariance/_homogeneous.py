"""All equivariant maps between fields on homogeneous spaces: their number by three ways, and the twisted correlation."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from priorscope.lab import Check, Claim, Measured, Metrics, NotMeasured, Paper, Point, at_most, near
from priorscope.models import homogeneous as hom
from priorscope.statistics import exact

if TYPE_CHECKING:
    import altair as alt

SOURCE = "Cohen, Geiger & Weiler, A general theory of equivariant CNNs on homogeneous spaces (2019)"
GROUPS = {"tiny": ("D3",), "small": ("D3", "D4", "S4", "p4", "p4m"), "paper": ("D3", "D4", "S4", "p4", "p4m")}
CIRCLE = {"tiny": 1, "small": 3, "paper": 3}  # largest degrees of the fields over SO(2)
TURNS = 16  # elements that stand for SO(2): more than twice the largest degree, so that no two frequencies meet


@cache
def fields(group: str) -> dict[str, hom.Field]:
    """Fields of one group by name: its subgroup, a stroke, the representation."""
    if group in ("p4", "p4m"):
        G, inner = hom.semidirect(3, {"p4": "C4", "p4m": "D4"}[group])
        subgroups = {"H": inner}
    elif group == "S4":
        G = hom.symmetric(4)
        fixing = tuple(g for g in range(24) if G.names[g][3] == "3")
        subgroups = {
            "S3": fixing,
            "C4": G.subgroup([G.named("1230")]),
            "V": G.subgroup([G.named("1032"), G.named("2301")]),
        }
    else:
        G = hom.dihedral(int(group[1:]))
        subgroups = {"C2": G.subgroup([G.named("f")]), "turns": G.subgroup([G.named("r")]), "1": (0,)}
    made: dict[str, hom.Field] = {}
    for name, members in subgroups.items():
        space = hom.Cosets(G, members)
        for k, representation in enumerate(hom.irreducible(G, members)):
            made[f"{name}/irrep{k}"] = hom.Field(space, representation)
        if len(members) > 1:
            made[f"{name}/regular"] = hom.Field(space, hom.regular(G, members))
    return made


def grid(scale: str) -> list[Point]:
    """All pairs of fields of every group whose maps are few enough to solve for; and pairs of degrees over a circle."""
    points: list[Point] = []
    for group in GROUPS[scale]:
        small = {name: field for name, field in fields(group).items() if field.dim <= 40}
        points += [{"group": group, "first": a, "second": b, "seed": 0} for a in small for b in small]
    most = CIRCLE[scale]
    points += [
        {"group": "SO(2)", "first": f"{a}", "second": f"{b}", "seed": 0}
        for a in range(most + 1)
        for b in range(most + 1)
    ]
    return points


def degree(l: int) -> hom.Field:
    """Degree l of SO(3) restricted to turns about one axis: frequencies 0 to l, as real turns; on one point."""
    G = hom.cyclic(TURNS)
    angle = 2 * np.pi * np.arange(TURNS) / TURNS
    matrices = torch.zeros(TURNS, 2 * l + 1, 2 * l + 1, dtype=torch.float64)
    matrices[:, 0, 0] = 1
    for m in range(1, l + 1):
        c, s = torch.from_numpy(np.cos(m * angle)), torch.from_numpy(np.sin(m * angle))
        block = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
        matrices[:, 2 * m - 1 : 2 * m + 1, 2 * m - 1 : 2 * m + 1] = block
    whole = tuple(range(TURNS))
    return hom.Field(hom.Cosets(G, whole), hom.Representation(f"degree {l}", G, whole, matrices))


def run(point: Point) -> Metrics:
    """Dimensions by double cosets, by characters and by brute force; how far maps are from equivariant and correlations apart."""
    if point["group"] == "SO(2)":
        a, b = degree(int(point["first"])), degree(int(point["second"]))
        a = hom.Field(
            b.space,
            hom.Representation(a.representation.name, b.space.group, b.space.subgroup, a.representation.matrices),
        )
    else:
        made = fields(point["group"])
        a, b = made[point["first"]], made[point["second"]]
    space = hom.KernelSpace(a, b)
    found: Metrics = {
        "double_cosets": space.dim,
        "characters": space.by_characters(),
        "brute_force": len(space.by_brute_force()) if a.dim * b.dim <= 700 else None,
        "equivariance": 0.0,
        "twisted": 0.0,
    }
    if not space.dim:
        return found
    group = a.space.group
    gaps = [float((b.action(g) @ space.maps - space.maps @ a.action(g)).abs().max()) for g in group.generators]
    source = torch.Generator().manual_seed(point["seed"])
    kernel = torch.einsum("k,kxba->xba", torch.randn(space.dim, generator=source, dtype=torch.float64), space.basis_c)
    f = torch.randn(len(a.space), a.representation.dim, generator=source, dtype=torch.float64)
    twisted, kappa, lifted = space.correlate(kernel, f), space.lift(kernel), a.lift(f)
    rows = [  # the ordinary correlation on the group, read off on the section
        torch.einsum("gba,ga->b", kappa[group.table[group.inverse(int(s))]], lifted) for s in b.space.section
    ]
    whole = torch.stack(rows) / len(a.space.subgroup)
    return found | {
        "equivariance": max(gaps, default=0.0),
        "twisted": float((whole - twisted).abs().max() / twisted.abs().max().clamp_min(1e-300)),
    }


def _rows(table: pd.DataFrame, circle: bool = False) -> pd.DataFrame:
    rows = table[(table.group == "SO(2)") == circle]
    if not len(rows):
        raise NotMeasured("no runs of this kind")
    return rows


def apart(table: pd.DataFrame, other: str) -> Measured:
    """The largest difference of the dimension by double cosets from that by another way."""
    rows = _rows(table).dropna(subset=other)
    return Measured(exact(float((rows.double_cosets - rows[other]).abs().max())), f"of {len(rows)} pairs of fields")


def largest(table: pd.DataFrame, column: str) -> Measured:
    """The largest entry of a column."""
    rows = _rows(table)
    return Measured(exact(float(rows[column].max())), f"of {len(rows)} pairs of fields")


def counted(table: pd.DataFrame, first: str, second: str) -> Measured:
    """The dimension of one pair of fields of D3."""
    rows = table[(table.group == "D3") & (table["first"] == first) & (table["second"] == second)]
    if not len(rows):
        raise NotMeasured(f"no run of {first} to {second}")
    return Measured(exact(float(rows.brute_force.iloc[0])), "by brute force")


CLAIMS = (
    Claim(
        "Q.40",
        f"{SOURCE}, theorems 3.2 to 3.4",
        "kernels on the group, on cosets and on double cosets are one space: its dimension is the sum over double cosets of Hom "
        "over their stabilisers",
        checks=(
            Check("largest difference from a null space", partial(apart, other="brute_force"), at_most(0)),
            Check(
                "largest difference from the product of characters", partial(apart, other="characters"), at_most(1e-9)
            ),
            Check("largest |π₂Φ − Φπ₁| of the maps made", partial(largest, column="equivariance"), at_most(1e-10)),
        ),
    ),
    Claim(
        "Q.41",
        f"{SOURCE}, eq. 14",
        "the twisted cross-correlation on G/H is the correlation of lifted fields on G",
        measure=partial(largest, column="twisted"),
        expect=at_most(1e-10),
    ),
    Claim(
        "Q.42",
        "worked out from theorem 3.4 for D3 over {e, f}",
        "scalars, signs and regular fields on three points have 2, 1, 2, 3, 3 and 6 equivariant maps",
        checks=tuple(
            Check(f"{a} to {b}", partial(counted, first=f"C2/{x}", second=f"C2/{y}"), near(value, within=1e-9))
            for a, b, x, y, value in (
                ("trivial", "trivial", "irrep0", "irrep0", 2),
                ("trivial", "sign", "irrep0", "irrep1", 1),
                ("sign", "sign", "irrep1", "irrep1", 2),
                ("trivial", "regular", "irrep0", "regular", 3),
                ("sign", "regular", "irrep1", "regular", 3),
                ("regular", "regular", "regular", "regular", 6),
            )
        ),
    ),
)


def chart(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Dimension by double cosets against that by characters, one point per pair of fields."""
    import altair as alt

    rows = table[table.group != "SO(2)"].groupby(["group", "double_cosets", "characters"], as_index=False).size()
    x = alt.X("characters:Q", title="dimension from characters").scale(type="symlog")
    y = alt.Y("double_cosets:Q", title="dimension from double cosets").scale(type="symlog")
    line = alt.Chart(pd.DataFrame({"v": [0, float(table.characters.max())]})).mark_line(strokeDash=[4, 4], color="grey")
    points = (
        alt.Chart(rows)
        .mark_point(filled=True, opacity=0.6)
        .encode(x, y, alt.Color("group:N"), alt.Size("size:Q", title="pairs"))
    )
    return alt.layer(line.encode(x="v:Q", y="v:Q"), points)


PAPER = Paper(
    name="homogeneous",
    title="All equivariant maps between fields on homogeneous spaces",
    source=SOURCE,
    version=1,
    grid=grid,
    run=run,
    claims=CLAIMS,
    chart=chart,
)
