"""What a profile says: one entry per candidate, a ranked table, charts, JSON and a page."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from priorscope.data.groups import Move
from priorscope.probes import BlindSpots, ExpectedExponents, Forecast, Kept, LabelMove, SamplesNeeded, Spectrum
from priorscope.profiles._baseline import Baseline
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._kernel_distance import KernelDistance
from priorscope.profiles._kind import Kind
from priorscope.profiles._metric import Metric
from priorscope.profiles._row import Row
from priorscope.writing import write_whole

if TYPE_CHECKING:
    import altair as alt
    from sklearn.base import BaseEstimator

    from priorscope.profiles.sections import Finding
    from priorscope.profiles.sections._deformation_result import DeformationProfile
    from priorscope.sklearn import Shortlist

__all__ = ["CandidateProfile", "Profile"]


@dataclass(frozen=True)
class CandidateProfile:
    """All that was measured of one architecture, or network of the user, beside the errors in the table of rows.

    ``forecast`` is that of the squared error of its kernel; ``blind`` and ``regime`` are known of the first few only.

    Example:
        >>> import priorscope as ps, torch
        >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(ps.data.from_arrays(x, x[:, 0] * x[:, 1]), deep=False, trials=False)
        >>> rep.candidates[0].name, rep.candidates[0].seconds > 0
        ('fcn-1', True)
    """

    candidate: Candidate
    forecast: Forecast = field(repr=False)
    spectrum: Spectrum = field(repr=False)
    needed: SamplesNeeded
    symmetries: dict[Move, Kept]
    blind: BlindSpots | None
    regime: KernelDistance | None
    seconds: float
    megabytes: float
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name


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
        >>> rep = ps.profile(ps.data.from_arrays(x, x[:, 0] * x[:, 1]), deep=False, trials=False)
        >>> rep.best is rep.rows[0], rep.metric.value, rep.to == rep.n_train
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
    data_symmetries: tuple[LabelMove, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    unit: float | None = None  # a real target was divided by this
    rows: tuple[Row, ...] = ()
    metric: Metric = Metric.SQUARED_ERROR
    draws: int = 1
    input_shape: tuple[int, ...] = ()  # of one input as it came, which networks are given
    advice: tuple[str, ...] = ()  # what the symmetries of the labels suggest
    kernel_shape: tuple[int, ...] = ()  # of one input as kernels see it: large images and signals are averaged
    findings: dict[str, Finding] = field(default_factory=dict, repr=False)  # of sections, by name
    framed: bool = False  # whether inputs came in a frame, whose words and gaps are encoded

    @property
    def exponents(self) -> ExpectedExponents | None:
        """The exponents that curves of kernel machines should reach; None of few samples."""
        from priorscope.profiles.sections._exponents import Exponents

        found = self.findings.get("exponents")
        return found.found if isinstance(found, Exponents) else None

    @property
    def deformations(self) -> DeformationProfile | None:
        """What was found of deformations by one pixel; None where inputs are no square images, or with ``deep=False``."""
        from priorscope.profiles.sections._deformations import Deformations

        found = self.findings.get("deformations")
        return found.found if isinstance(found, Deformations) else None

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

    def expectations(self) -> list[str]:
        """The dimension of the data and the exponent each kernel machine's curve should reach, in sentences; none of few samples.

        Example:
            >>> import priorscope as ps
            >>> x = ps.data.sphere(120, 3, seed=0)
            >>> rep = ps.profile(x, x[:, 0] * x[:, 1], deep=False, trials=False, classical=False)
            >>> rep.expectations()[0][:28]
            'The data look 2-dimensional '
        """
        return [] if self.exponents is None else self.exponents.sentences()

    def verdict(self) -> list[str]:
        """The result in sentences, what to use first."""
        from priorscope.profiles._headline import sentences

        return sentences(self)

    def table(self) -> pd.DataFrame:
        """One row per predictor, best first; values are those of the metric as people write it, sizes stand in the heads."""
        shown = self.metric.shown
        rows = []
        for place, row in enumerate(self.rows, 1):
            n, now = row.now
            low, high = sorted((shown(row.estimate.low), shown(row.estimate.high)))
            reached = row.needed.reached and row.learns
            rows.append(
                {
                    "rank": place,
                    "predictor": row.name,
                    "kind": row.kind.value,
                    "measured at": n,
                    "measured": shown(now.value),
                    f"at {self.to}": shown(row.estimate.value),
                    "low": low,
                    "high": high,
                    f"samples to {shown(self.target_error):.3g}": round(row.needed.value) if reached else None,
                    "over the first": 1.0 if row.ratio is None else row.ratio.value,
                    "over low": None if row.ratio is None else row.ratio.low,
                    "over high": None if row.ratio is None else row.ratio.high,
                    "seconds to train": row.cost,
                    "standing": row.standing.value,
                    "forecast of": row.of,
                }
            )
        return pd.DataFrame(rows)

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

    def build(self, kind: str | None = None) -> Shortlist:
        """The winner as an estimator of scikit-learn, not fitted: ``fit``, ``predict``, and for classes ``predict_proba``.

        It keeps the rows that may still be best and chooses again at ``fit``, by cross-validation on all the samples it is
        given: in closed form for kernel machines, by fitting again for the others; members that cannot be told apart are
        averaged, and its ``report_`` tells the choice. X has the form in which it was profiled: a frame with words and gaps,
        images, rows. ``kind``: "kernel", "network" (the best one) or "classical" for predictors of that kind only.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> model = ps.profile(x, x[:, 0] * x[:, 1], deep=False).build("kernel").fit(x, x[:, 0] * x[:, 1])
            >>> model.predict(x[:2]).shape, model.report_.rows
            ((2,), 80)
        """
        from priorscope.profiles._build import build

        return build(self, kind)

    def estimator(self, name: str) -> BaseEstimator:
        """The predictor of one row as an estimator of scikit-learn, not fitted; it takes what the profile was given.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> rep = ps.profile(x, x[:, 0] * x[:, 1], deep=False, trials=False)
            >>> rep.estimator("extra trees").fit(x, x[:, 0] * x[:, 1]).predict(x[:2]).shape
            (2,)
        """
        from priorscope.profiles._build import own_estimator

        row = next((row for row in self.rows if row.name == name), None)
        if row is None:
            raise ValueError(f"the profile has no row {name!r}; it has {', '.join(row.name for row in self.rows)}.")
        return own_estimator(row, self)

    def code(self, kind: str | None = None) -> str:
        """The few lines of Python that build the winner (or the best of a ``kind``) without the profile.

        Example:
            >>> import priorscope as ps, torch
            >>> x = torch.randn(80, 3, generator=torch.Generator().manual_seed(0))
            >>> print(ps.profile(x, x[:, 0] * x[:, 1], deep=False, trials=False).code("kernel"))
            import priorscope as ps
            <BLANKLINE>
            model = ps.KernelMachine('...)
            model.fit(X, y)
            model.predict(X_new)
        """
        from priorscope.profiles._code import code

        return code(self, kind)

    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """The charts of the page by name, each an Altair chart."""
        from priorscope.profiles._charts import all_charts

        return all_charts(self)

    def __str__(self) -> str:
        from priorscope.profiles._text import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return f"Profile({self.data!r}, rows={len(self.rows)}, best={self.best.name!r}, to={self.to})"

    def _repr_html_(self) -> str:
        from priorscope.profiles._text import as_notebook

        return as_notebook(self)
