"""What is known once the race is over: for sections that measure more, and for what is measured of architectures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline

from priorscope.data import Dataset, Split
from priorscope.judge import Metric
from priorscope.probes.curves.pilot import Pilot
from priorscope.profiles._defaults import rescaled, small_shape
from priorscope.profiles._problem import Problem
from priorscope.profiles._record import Record

if TYPE_CHECKING:
    from priorscope.probes import LabelMove
    from priorscope.profiles._architecture import ArchitectureProfile
    from priorscope.profiles._race import Race
    from priorscope.profiles._row import Row

__all__ = ["Paired", "Scene"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Paired:
    """Two errors on the same test rows, trained on the same ``n`` rows, and the standard error of their difference.

    Example:
        >>> Paired(100, 0.2, 0.1, 0.02).lower
        True
    """

    n: int
    before: float
    after: float
    noise: float

    @property
    def lower(self) -> bool:
        """Whether the second one is lower, 95 % sure."""
        return self.before - self.after > 1.645 * self.noise

    @property
    def higher(self) -> bool:
        """Whether the second one is higher, 95 % sure."""
        return self.after - self.before > 1.645 * self.noise


@dataclass(frozen=True)
class Scene:
    """What sections are given: the race with all its records, its rows, and a sample of the data to look at closely.

    ``index`` are the sample's rows, a stratified part of the data; ``small`` holds them as kernels see them (standardised, large
    images averaged), ``native`` in their own size, as networks do; ``pilot`` and ``native_pilot`` are the same as
    :class:`~priorscope.probes.curves.pilot.Pilot`. ``measured`` are architectures looked at closely, ``grams`` their tangent
    kernels on the sample by name; ``symmetries`` says which moves the labels share; ``seconds`` are left.

    Example:
        >>> import priorscope as ps, torch
        >>> from priorscope.profiles import Section, register_section
        >>> def count(scene):
        ...     print(len(scene.pilot), scene.to, scene.metric.value, scene.leading.candidate.family)
        >>> forget = register_section(Section("count", count, work=0.01))
        >>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0], candidates=["fcn-1"], budget=5)
        60 60 rmse fcn
        >>> forget()
    """

    race: Race = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)
    index: NDArray[np.int64] = field(repr=False)
    small: Dataset
    native: Dataset
    symmetries: tuple[LabelMove, ...] = ()
    measured: tuple[ArchitectureProfile, ...] = field(default=(), repr=False)
    grams: Mapping[str, Array] = field(default_factory=dict, repr=False)
    seconds: float = 60.0

    @classmethod
    def of(cls, race: Race, rows: tuple[Row, ...], most: int, resize: int | None) -> Scene:
        """A scene with a stratified sample of at most so many rows; groups are kept whole."""
        problem = race.problem
        index = np.arange(problem.n)
        if problem.n > most:
            index = problem.structure.growing(index, most, race.seed)
        part = problem.data.take(torch.as_tensor(index), torch.zeros(0, dtype=torch.long))
        if part.task == "regression":
            targets = problem.y[index].reshape(len(index), -1)
            spread = targets.std(0)
            part = _with(
                part, part.inputs, torch.as_tensor((targets - targets.mean(0)) / np.where(spread > 0, spread, 1.0))
            )
        native = part.standardised()
        native = _with(native, native.inputs.float(), part.targets)
        return cls(race, rows, index, _with(part, _as_kernels_see(problem, index, resize), part.targets), native)

    @property
    def problem(self) -> Problem:
        """All rows, targets and their structure."""
        return self.race.problem

    @property
    def records(self) -> Mapping[str, Record]:
        """What was measured of every contender, by name."""
        return self.race.records

    @property
    def metric(self) -> Metric:
        """What predictors are compared by."""
        return self.race.metric

    @property
    def to(self) -> int:
        """The size asked about."""
        return int(self.race.to)

    @property
    def level(self) -> float:
        """The share of intervals that hold the truth."""
        return self.race.level

    @property
    def seed(self) -> int:
        """The seed of the profile."""
        return self.race.seed

    @cached_property
    def pilot(self) -> Pilot:
        """The sample as kernels see it."""
        labels = self.problem.y[self.index] if self.problem.n_classes else None
        targets = self.small.targets.double().numpy()
        return Pilot(np.arange(len(self.index)), self.small.inputs, targets, labels)

    @cached_property
    def native_pilot(self) -> Pilot:
        """The sample as networks see it."""
        return replace(self.pilot, inputs=self.native.inputs)

    @property
    def leading(self) -> ArchitectureProfile | None:
        """The first architecture looked at closely that has networks too; None where there is none."""
        return next((c for c in self.measured if c.candidate.options), None)

    def paired(self, first: str, second: str) -> Paired | None:
        """The errors of two rows at the largest size at which both were measured on the same test rows; None: there is none."""
        a, b = self.records.get(first), self.records.get(second)
        if a is None or b is None:
            return None
        for rung in sorted(set(a.trials) & set(b.trials), reverse=True):
            folds = [k for k in a.folds(rung) if k in b.trials[rung]]
            if folds:
                one, two = (Record(r.contender, {rung: {k: r.trials[rung][k] for k in folds}}) for r in (a, b))
                apart = one.by_block(rung, self.race.ladder) - two.by_block(rung, self.race.ladder)
                noise = float(np.sqrt((apart**2).sum()))
                return Paired(self.race.ladder.sizes[rung], one.error(rung), two.error(rung), noise)
        return None


def _as_kernels_see(problem: Problem, index: NDArray[np.int64], resize: int | None) -> torch.Tensor:
    """Inputs in float64, as the kernel machines of the race were given them."""
    x = problem.x[index]
    if problem.positions:
        shape = small_shape(problem.shape, resize)
        return torch.from_numpy(make_pipeline(*rescaled(problem, shape)).fit_transform(x)).reshape(len(index), *shape)
    spread = problem.x.std(0)
    return torch.from_numpy((x - problem.x.mean(0)) / np.where(spread > 0, spread, 1.0))


def _with(data: Dataset, inputs: torch.Tensor, targets: torch.Tensor) -> Dataset:
    """The data set with other inputs and targets; its test split stays empty."""
    return replace(data, train=Split(inputs, targets), test=Split(inputs[:0], targets[:0]))
