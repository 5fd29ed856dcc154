"""Whether anything beats guessing, by the paired test rows of the largest size measured; never by a forecast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from priorscope.judge import margin_of
from priorscope.profiles._baseline import guessed
from priorscope.profiles._race import Race
from priorscope.profiles._record import Record

__all__ = ["Learning", "learning_of"]

_FALSE = 0.01  # how often anything may be said to learn from pure noise


@dataclass(frozen=True)
class Learning:
    """``learns``: True, False (a gain that counts would have shown) or None (too few rows); ``gain``: what would have shown.

    ``each`` says the same of every contender, ``guess`` is the error of the best constant answer on the same rows.
    """

    learns: bool | None
    gain: float
    rows: int
    guess: float
    each: dict[str, bool | None]


def _paired(race: Race, record: Record) -> tuple[float, float, float, int]:
    """Guessing's error minus the contender's on its largest rung, its standard error, guessing's error, and the test rows."""
    ladder, problem = race.ladder, race.problem
    blocks, rung = ladder.structure.blocks, record.last
    luck = np.zeros(ladder.structure.n_blocks)
    gains, errors, counts = [], [], []
    total = sum(len(ladder.part(rung, k).test) for k in record.folds(rung))
    for k in record.folds(rung):
        part, measured = ladder.part(rung, k), record.trials[rung][k].measured
        outputs = guessed(problem.y[part.train], len(part.test), problem.n_classes, race.metric)
        constant = race.metric.measure(problem.y[part.test], outputs)
        luck += np.bincount(blocks[part.test], constant.influence - measured.influence, len(luck)) / total
        gains.append(constant.value - measured.value)
        errors.append(constant.value)
        counts.append(len(part.test))
    return (
        float(np.average(gains, weights=counts)),
        float(np.sqrt((luck**2).sum())),
        float(np.average(errors, weights=counts)),
        total,
    )


def learning_of(race: Race) -> Learning:
    """Judge every contender beside guessing; the level is shared out among them (Bonferroni)."""
    records = race.measured
    sure = float(-ndtri(_FALSE / len(records)))
    each: dict[str, bool | None] = {}
    best: tuple[float, int, float] | None = None  # the smallest gain that would have shown
    for record in records:
        gain, noise, guess, rows = _paired(race, record)
        noise = max(noise, 0.5 * guess / max(rows, 1))  # few rows that all came out alike are no certainty
        shown = sure * noise
        if gain > shown:
            each[record.contender.name] = True
        else:
            each[record.contender.name] = (
                False if gain + shown < max(margin_of(guess, race.metric.percent), 0.0) else None
            )
        if best is None or rows > best[1] or (rows == best[1] and shown < best[0]):
            best = (shown, rows, guess)
    assert best is not None
    found = list(each.values())
    learns: bool | None = True if True in found else None if None in found else False
    return Learning(learns, best[0], best[1], best[2], each)
