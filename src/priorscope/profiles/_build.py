"""From a row of a profile to the estimator that takes what the profile was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline

from priorscope.profiles._contender import undecided
from priorscope.profiles._kind import Kind
from priorscope.sklearn import Encode

if TYPE_CHECKING:
    from priorscope.profiles._result import Profile
    from priorscope.profiles._row import Row

__all__ = ["built", "encoder", "row_of_kind", "takes_any_rows"]

_KINDS = {
    "kernel": (Kind.KERNEL,),
    "network": (Kind.NETWORK,),
    "classical": (Kind.CLASSICAL,),
    "average": (Kind.AVERAGE,),
    "own": (Kind.ESTIMATOR,),
}


def row_of_kind(result: Profile, kind: str) -> Row:
    """The first row of a kind."""
    if kind not in _KINDS:
        raise ValueError(f"build takes {', '.join(map(repr, _KINDS))} or nothing; got {kind!r}.")
    found = next((row for row in result.rows if row.kind in _KINDS[kind]), None)
    if found is None:
        present = ", ".join(dict.fromkeys(row.kind.plural for row in result.rows))
        raise ValueError(f"the profile has no {kind} to build; it has {present}.")
    return found


def encoder(result: Profile) -> Encode:
    """What makes flat rows of numbers of the profile's inputs."""
    return Encode(input_shape=tuple(result.input_shape) if len(result.input_shape) > 1 else None)


def takes_any_rows(row: Row, result: Profile) -> bool:
    """Whether a row's estimator takes what the profile was given as it is."""
    return row.native or not (result.race.problem.framed or len(result.input_shape) > 1)


def built(result: Profile, row: Row) -> BaseEstimator:
    """The estimator of a row, behind what reads the profile's inputs where it wants flat rows."""
    made = clone(row.estimator)
    if takes_any_rows(row, result):
        return made
    inner = undecided(made)
    if made is inner and isinstance(made, Pipeline):
        return make_pipeline(encoder(result), *(step for _, step in made.steps))
    return make_pipeline(encoder(result), made)
