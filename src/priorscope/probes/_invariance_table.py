"""Systems against groups: which symmetry each system has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from priorscope.data.groups import Group, named
from priorscope.probes._symmetry import Symmetry, symmetry
from priorscope.system import System

__all__ = ["InvarianceTable", "invariance_table"]


@dataclass(frozen=True)
class InvarianceTable:
    """One :class:`Symmetry` a cell.

    Example:
        >>> InvarianceTable({("FCN", "O(cd)"): Symmetry("O(cd)", "kernel", True, 1e-16)}).matrix().loc["FCN", "O(cd)"]
        np.True_
    """

    cells: dict[tuple[str, str], Symmetry]

    def table(self) -> pd.DataFrame:
        """One row a cell: system, group, and the fields of the test."""
        rows = [{"system": name, **cell.table().iloc[0].to_dict()} for (name, _), cell in self.cells.items()]
        return pd.DataFrame(rows)

    def matrix(self) -> pd.DataFrame:
        """Systems as rows, groups as columns, True where the system is invariant."""
        table = self.table()
        wide = table.pivot(index="system", columns="group", values="invariant")
        return wide.loc[table.system.unique(), table.group.unique()].astype(bool)

    def chart(self) -> Any:
        """Tiles: filled where invariant; the number is the relative change."""
        import altair as alt

        table = self.table()
        table = table.assign(
            invariant=table.invariant.map({True: "yes", False: "no"}), change=table.change.map(lambda v: f"{v:.0e}")
        )
        order = {"system": list(table.system.unique()), "group": list(table.group.unique())}
        base = alt.Chart(table).encode(
            x=alt.X("group:N", sort=order["group"], title="group"),
            y=alt.Y("system:N", sort=order["system"], title="system"),
        )
        tiles = base.mark_rect(stroke="white").encode(
            color=alt.Color("invariant:N", scale=alt.Scale(domain=["yes", "no"], range=["#4c78a8", "#eeeeee"])),
            tooltip=["system", "group", "invariant", "test", "change"],
        )
        text = base.mark_text(fontSize=9).encode(text="change:N")
        return tiles + text


def invariance_table(
    systems: Mapping[str, System], groups: Mapping[str, Group] | Iterable[Group] | None = None, **options: Any
) -> InvarianceTable:
    """The test of :func:`symmetry` for every system and every group (all named groups of the data when not given).

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(10, seed=0, n_test=10)
        >>> kernel = ps.inference.KernelRegression()
        >>> systems = {name: ps.System(data, getattr(ps.models, name)(depth=1), kernel) for name in ("fcn", "vec")}
        >>> g = ps.data.groups
        >>> table = invariance_table(systems, [g.pixel_orthogonal((1, 8, 8)), g.orthogonal((1, 8, 8))], n_inputs=4)
        >>> table.matrix().values.tolist()
        [[True, True], [True, False]]
    """
    if not systems:
        raise ValueError("invariance_table needs at least one system; got none.")
    cells: dict[tuple[str, str], Symmetry] = {}
    for name, system in systems.items():
        if groups is None:
            chosen: list[Group] = list(named(system.data.input_shape).values())
        else:
            chosen = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
        for group in chosen:
            cells[name, group.name] = symmetry(system, group, **options)
    return InvarianceTable(cells)
