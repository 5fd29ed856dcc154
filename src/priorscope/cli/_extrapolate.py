"""``priorscope extrapolate``: the error of anybody's predictor at more samples than were measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priorscope.cli._options import JsonOption, check_ending
from priorscope.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from priorscope.curves import Extrapolation
    from priorscope.statistics import Interval

__all__ = ["extrapolate"]


def extrapolate(
    curve: Annotated[Path, typer.Argument(help="CSV: training samples, then errors; columns tests and se by name.")],
    to: Annotated[float, typer.Option(min=1, help="Training samples at which the error is wanted.")],
    kind: Annotated[str | None, typer.Option(help="linear, tree, kernel, neighbours or network.")] = None,
    tests: Annotated[int | None, typer.Option(min=1, help="Test rows behind each error, where it is a share.")] = None,
    need: Annotated[float | None, typer.Option(help="An error: how many samples does it need?")] = None,
    labels: Annotated[float | None, typer.Option(min=1, help="So many more samples: what are they worth?")] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.9,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Picture (.png .svg .pdf .html) or the curve (.csv).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Extrapolate measured errors, shares or losses, with what thousands of measured curves did.

    Example: priorscope extrapolate curve.csv --to 100000 --kind network --tests 10000 -o curve.png
    """
    check_ending(out)
    import priorscope as ps
    from priorscope.cli._options import print_json

    table = _read(curve)
    behind = tests if tests is not None else table.get("tests")
    found = ps.extrapolate(
        table.iloc[:, 0], table.iloc[:, 1], to=to, tests=behind, kind=kind, errors_se=table.get("se"), level=level
    )
    wanted = None if need is None else found.needed(need)
    worth = None if labels is None else found.worth(labels)
    if json:
        print_json(_plain(found) | {"needed": wanted and vars(wanted), "worth": worth and vars(worth)})
    else:
        typer.echo(found.sentence)
        if wanted is not None:
            typer.echo(f"{str(wanted)[0].upper()}{str(wanted)[1:]}.")
        if worth is not None:
            typer.echo(f"{labels:,.0f} more samples would take off {_shown(worth)}.")
        for caution in found.cautions:
            typer.echo(f"Careful: {caution}.")
    if out is None:
        return
    if out.suffix.lower() == ".csv":
        write_whole(out, found.curve().to_csv(index=False))
    else:
        from priorscope.report import save_chart

        save_chart(found.chart(), out)
    typer.echo(f"wrote {out}", err=True)


def _read(file: Path) -> pd.DataFrame:
    """The points: two columns of numbers, and those named tests or se."""
    import pandas as pd

    table = pd.read_csv(file, comment="#", skipinitialspace=True)
    named = [c for c in table.columns if str(c).strip().lower() not in ("tests", "se")]
    numbers = table.select_dtypes("number").columns
    if len(named) != 2 or len(numbers) != len(table.columns) or table.empty or table.isna().any().any():
        raise ValueError(
            f"{file.name} needs a line of names, then numbers: training samples, error, and if known tests (test rows) or se "
            f"(standard error) under these names; got the columns {', '.join(map(str, table.columns))} and {len(table)} rows."
        )
    return table.rename(columns={c: str(c).strip().lower() for c in table.columns})[
        [*(str(c).strip().lower() for c in named), *(c for c in ("tests", "se") if c not in named and c in table)]
    ]


def _shown(one: Interval) -> str:
    return f"{one.value:.3g} ({one.low:.3g}–{one.high:.3g})"


def _plain(found: Extrapolation) -> dict[str, object]:
    intervals = {"estimate": found.estimate, "floor": found.floor, "twice": found.gain(2), "ten_times": found.gain(10)}
    return {
        "to": found.to,
        "level": found.level,
        "kind": found.kind,
        **{name: vars(one) for name, one in intervals.items()},
        "cautions": [{"kind": c.kind.name.lower(), "words": c.words} for c in found.cautions],
        "curve": found.curve().to_dict("records"),
    }
