"""Where the first row goes wrong on rows that took no part: class by class, and the rows it misses most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priorscope.judge import Outputs
from priorscope.printing import digits

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["Mistakes", "mistakes", "tested"]

_ROWS = 10  # that are shown
_CLASSES = 12  # up to which every pair of classes has its cell


@dataclass(frozen=True)
class Mistakes:
    """Tables of the mistakes of one row: a sentence, what classes are taken for, and the rows missed most."""

    text: str
    columns: list[str]
    classes: list[list[str]]
    row_columns: list[str]
    rows: list[list[str]]


def tested(result: Profile, row: Row) -> tuple[NDArray[np.int64], Outputs] | None:
    """The rows that a predictor was tested on at its largest size, and what it said of them; None where that was not kept."""
    record, ladder = result.race.records[row.name], result.race.ladder
    trials = record.trials[record.last]
    kept = [(ladder.divided[k][1], t.outputs) for k, t in sorted(trials.items()) if t.outputs is not None]
    if len(kept) < len(trials):
        return None
    probabilities = [o.probabilities for _, o in kept]
    whole = (
        None if any(p is None for p in probabilities) else np.concatenate([p for p in probabilities if p is not None])
    )
    values = np.concatenate([o.values for _, o in kept])
    return np.concatenate([rows for rows, _ in kept]), Outputs(values, whole, all(o.own for _, o in kept))


def mistakes(result: Profile) -> Mistakes | None:
    """The mistakes of the first row whose outputs were kept, of those not clearly worse; None where there is none."""
    for row in result.rows:
        found = tested(result, row) if row.learns is not False else None
        if found is not None:
            rows, outputs = found
            truth = result.race.problem.y[rows]
            of = "" if row is result.best else " (the first row keeps no outputs)"
            start = f"{row.name}{of}, fitted to {row.now[0]:,} rows and asked about {len(rows):,} others"
            if result.race.problem.n_classes is None:
                return None if truth.ndim > 1 else _numbers(start, rows, truth, outputs)
            return _classes(start, rows, truth, outputs, result.race.problem.classes)
    return None


def _numbers(start: str, rows: NDArray[np.int64], truth: NDArray[Any], outputs: Outputs) -> Mistakes:
    off = outputs.values - truth
    worst = np.argsort(-np.abs(off), kind="stable")[:_ROWS]
    most = [[f"{rows[i]:,}", digits(truth[i], 3), digits(outputs.values[i], 3), f"{off[i]:+.3g}"] for i in worst]
    half, most_off = np.quantile(np.abs(off), [0.5, 0.9])
    text = f"{start}: half of them off by less than {digits(float(half))}, nine of ten by less than {digits(float(most_off))}."
    return Mistakes(text, [], [], ["row (from 0)", "target", "predicted", "off by"], most)


def _classes(
    start: str, rows: NDArray[np.int64], truth: NDArray[Any], outputs: Outputs, names: tuple[str, ...]
) -> Mistakes:
    """Which classes were taken for which, and the rows that were most surely wrong."""
    said, count = outputs.values, len(names)
    table = np.zeros((count, count), dtype=int)
    np.add.at(table, (truth, said), 1)
    totals, right = table.sum(1), table.diagonal()
    wrong = int((said != truth).sum())
    text = f"{start}: {wrong:,} of {len(rows):,} wrong."
    if count <= _CLASSES:
        columns = ["class", *(f"said {name}" for name in names), "wrong"]
        body = [
            [names[c], *(str(v) if v else "·" for v in table[c]), _share(totals[c] - right[c], totals[c])]
            for c in range(count)
        ]
    else:
        columns = ["class", "rows", "wrong", "mostly taken for"]
        order = np.argsort(-(totals - right) / np.maximum(totals, 1), kind="stable")[:_CLASSES]
        off = table - np.diag(right)
        body = [[names[c], str(totals[c]), _share(totals[c] - right[c], totals[c]),
                 f"{names[off[c].argmax()]} ({off[c].max()})" if off[c].max() else "–"] for c in order]  # fmt: skip
    if outputs.probabilities is None or not outputs.own:
        missed = np.flatnonzero(said != truth)[:_ROWS]
        return Mistakes(text, columns, body, ["row (from 0)", "class", "said"],
                        [[f"{rows[i]:,}", names[truth[i]], names[said[i]]] for i in missed])  # fmt: skip
    p = outputs.probabilities[np.arange(len(truth)), truth]
    worst = [i for i in np.argsort(p, kind="stable")[:_ROWS] if said[i] != truth[i]]
    most = [[f"{rows[i]:,}", names[truth[i]], names[said[i]], f"{100 * p[i]:.2g} %"] for i in worst]
    return Mistakes(text, columns, body, ["row (from 0)", "class", "said", "probability given to the class"], most)


def _share(wrong: int, rows: int) -> str:
    return f"{100 * wrong / rows:.1f} % of {rows:,}" if rows else "–"
