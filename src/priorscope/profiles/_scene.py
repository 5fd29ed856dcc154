"""What is known of a profile while it is made: for sources that offer more candidates, and for sections that measure more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorscope.profiles._metric import Metric
from priorscope.profiles._view import View

if TYPE_CHECKING:
    from priorscope.probes import LabelMove
    from priorscope.profiles._result import CandidateProfile
    from priorscope.profiles._row import Row
    from priorscope.profiles._trial import Trial

__all__ = ["Scene"]


@dataclass(frozen=True)
class Scene:
    """The samples looked at, what was measured so far, and what is asked.

    ``view`` holds the pilot: ``view.inputs`` of all draws as kernels see them, ``view.native_inputs`` as networks do,
    ``view.truth`` the answers, ``view.pilot`` the first draw. ``measured`` are the architectures, ``grams`` their tangent
    kernels on the first draw by name. ``rows`` are in the order of their estimates: to a source those of kernel machines
    measured so far, to a section all of them with their standings. ``symmetries`` says which moves the labels share;
    ``trials`` holds, by architecture, the networks that were trained on the pilot, for sections. ``kept`` is one dictionary
    for the whole profile: what a source computed and a section needs again.

    Example:
        >>> import priorscope as ps, torch
        >>> from priorscope.profiles import Section, register_section
        >>> def count(scene):
        ...     print(len(scene.view.pilot), scene.to, scene.leading.candidate.family)
        >>> forget = register_section(Section("count", count))
        >>> x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        >>> rep = ps.profile(x, x[:, 0], deep=False, trials=False)
        60 60 fcn
        >>> forget()
    """

    view: View = field(repr=False)
    metric: Metric
    to: int
    level: float
    seed: int
    symmetries: tuple[LabelMove, ...] = ()
    measured: tuple[CandidateProfile, ...] = field(default=(), repr=False)
    grams: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    rows: tuple[Row, ...] = field(default=(), repr=False)
    trials: Mapping[str, Trial] = field(default_factory=dict, repr=False)
    kept: dict[str, object] = field(default_factory=dict, repr=False)

    def grown(
        self,
        measured: Sequence[CandidateProfile],
        grams: Mapping[str, NDArray[np.float64]],
        rows: Sequence[Row],
        trials: Mapping[str, Trial] | None = None,
    ) -> Scene:
        """The same with what has been measured since."""
        known = self.trials if trials is None else dict(trials)
        return replace(self, measured=tuple(measured), grams=dict(grams), rows=tuple(rows), trials=known)

    @property
    def leading(self) -> CandidateProfile | None:
        """The architecture of the best kernel machine that has networks too; None where there is none."""
        by_name = {c.name: c for c in self.measured if c.candidate.options}
        return next((by_name[row.name] for row in self.rows if row.name in by_name), None)
