"""What a profile says: one entry per candidate, a ranked table, charts, JSON and a page."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.probes import BlindSpots, Forecast, SamplesNeeded, Spectrum
from priorscope.profiles._baseline import Baseline
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._regime import Regime
from priorscope.profiles._row import Row
from priorscope.profiles._standing import Standing
from priorscope.profiles._symmetry import DataSymmetry
from priorscope.profiles._trial import Trial
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt

    from priorscope.sklearn import Shortlist

__all__ = ["CandidateProfile", "Profile"]


@dataclass(frozen=True)
class CandidateProfile:
    """All that was measured of one candidate; ``reasons`` are the words of the verdict.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(ps.data.from_arrays(x, x[:, 0] * x[:, 1]), deep=False)
        >>> rep.candidates[0].seconds > 0
        True
    """

    candidate: Candidate
    forecast: Forecast = field(repr=False)
    spectrum: Spectrum = field(repr=False)
    needed: SamplesNeeded
    symmetries: dict[str, str]
    blind: BlindSpots | None
    regime: Regime | None
    seconds: float
    megabytes: float
    reasons: tuple[str, ...] = ()
    verdict: Standing = Standing.OPEN
    notes: tuple[str, ...] = ()
    ratio: Interval | None = None  # its error over the pick's at the horizon, on the same samples; None for the pick
    trial: Trial | None = None  # networks trained on the pilot, where forecasts alone did not decide

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name

    @property
    def learns(self) -> bool:
        """Whether its forecast lies below the error of a predictor that does not look at its input."""
        return self.verdict.learns


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
    """The result of :func:`profile`: one table of predictors, what the data look like, what to be careful about.

    ``rows`` are the predictors (kernel machines, networks, classical models, estimators of the user), sorted by their one
    merged estimate of ``metric`` at ``to`` samples; ``candidates`` hold what was measured of each architecture (spectrum,
    symmetries, blind spots, regime, squared-error forecast of its kernel), to which ``Row.architecture`` points. ``pilot`` is
    the number of samples of one draw, ``draws`` how many draws were made, ``baseline`` what a predictor reaches that does not
    look at its input, ``target_error`` the value of the metric whose sample cost is told.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(ps.data.from_arrays(x, x[:, 0] * x[:, 1]), deep=False)
        >>> rep.best is rep.rows[0], rep.metric.value, rep.to == 4 * rep.pilot
        (True, 'rmse', True)
    """

    data: str
    task: str
    n_train: int
    pilot: int
    horizon: int
    target_error: float
    baseline: Baseline
    candidates: tuple[CandidateProfile, ...]
    data_symmetries: tuple[DataSymmetry, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    unit: float | None = None  # a real target was divided by this
    rows: tuple[Row, ...] = ()
    metric: Metric = Metric.SQUARED_ERROR
    draws: int = 1
    input_shape: tuple[int, ...] = ()  # of one input as it came, which networks are given
    kernel_shape: tuple[int, ...] = ()  # of one input as kernels see it: large images and signals are averaged
    framed: bool = False  # whether inputs came in a frame, whose words and gaps are encoded

    @property
    def to(self) -> int:
        """The size asked about: rows are ranked by their estimates there."""
        return self.horizon

    @property
    def best(self) -> Row:
        """The first row: the lowest estimate at the size asked about."""
        return self.rows[0]

    def best_of(self, kind: Kind | str) -> Row | None:
        """The first row of a kind ("kernel machine", "network", "classical model", "your estimator"); None if there is none."""
        return next((row for row in self.rows if row.kind is Kind(kind)), None)

    def architecture(self, row: Row) -> CandidateProfile | None:
        """What was measured of the row's architecture: spectrum, symmetries, blind spots, regime; None for classical models."""
        return next((c for c in self.candidates if c.name == row.architecture), None)

    def verdict(self) -> list[str]:
        """The result in words, the pick first."""
        from priorscope.profiles._verdict import words

        return words(self)

    def table(self) -> pd.DataFrame:
        """One row per candidate, best first: measured and forecast error, samples needed, and the verdict."""
        rows = []
        for place, c in enumerate(self.candidates, 1):
            ahead = c.forecast.at(self.horizon)
            row: dict[str, float | str | None] = {
                "rank": place,
                "model": c.name,
                f"error at {int(c.forecast.curve.sizes[-1])}": float(c.forecast.curve.error[-1]),
                f"forecast at {self.horizon}": ahead.value,
                "low": ahead.low,
                "high": ahead.high,
            }
            if self.task == "classification":
                row["misclassified"] = c.forecast.misclassification(self.horizon).value
            row[f"samples to {self.target_error:.3g}"] = (
                round(c.needed.value) if c.needed.reached and c.learns else None
            )
            if any(other.trial is not None for other in self.candidates):
                row["trained on pilot"] = None if c.trial is None else c.trial.error
                row["kernel there"] = None if c.trial is None else c.trial.kernel_error
            row["over the pick"] = 1.0 if c.ratio is None else c.ratio.value
            row["over low"], row["over high"] = (None, None) if c.ratio is None else (c.ratio.low, c.ratio.high)
            row["exponent"] = c.forecast.exponents["combined"]
            row["verdict"] = c.verdict.value
            row["warnings"] = "; ".join(c.forecast.warnings)
            row["seconds"], row["megabytes"] = c.seconds, c.megabytes
            rows.append(row)
        return pd.DataFrame(rows)

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything that was measured, as JSON (strict: infinities become null); written to ``path`` where given."""
        from priorscope.profiles._export import as_dict

        text = json.dumps(_finite(as_dict(self)), indent=1, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """The report page, one file that needs no network; written to ``path`` where given."""
        from priorscope.profiles._page import profile_page

        text = profile_page(self)
        if path is not None:
            file = Path(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return text

    def build(self, kind: str | None = None) -> Shortlist:
        """The winner as an estimator of scikit-learn, not fitted: ``fit``, ``predict``, and for classes ``predict_proba``.

        It keeps the rows that may still be best and chooses again at ``fit``, by cross-validation on all the samples it is
        given: in closed form for kernel machines, by fitting again for the others; its ``report_`` tells the choice. X has the
        form in which it was profiled: a frame with words and gaps, images, rows. ``kind``: "kernel", "network" (the best one)
        or "classical" for predictors of that kind only.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> model = ps.profile(x, x[:, 0] * x[:, 1], deep=False).build("kernel").fit(x, x[:, 0] * x[:, 1])
            >>> model.predict(x[:2]).shape, model.report_.rows
            ((2,), 80)
        """
        from priorscope.profiles._build import build

        return build(self, kind)

    def code(self, kind: str | None = None) -> str:
        """The few lines of Python that build the winner (or the best of a ``kind``) without the profile.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> print(ps.profile(x, x[:, 0] * x[:, 1], deep=False).code("kernel"))
            import priorscope as ps
            <BLANKLINE>
            model = ps.KernelMachine('fcn-...)
            model.fit(X, y)
            model.predict(X_new)
        """
        from priorscope.profiles._code import code

        return code(self, kind)

    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """The charts of the page by name, each an Altair chart."""
        from priorscope.profiles._charts import all_charts

        return all_charts(self)

    def _repr_html_(self) -> str:
        from priorscope.report import html_table

        return html_table(self.table(), caption=" ".join(self.verdict()))
