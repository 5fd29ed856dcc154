"""What is believed of a learning curve before it is seen: learnt from measured curves, kept in a data file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

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
    """Logarithms of the prior weights of shapes, of the scatters of a point and of the drifts beyond what was measured."""

    shapes: Array
    scatters: Array
    drifts: Array


@dataclass(frozen=True)
class Prior:
    """Priors by kind: scatters and drifts on offer, the share of test luck that sizes have in common, and weights.

    Example:
        >>> sorted(learnt_prior().kinds)
        ['any', 'kernel', 'linear', 'neighbours', 'network', 'tree']
    """

    scatters: Array
    drifts: Array
    shared: float
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
            np.log(entry["drift"] / entry["drift"].sum()),
        )


@cache
def learnt_prior() -> Prior:
    """The prior that ships with the library, with where it comes from and the command that makes it.

    Example:
        >>> "lcdb" in learnt_prior().provenance["source"].lower()
        True
    """
    told = json.loads(files("priorscope.curves").joinpath("prior.json").read_text(encoding="utf-8"))
    kinds = {name: {key: np.array(values) for key, values in entry.items()} for name, entry in told["kinds"].items()}
    return Prior(np.array(told["scatters"]), np.array(told["drifts"]), told["shared"], kinds, told["provenance"])
