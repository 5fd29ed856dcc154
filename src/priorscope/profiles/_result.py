"""What a profile says: a ranked table of estimators, sentences, charts, JSON, a page, and the estimator it names."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.judge import Metric
from priorscope.profiles._answer import Answer, answer_of
from priorscope.profiles._baseline import Baseline
from priorscope.profiles._budget import seconds_of
from priorscope.profiles._kind import Kind
from priorscope.profiles._progress import Progress
from priorscope.profiles._race import Race
from priorscope.profiles._row import Row
from priorscope.statistics import Interval
from priorscope.threads import one_thread
from priorscope.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt
    from sklearn.base import BaseEstimator

    from priorscope.probes import LabelMove
    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._progress import Step
    from priorscope.profiles.sections import Finding

__all__ = ["Profile", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What a profile was asked beside its data, and what was said of them."""

    target_error: float | None
    deep: bool
    resize: int | None
    why: str  # the metric was chosen
    notes: tuple[str, ...]
    level: float
    seed: int


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_finite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Profile:
    """The result of :func:`profile`: one table of estimators, what the data look like, what to be careful about.

    ``rows`` are sorted by their estimates at ``to`` rows, the first is what to use. ``learns`` says whether anything beats
    guessing by the test rows: True, False (a gain that counts would have shown) or None (too few rows to tell).
    ``candidates`` hold what else was measured of the leading architectures, ``findings`` what sections found.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0] * x[:, 1], budget=5, deep=False)
        >>> rep.best is rep.rows[0], rep.metric.value, rep.to == rep.n_train
        (True, 'rmse', True)
    """

    race: Race = field(repr=False)
    setting: Setting = field(repr=False)
    answer: Answer = field(repr=False)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    candidates: tuple[ArchitectureProfile, ...] = ()
    data_symmetries: tuple[LabelMove, ...] = ()
    findings: dict[str, Finding] = field(default_factory=dict, repr=False)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @classmethod
    def of(cls, race: Race, setting: Setting, aside: float, steps: Progress) -> Profile:
        """The profile that a race gives now; ``aside`` seconds go into what else is measured."""
        from priorscope.profiles._beside import beside
        from priorscope.profiles._cautions import cautions

        answer = answer_of(race)
        fitted = [note for r in race.measured if r.contender.offered for note in r.fit_notes]
        made = cls(race, setting, answer, (*setting.notes, *race.notes, *fitted), ())
        try:
            more = beside(made, aside, steps)
            made = replace(made, candidates=more.candidates, data_symmetries=more.symmetries, findings=more.findings,
                           notes=(*made.notes, *more.notes))  # fmt: skip
            made = replace(made, warnings=tuple(cautions(made)))
        except KeyboardInterrupt:
            made = replace(
                made, notes=(*made.notes, "stopped by hand before everything beside the errors was measured")
            )
        return made

    def timed(self, seconds: float, cpu_seconds: float) -> Profile:
        """The same with the time it took in all."""
        return replace(self, seconds=self.seconds + seconds, cpu_seconds=self.cpu_seconds + cpu_seconds)

    def continue_(
        self, budget: float | str | None = None, progress: Callable[[Step], None] | bool | None = None
    ) -> Profile:
        """Go on with the race for another budget; a new profile with sharper numbers.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
            >>> rep = ps.profile(x, x[:, 0], budget=0.5, deep=False)
            >>> rep.continue_(3).cpu_seconds > rep.cpu_seconds
            True
        """
        import time as clock

        wall, began = clock.perf_counter(), clock.process_time()
        steps = Progress(progress)
        with one_thread():
            self.race.run(seconds_of(budget), steps.tell)
            made = Profile.of(self.race, self.setting, 0.0, steps)
        steps.finish()
        kept = replace(made, candidates=self.candidates, data_symmetries=self.data_symmetries, findings=self.findings)
        return replace(kept, seconds=self.seconds, cpu_seconds=self.cpu_seconds).timed(
            clock.perf_counter() - wall, clock.process_time() - began
        )

    # -- what was asked --------------------------------------------------------------------------------------------------

    @property
    def data(self) -> str:
        """The name of the data."""
        return self.race.problem.data.name

    @property
    def task(self) -> str:
        """The task, "classification" or "regression"."""
        return self.race.problem.task

    @property
    def metric(self) -> Metric:
        """What predictors are compared by."""
        return self.race.metric

    @property
    def n_train(self) -> int:
        """Rows that there are."""
        return self.race.problem.n

    @property
    def to(self) -> int:
        """The size asked about: rows are ranked by their estimates there."""
        return int(self.race.to)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return self.race.problem.shape

    @property
    def about(self) -> str:
        """What errors speak of: "new rows", "new groups" or "later times"."""
        return self.race.ladder.structure.about

    # -- the answer ------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> tuple[Row, ...]:
        """Everybody who was measured, lowest estimate first."""
        return self.answer.rows

    @property
    def best(self) -> Row:
        """The first row: what to use."""
        return self.rows[0]

    @property
    def learns(self) -> bool | None:
        """Whether anything beats guessing on rows that took no part: True, False, or None where rows are too few to tell."""
        return self.answer.learning.learns

    @property
    def baseline(self) -> Baseline:
        """The error of the best constant answer."""
        return Baseline(self.answer.learning.guess, self.metric.guess)

    @property
    def settled(self) -> bool:
        """Whether the race ended with an answer, and not because its budget was spent or somebody stopped it."""
        return self.race.ended in ("settled", "measured")

    def row(self, name: str) -> Row:
        """The row of a name."""
        found = next((row for row in self.rows if row.name == name), None)
        if found is None:
            raise ValueError(f"the profile has no row {name!r}; it has {', '.join(row.name for row in self.rows)}.")
        return found

    def best_of(self, kind: Kind | str) -> Row | None:
        """The first row of a kind ("kernel machine", "network", "classical model", "average", "your model"); None: there is none.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> ps.profile(x, x[:, 0], budget=4, deep=False).best_of("kernel machine").kind.value
            'kernel machine'
        """
        return next((row for row in self.rows if row.kind is Kind(kind)), None)

    def at(self, n: int, name: str | None = None) -> Interval:
        """The error forecast at ``n`` rows, of the first row or of the one named; corrected for having been chosen.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> rep = ps.profile(x, x[:, 0] * x[:, 1], budget=4, deep=False)
            >>> rep.at(800).value <= rep.at(80).value
            True
        """
        row = self.best if name is None else self.row(name)
        found = row.curve.at(n)
        luck = self.answer.luck if row is self.best else 1.0
        return Interval(found.value * luck, found.low * luck, found.high * luck)

    def verdict(self) -> list[str]:
        """The result in sentences, what to use first."""
        from priorscope.profiles._words import sentences

        return sentences(self)

    def table(self) -> pd.DataFrame:
        """One row per predictor, best first; values are those of the metric as people write it, sizes stand in the heads."""
        shown = self.metric.shown
        rows = []
        for place, row in enumerate(self.rows, 1):
            n, now = row.now
            low, high = sorted((shown(row.estimate.low), shown(row.estimate.high)))
            now_low, now_high = sorted((shown(now.low), shown(now.high)))
            rows.append(
                {
                    "rank": place,
                    "predictor": row.name,
                    "kind": row.kind.value,
                    "measured at": n,
                    "test rows": row.tested,
                    "measured": shown(now.value),
                    "measured low": now_low,
                    "measured high": now_high,
                    f"at {self.to}": shown(row.estimate.value),
                    "low": low,
                    "high": high,
                    "times the first": 1.0 if row.ratio is None else row.ratio.value,
                    "near the best": row.near,
                    "standing": row.said,
                    "seconds to fit": row.cost,
                    "seconds spent": row.seconds,
                    "ended": row.ended,
                }
            )
        return pd.DataFrame(rows)

    def curve(self) -> pd.DataFrame:
        """Every measured point: predictor, rows trained on, error."""
        return pd.concat([row.curve.frame(self.metric, row.name) for row in self.rows], ignore_index=True)

    # -- what it gives ---------------------------------------------------------------------------------------------------

    def build(self, kind: str | None = None) -> BaseEstimator:
        """The estimator that the first sentence names, not fitted; of a ``kind`` ("kernel", "network", "classical") the best one.

        It is what was measured: ``fit`` tunes what it tuned there (ridge, kernel, trees), on all rows it is given. It takes X as
        it was profiled: a frame with words and gaps, images, rows.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> model = ps.profile(x, x[:, 0] * x[:, 1], budget=4, deep=False).build("kernel").fit(x, x[:, 0] * x[:, 1])
            >>> model.predict(x[:2]).shape
            (2,)
        """
        from priorscope.profiles._build import built, row_of_kind

        return built(self, self.best if kind is None else row_of_kind(self, kind))

    def estimator(self, name: str) -> BaseEstimator:
        """The predictor of one row as an estimator of scikit-learn, not fitted; it takes what the profile was given.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> rep = ps.profile(x, x[:, 0] * x[:, 1], budget=4, deep=False)
            >>> rep.estimator("random trees").fit(x, x[:, 0] * x[:, 1]).predict(x[:2]).shape
            (2,)
        """
        from priorscope.profiles._build import built

        return built(self, self.row(name))

    def code(self, kind: str | None = None) -> str:
        """The few lines of Python that build what :meth:`build` gives, without the profile."""
        from priorscope.profiles._code import code

        return code(self, kind)

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything that was measured, as JSON (strict: infinities become null); written to ``path`` where given."""
        from priorscope.profiles._export import as_dict

        text = json.dumps(_finite(as_dict(self)), indent=1, allow_nan=False)
        if path is not None:
            write_whole(path, text + "\n")
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """The report page, one file that needs no network; written to ``path`` where given."""
        from priorscope.profiles._page import profile_page

        text = profile_page(self)
        if path is not None:
            write_whole(path, text)
        return text

    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """The charts of the page by name, each an Altair chart."""
        from priorscope.profiles._charts import all_charts

        return all_charts(self)

    def text(self, width: int = 92, rows: int = 8, cares: int = 2, *, python: bool = True) -> str:
        """Sentences and the first ``rows`` in lines of at most ``width`` letters; ``python`` adds what to type next."""
        from priorscope.profiles._text import as_text

        return as_text(self, width, rows, cares, python=python)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Profile({self.data!r}, rows={len(self.rows)}, best={self.best.name!r}, to={self.to})"

    def _repr_html_(self) -> str:
        from priorscope.profiles._text import as_notebook

        return as_notebook(self)
