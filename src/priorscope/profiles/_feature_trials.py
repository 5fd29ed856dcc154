"""Which kernels gain by learning features: each tried once on the first draw, by rows that no M has seen."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from priorscope.contracts import FeatureKernel, missing
from priorscope.data import Split
from priorscope.inference import FeatureMachine, FittedFeatures
from priorscope.profiles._design import Part
from priorscope.profiles._held_out import sample_losses
from priorscope.profiles._scene import Scene

__all__ = ["FeatureTrial", "feature_trials"]

MOST_INPUTS = 200  # numbers per input up to which features are learnt on every part of the pilot
FEWEST = 40  # samples of a draw below which a quarter of them teaches nothing about directions
DISTANCE = ("laplace", "gaussian")  # kernels of the distance, by the names of their rows


@dataclass(frozen=True, eq=False)
class FeatureTrial:
    """A kernel that learnt features on the first draw, and the profile's metric on left-out rows without and with them.

    ``squared`` are left-out squared errors, by which settings and rounds were chosen; where features did not lower them by
    two standard errors the fit has no rounds, and both pairs are level.

    Example:
        >>> import priorscope as ps
        >>> x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0)).double()
        >>> fit = ps.inference.FeatureMachine(rounds=1).fit(ps.models.laplace(), Split(x, torch.sin(4 * x[:, :1])))
        >>> FeatureTrial("laplace", "laplace", fit, (0.5, 0.3), (0.5, 0.3)).pays
        True
    """

    name: str
    family: str
    fit: FittedFeatures = field(repr=False)
    squared: tuple[float, float]
    losses: tuple[float, float]

    @property
    def gain(self) -> float:
        """Share of the left-out squared error that features take away."""
        return 1 - self.squared[1] / max(self.squared[0], 1e-300)

    @property
    def pays(self) -> bool:
        """Whether features surely lower the squared error, and lower the metric too."""
        return self.fit.rounds > 0 and self.losses[1] < self.losses[0]


def feature_trials(scene: Scene) -> tuple[FeatureTrial, ...]:
    """Kernels of the distance and the leading fully connected one, lowest metric with features first; measured once per profile.

    None are tried where inputs are many or samples few.
    """
    known = scene.kept.get("features")
    if isinstance(known, tuple):
        return known
    x = scene.view.draw(0)
    small = len(x) >= FEWEST and x[0].numel() <= MOST_INPUTS
    found = tuple(sorted(_tried(scene), key=lambda trial: trial.losses[1])) if small else ()
    scene.kept["features"] = found
    return found


def _tried(scene: Scene) -> list[FeatureTrial]:
    """Every kernel with features learnt on the first draw, in the order of the table."""
    x = scene.view.draw(0).double().flatten(1)
    truth = scene.view.truth
    targets = torch.as_tensor(np.asarray(truth.targets[: len(x)]), dtype=torch.float64)
    scale = truth.weights(scene.metric)
    made = []
    for name, family, model in _kernels(scene):
        fit = FeatureMachine().fit(model, Split(x, targets), scene.seed)
        assert fit.plan is not None
        part = Part(0, 0, 8, np.arange(len(x)), fit.plan.rows)
        each = [sample_losses(scene.metric, [s], [part], truth, False)[0] for s in (fit.plan.plain, fit.plan.scores)]
        w = scale[fit.plan.rows]
        plain, learnt = (float(w @ loss / w.sum()) for loss in each)
        squared = float(fit.plan.losses[0]), float(fit.plan.loss)
        made.append(FeatureTrial(name, family, fit, squared, (plain, learnt)))
    return made


def _kernels(scene: Scene) -> list[tuple[str, str, FeatureKernel]]:
    """Laplace, Gaussian and the first fully connected architecture, as far as they have rows."""
    by_name = {c.name: c.candidate for c in scene.measured}
    rows = [by_name[row.name] for row in scene.rows if row.name in by_name]
    first = next((c for c in rows if c.family == "fcn" and not missing(c.model, FeatureKernel)), None)
    chosen = [c for c in rows if c.name in DISTANCE] + ([] if first is None else [first])
    return [(c.name, c.family, c.model) for c in chosen if not missing(c.model, FeatureKernel)]  # type: ignore[misc]
