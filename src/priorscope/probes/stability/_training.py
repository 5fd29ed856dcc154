"""Stability as a network learns: against the number of training samples, and along training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from priorscope.checks import SEED, check, each, whole
from priorscope.contracts import MovableData, guarded, needs_of, require
from priorscope.inference import FittedNetworks, GradientDescent
from priorscope.probes.stability._stability import stability
from priorscope.probes.stability._sweep import StabilitySweep, one_row
from priorscope.system import System, check_system

__all__ = ["stability_curve", "stability_path"]


@guarded(sizes=each(whole(2)), n_seeds=whole(), seed=SEED)
def stability_curve(
    system: System, sizes: Sequence[int], *, n_seeds: int = 3, seed: int = 0, **settings: Any
) -> StabilitySweep:
    """Stability after training on P samples, for several P: fresh networks and fresh subsets, ``n_seeds`` of each.

    ``settings`` are those of :func:`stability`. The column ``error`` is the mean test error (the misclassification rate
    where there are classes); P = 0 is the network before training. Petrini et al. (2021), Fig. 3, right, and Fig. 6.

    Example:
        >>> import priorscope as ps
        >>> descent = ps.inference.GradientDescent(steps=20)
        >>> system = ps.System(ps.data.digits(), ps.models.fcn(1), descent, width=16)
        >>> found = stability_curve(system, [20, 40], n_seeds=2, delta=0.7, cutoff=2, n_images=50)
        >>> found.table().n_train.tolist()
        [0, 20, 40]
    """
    check_system("stability_curve", system)
    if needs_of(system.inference) != "network":
        raise ValueError("a stability curve trains networks; this system is a kernel. Use an inference of networks.")
    data = require(system.data, MovableData, "data of which subsets can be taken", "Use priorscope.data.from_arrays.")
    fresh = [_network(system.network(seed + s)) for s in range(n_seeds)]
    rows = [{"n_train": 0, "error": np.nan, **one_row(stability(fresh, data, seed=seed, **settings))}]
    for P in sizes:
        networks, errors = [], []
        for s in range(n_seeds):
            outcome = replace(system, data=data.subset(P, seed=seed + s)).run(seed + s)
            networks.append(_network(outcome.fitted))
            wrong = outcome.misclassification
            errors.append(outcome.test_error if wrong is None else wrong)
        found = stability(networks, data, seed=seed, **settings)
        rows.append({"n_train": P, "error": float(np.mean(errors)), **one_row(found)})
    return StabilitySweep(pd.DataFrame(rows), "n_train", "training samples P")


@guarded(seed=SEED, points=whole())
def stability_path(system: System, *, seed: int = 0, points: int = 8, **settings: Any) -> StabilitySweep:
    """Stability of one network along its training by gradient descent, at about ``points`` log-spaced steps.

    ``settings`` are those of :func:`stability`. Batch normalisation uses the images of the probe at every step,
    because the running statistics of earlier steps are not kept.

    Example:
        >>> import priorscope as ps
        >>> system = ps.System(ps.data.digits(), ps.models.fcn(1), ps.inference.GradientDescent(steps=20), width=16)
        >>> found = stability_path(system, points=3, delta=0.7, cutoff=2, n_images=50)
        >>> found.table().step.tolist()
        [0, 1, 4, 20]
    """
    check_system("stability_path", system)
    check("stability_path", "points", points, whole())
    if not isinstance(system.inference, GradientDescent):
        raise ValueError(
            f"stability_path follows GradientDescent, which keeps its weights; got {type(system.inference).__name__}. "
            "Use stability on networks saved along the way."
        )
    if system.members > 1:
        raise ValueError(f"stability_path follows one network; the system has {system.members} members.")
    keeping = replace(system.inference, keep=("params",), record=points)
    fitted = replace(system, inference=keeping).run(seed).fitted
    assert isinstance(fitted, FittedNetworks)
    assert fitted.trajectory.params is not None
    rows = []
    for time, params in zip(fitted.trajectory.times.tolist(), fitted.trajectory.params):
        network = fitted.members.network(params)
        found = stability(network, system.data, seed=seed, batch_norm="batch", **settings)
        rows.append({"step": round(time / keeping.learning_rate), **one_row(found)})
    return StabilitySweep(pd.DataFrame(rows), "step", "training step")


def _network(thing: object) -> nn.Module:
    """A module out of what a system builds or an inference gives back."""
    if isinstance(thing, nn.Module):
        return thing
    make = getattr(thing, "network", None)
    if callable(make):
        found = make()
        if isinstance(found, nn.Module):
            return found
    raise TypeError(f"wanted single networks; got {type(thing).__name__}. Use members=1.")
