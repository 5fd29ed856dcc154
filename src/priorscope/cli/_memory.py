"""``priorscope memory``: what a player with a finite memory can reach on a bandit, and how much of it learning finds."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from priorscope.cli._options import JsonOption, print_json

__all__ = ["memory"]

Row: TypeAlias = dict[str, Any]  # one policy: its name, its errors and its reward


def memory(
    success: Annotated[
        str, typer.Argument(help="Chances of the arms to pay, as in 0.55,0.45; their order is unknown.")
    ],
    states: Annotated[
        int, typer.Option("--states", min=1, help="States of a memory that may be rewritten at will.")
    ] = 8,
    plays: Annotated[int, typer.Option("--plays", min=1, help="Plays remembered by a memory that is only read.")] = 3,
    reset: Annotated[
        float, typer.Option(help="Chance per play that the world starts anew: one over the horizon.")
    ] = 1e-4,
    evaluations: Annotated[int, typer.Option(min=2, help="Steps of learning.")] = 500,
    seeds: Annotated[int, typer.Option(min=1, help="Policies learnt from different random starts.")] = 8,
    out: Annotated[Path | None, typer.Option(help="Draw the best policy that was learnt (.html, .png, .svg).")] = None,
    json: JsonOption = False,
) -> None:
    """How often a player with a finite memory plays a worse arm: known policies exactly, learnt ones as found.

    Examples:  priorscope memory 0.55,0.45   |   priorscope memory 0.7,0.5,0.3 --states 4 --plays 2
    """
    from priorscope import memory as finite

    try:
        chances = [float(word) for word in success.split(",")]
    except ValueError:
        raise ValueError(
            f"the chances of the arms are numbers with commas between, as in 0.55,0.45; got {success!r}."
        ) from None
    world = finite.arms_in_any_order(chances)
    arms = world.n_arms
    rows: list[Row] = [_row("none", "any arm, blindly", world.wrong.mean(), world.means.mean())]
    column = finite.ram(states, arms=arms)
    rate = _best_rate(finite, states, world, reset)
    known = finite.performance(finite.column_of_confidence(states, rate, arms=arms), column, world, reset=reset)
    rows.append(_row(column.name, f"column of confidence, exit rate {rate:.2g}", known.wrong, known.reward))
    best = None
    for chosen in (column, finite.memento(plays, arms=arms)):
        start = finite.random_start(chosen, range(seeds))
        found = finite.learn(start, chosen, world, reset=reset, method="adam", evaluations=evaluations)
        least = int(found.best.argmin())
        learnt = finite.performance(found.policies[least], chosen, world, reset=reset)
        words = f"learnt from random logits, best of {seeds}"
        rows.append(_row(chosen.name, words, learnt.wrong, learnt.reward))
        if best is None or learnt.wrong < best[0]:
            best = (learnt.wrong, found.policies[least], chosen)
    if json:
        print_json({"success": chances, "reset": reset, "rows": rows})
    else:
        _print(rows, reset)
    if out is not None and best is not None:
        from priorscope.report import save_chart

        typer.echo(
            f"wrote {save_chart(finite.policy_graph(best[1], best[2], world, reset=reset).chart(), out)}", err=json
        )


def _row(name: str, policy: str, wrong: float, reward: float) -> Row:
    return {"memory": name, "policy": policy, "plays on a worse arm": float(wrong), "mean reward": float(reward)}


def _best_rate(finite: types.ModuleType, states: int, world: Any, reset: float) -> float:
    """The exit rate of a column or star with the fewest wrong plays, over a grid of rates."""
    if world.n_arms == 2:
        return float(finite.best_exit_rate(states, world, reset)[0])
    chosen = finite.ram(states, arms=world.n_arms)
    rates = [10 ** (-k / 4) for k in range(25)]

    def wrong(rate: float) -> float:
        policy = finite.column_of_confidence(states, rate, arms=world.n_arms)
        return float(finite.performance(policy, chosen, world, reset=reset).wrong)

    return min(rates, key=wrong)


def _print(rows: list[Row], reset: float) -> None:
    """Print the table of memories and name the best."""
    from rich.console import Console

    from priorscope.report import rich_table

    console = Console()
    shown = [
        {
            **row,
            "plays on a worse arm": f"{100 * row['plays on a worse arm']:.3g} %",
            "mean reward": f"{row['mean reward']:.3g}",
        }
        for row in rows
    ]
    console.print(rich_table(shown, title=f"Finite memories, restarts with chance {reset:g} per play"))
    first = min(rows[1:], key=lambda row: row["plays on a worse arm"])
    console.print(
        f"Best here: {first['policy']} with {first['memory']}, {100 * first['plays on a worse arm']:.3g} % of plays on a "
        f"worse arm ({100 * rows[0]['plays on a worse arm']:.3g} % blindly).",
        highlight=False,
    )
