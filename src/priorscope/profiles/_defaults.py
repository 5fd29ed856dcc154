"""Who takes part in the race unless the user says otherwise, by kind of data."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from priorscope.contracts import KernelModel
from priorscope.models import RememberedKernel
from priorscope.profiles._candidates import Candidate, default_candidates
from priorscope.profiles._contender import Contender
from priorscope.profiles._kind import Kind
from priorscope.profiles._problem import Problem
from priorscope.sklearn import KernelMachine, Rescale, Shrink, TrainedNetwork, Tuned

__all__ = [
    "classical_contenders",
    "default_contenders",
    "kernel_contender",
    "network_contenders",
    "rescaled",
    "small_shape",
]

_EXACT = 5000  # rows up to which kernel machines solve exactly
_SIDE = 14  # to which larger images are averaged for convolutional kernels: pooled ones cost the fourth power of it
_LENGTH = 64  # the same for series


def small_shape(shape: tuple[int, ...], side: int | None = None) -> tuple[int, ...]:
    """The shape of an input as convolutional kernels see it.

    Example:
        >>> small_shape((3, 32, 32)), small_shape((1, 100)), small_shape((12,))
        ((3, 14, 14), (1, 64), (12,))
    """
    if len(shape) == 3:
        return (shape[0], *(min(s, side or _SIDE) for s in shape[1:]))
    return (shape[0], min(shape[1], side or _LENGTH)) if len(shape) == 2 else shape


def kernel_contender(
    candidate: Candidate, problem: Problem, *, features: bool = False, resize: int | None = None
) -> Contender:
    """The kernel machine of an architecture: its ridge, and which of its two kernels, by left-out rows of each fit.

    A convolutional kernel remembers: its values between rows do not hang on the rows it is fitted to.
    """
    pooled = problem.positions and candidate.family not in ("fcn", "laplace", "gaussian")
    machine: BaseEstimator
    if not pooled:
        by_name = not candidate.code and candidate.family != "user"
        named = candidate.name if by_name else cast(KernelModel, candidate.model)
        machine = KernelMachine(named, task=problem.task, features="learn" if features else None)
        more = Contender(candidate.name, candidate.words, Kind.KERNEL, machine, "kernel", 1.6, 0.5 if features else 0.1,
                         candidate, flattens=_EXACT)  # fmt: skip
        return (
            replace(more, name=f"{candidate.name} + features", words=f"{candidate.words}, features learnt")
            if features
            else more
        )
    small = small_shape(problem.shape, resize)
    model = RememberedKernel(cast(KernelModel, candidate.model))
    machine = KernelMachine(model, task=problem.task, inputs="raw", input_shape=small, whiten=False, flips=False)
    steps = make_pipeline(*rescaled(problem, small), machine)
    return Contender(candidate.name, candidate.words, Kind.KERNEL, steps, "kernel", 2.0, 1.0, candidate, here=True)


def rescaled(problem: Problem, small: tuple[int, ...]) -> list[BaseEstimator]:
    """Steps from flat rows to what convolutional kernels see: averaged to a small shape, each channel standardised."""
    steps = [Rescale(small, *_moments(problem, small))]
    return steps if small == problem.shape else [Shrink(tuple(problem.shape), small), *steps]


def _moments(problem: Problem, small: tuple[int, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over (at most 2,000 of) the rows, to four digits."""
    step = max(problem.n // 2000, 1)
    rows = problem.x[::step]
    if small != problem.shape:
        rows = Shrink(tuple(problem.shape), small).fit(rows).transform(rows)
    channels = rows.reshape(len(rows), small[0], -1)
    mean, std = channels.mean((0, 2)), channels.std((0, 2))
    std = np.where(std > 0, std, 1.0)
    return tuple(float(f"{m:.4g}") for m in mean), tuple(float(f"{s:.4g}") for s in std)


def classical_contenders(problem: Problem) -> list[Contender]:
    """Linear models, trees and support vectors, each with its settings raced inside."""
    linear = "logistic regression" if problem.n_classes else "ridge regression"
    most = problem.n_classes or 1
    said = {
        "linear": (linear, "linear", 1.0, 0.1),
        "random trees": ("random trees", "tree", 1.0, 0.4),
        "boosted trees": ("boosted trees", "tree", 0.6, 0.5 * min(most, 8)),
        "SVM": ("support vector machine", "kernel", 1.8, 0.1),
    }
    return [
        Contender(name, words, Kind.CLASSICAL, Tuned(name, task=problem.task), curve, exponent, first)
        for name, (words, curve, exponent, first) in said.items()
    ]


def network_contenders(problem: Problem) -> list[Contender]:
    """Networks as people train them: convolutional ones where inputs have positions, a dense ensemble for tables."""
    shape = tuple(problem.shape)
    if problem.positions and min(shape[1:]) >= 3:
        said = {
            "convolutional": ("convolutional network, pooled over all places", "convolutional network"),
            "positional": ("convolutional network that keeps places", "positional network"),
        }
        return [
            Contender(
                name,
                words,
                Kind.NETWORK,
                TrainedNetwork(model, task=problem.task, input_shape=shape),
                "network",
                0.5,
                1.5,
            )
            for model, (words, name) in said.items()
        ]
    dense = TrainedNetwork("dense", task=problem.task)
    return [
        Contender("dense network", "eight dense networks that share weights", Kind.NETWORK, dense, "network", 0.6, 1.5)
    ]


def default_contenders(
    problem: Problem, *, networks: bool, classical: bool, resize: int | None
) -> tuple[list[Contender], list[str]]:
    """Everybody who takes part by default, and notes on who does not."""
    shape = small_shape(problem.shape, resize)
    found, notes = default_candidates(shape)
    contenders = [kernel_contender(c, problem, resize=resize) for c in found]
    if not problem.positions:
        laplace = next(c for c in found if c.name == "laplace")
        contenders.append(kernel_contender(laplace, problem, features=True))
    if shape != problem.shape:
        was, now = ("×".join(map(str, s[1:])) for s in (problem.shape, shape))
        notes.append(f"convolutional kernels see inputs averaged from {was} to {now}; networks see them whole")
    if classical:
        contenders += classical_contenders(problem)
    if networks:
        contenders += network_contenders(problem)
    return contenders, notes
