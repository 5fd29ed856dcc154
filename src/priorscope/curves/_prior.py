"""What is believed of a learning curve before it is seen: learnt from measured curves, kept in a data file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from priorscope.curves._shapes import ALPHAS, FLOORS

__all__ = ["ANY", "Belief", "Prior", "learnt_prior", "shape_features"]

Array = NDArray[np.float64]
_LEARNT = (
    2.0  # how far features reach in the curves the prior is learnt from: errors of 1 to 80 %, sizes of 13 to 5,000
)
ANY = "any"  # the entry of the data file for predictors of no known kind


@cache
def shape_features() -> Array:
    """Polynomials of floor and exponent on the grid of shapes, and its two edges: what a prior weighs, (shape, feature).

    Example:
        >>> shape_features().shape
        (208, 11)
    """
    floor = np.repeat(FLOORS, len(ALPHAS))
    u, v = 2 * floor - 1, np.tile(np.log(ALPHAS) + 1, len(FLOORS))
    edges = [(floor == FLOORS[0]).astype(float), (floor == FLOORS[-1]).astype(float)]
    return np.stack([u, u**2, u**3, v, v**2, v**3, u * v, u**2 * v, u * v**2, *edges], 1)


@dataclass(frozen=True)
class Belief:
    """What is believed of one predictor: logarithms of the weights of shapes, of scatters, and of drifts given the scatter.

    So a smooth curve is believed to go on smoothly.
    A point ``v`` e-folds below the largest size scatters :math:`e^{gv}` times as much there, g the ``settling``, and no curve
    of the form is believed closer than ``discrepancy`` times v: small samples say less of what comes.
    """

    shapes: Array
    scatters: Array
    drifts: Array
    settling: float = 0.0
    discrepancy: float = 0.0


@dataclass(frozen=True)
class Prior:
    """Priors by kind: scatters and drifts on offer, the share of test luck that sizes have in common, and weights.

    v e-folds beyond the largest size a curve has left its shape by a normal variable of mean ``means`` and standard deviation
    ``drifts``, both times v to the ``power``. ``alike``: correlation, between predictors of one data set, of where they end up.

    Example:
        >>> sorted(learnt_prior().kinds)
        ['any', 'kernel', 'linear', 'neighbours', 'network', 'tree']
    """

    scatters: Array
    drifts: Array
    means: Array
    power: float
    shared: float
    alike: float
    kinds: Mapping[str, Mapping[str, Array]]
    provenance: Mapping[str, str]

    def belief(self, kind: str | None, last: float, level: float | None) -> Belief:
        """The belief in a predictor of this kind measured up to ``last`` samples; ``level``: its error there, where a share."""
        entry = self.kinds[kind or ANY]
        odds = 0.0 if level is None else (np.log(level / (1 - min(level, 0.99))) + 1.5) / 1.5
        size = np.log(last / 256) / 1.5
        about = np.clip([odds, size], -_LEARNT, _LEARNT)  # beyond what was seen, as at its edge
        shapes = shape_features() @ (entry["shape"] @ np.array([1.0, *about]))
        return Belief(
            log_softmax(shapes),
            np.log(entry["scatter"] / entry["scatter"].sum()),
            np.log(entry["drift"] / entry["drift"].sum(1, keepdims=True)),
            float(entry["settling"]),
            float(entry["discrepancy"]),
        )

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Prior:
        """The prior that a data file tells, or that ``tools/fit_curves.py`` has just learnt."""
        kinds = {
            name: {key: np.array(values) for key, values in entry.items()} for name, entry in told["kinds"].items()
        }
        scatters, drifts, means = (np.array(told[key]) for key in ("scatters", "drifts", "means"))
        return cls(scatters, drifts, means, told["power"], told["shared"], told["alike"], kinds, told["provenance"])


@cache
def learnt_prior() -> Prior:
    """The prior that ships with the library, with where it comes from and the command that makes it.

    Example:
        >>> "lcdb" in learnt_prior().provenance["source"].lower()
        True
    """
    return Prior.of(json.loads(files("priorscope.curves").joinpath("prior.json").read_text(encoding="utf-8")))
