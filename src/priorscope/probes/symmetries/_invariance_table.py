"""Systems against groups: which symmetry each system has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from priorscope.contracts import guarded
from priorscope.data.groups import Group, named
from priorscope.probes.symmetries import Symmetry, symmetry
from priorscope.system import System

if TYPE_CHECKING:
    import altair as alt

__all__ = ["InvarianceTable", "invariance_table"]


@dataclass(frozen=True)
class InvarianceTable:
    """One :class:`Symmetry` per cell (system, group).

    Example:
        >>> InvarianceTable({("FCN", "O(cd)"): Symmetry("O(cd)", "kernel", True, 1e-16)}).matrix().loc["FCN", "O(cd)"]
        np.True_
    """

    cells: dict[tuple[str, str], Symmetry]

    def table(self) -> pd.DataFrame:
        """One row per cell: system, group, and the fields of the test."""
        rows = [{"system": name, **cell.table().iloc[0].to_dict()} for (name, _), cell in self.cells.items()]
        return pd.DataFrame(rows)

    def matrix(self) -> pd.DataFrame:
        """Systems as rows, groups as columns, True where the system is invariant."""
        table = self.table()
        wide = table.pivot(index="system", columns="group", values="invariant")
        return wide.loc[table.system.unique(), table.group.unique()].astype(bool)

    def chart(self) -> alt.TopLevelMixin:
        """Tiles: dark where invariant, pale blue where seeds did not refute it; relative change, or p of the black box."""
        import altair as alt

        table = self.table()
        table = table.assign(
            invariant=[cell.answer for cell in self.cells.values()],
            text=[
                f"{cell.change:.0e}" if cell.p_value is None else f"p {cell.p_value:.3f}"
                for cell in self.cells.values()
            ],
        )
        base = alt.Chart(table).encode(
            x=alt.X("group:N", sort=list(table.group.unique()), title="group", axis=alt.Axis(labelAngle=-40)),
            y=alt.Y("system:N", sort=list(table.system.unique()), title="system"),
        )
        tiles = base.mark_rect(stroke="white").encode(
            color=alt.Color(
                "invariant:N",
                title="invariant",
                scale=alt.Scale(domain=["yes", "not refuted", "no"], range=["#4c78a8", "#bcd0e6", "#e8e8e8"]),
            ),
            tooltip=["system", "group", "invariant", "test", "change", "p_value", "note"],
        )
        numbers = base.mark_text(fontSize=10).encode(
            text="text:N", color=alt.condition("datum.invariant == 'yes'", alt.value("white"), alt.value("#333333"))
        )
        chart: alt.TopLevelMixin = (tiles + numbers).properties(width=alt.Step(62), height=alt.Step(26))
        return chart


@guarded()
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
