"""The kernel matrix of a pilot, from whatever the caller has: an architecture, a network, a function or a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.checks import no_options
from priorscope.contracts import LabelledData, is_kernel_model, name_of
from priorscope.printing import printed

__all__ = ["Pilot", "draw_pilot", "gram_of", "pilot_targets"]

Array = NDArray[np.float64]


@printed
@dataclass(frozen=True)
class Pilot:
    """The part of the training data a forecast looks at: rows drawn, inputs, targets, labels (None in regression)."""

    index: NDArray[np.int64]
    inputs: torch.Tensor
    targets: Array
    labels: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.index)


def pilot_targets(data: LabelledData, index: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64] | None]:
    """Targets (n, outputs) in float64 and the labels that the signs or the largest output stand for."""
    targets = data.targets[torch.as_tensor(index)].double().numpy()
    if data.task != "classification":
        return targets, None
    labels = (targets[:, 0] > 0).astype(int) if targets.shape[1] == 1 else targets.argmax(1)
    return targets, labels.astype(np.int64)


def draw_pilot(data: LabelledData, size: int | None, seed: int) -> Pilot:
    """``size`` random training samples (all of them where there are no more), kept in the order of the draw."""
    n = len(data.train)
    wanted = n if size is None else min(size, n)
    if wanted < 10:
        raise ValueError(
            f"a learning curve needs a pilot of at least 10 samples; got {wanted} (training set: {n}). "
            "Give more data or a larger pilot."
        )
    index = np.random.default_rng(seed).permutation(n)[:wanted]
    targets, labels = pilot_targets(data, index)
    if np.ptp(targets, axis=0).max() == 0:
        raise ValueError(
            f"the targets of the {wanted} pilot samples are constant: there is nothing to learn. "
            "Check the target column, or draw a larger pilot."
        )
    return Pilot(index, data.inputs[torch.as_tensor(index)], targets, labels)


def _check(gram: Array, n: int, what: str) -> Array:
    """Refuse a kernel matrix of the wrong shape, not finite, not symmetric or constant; else make it exactly symmetric."""
    if gram.shape != (n, n):
        raise ValueError(
            f"{what} gave a matrix of shape {gram.shape} for {n} samples; wanted ({n}, {n}). A matrix passed as kernel "
            "must cover the whole training split, in its order."
        )
    if not np.isfinite(gram).all():
        raise ValueError(f"{what} gave NaN or infinite entries. Check the inputs for NaN and the kernel for overflow.")
    scale = np.abs(gram).max()
    if np.abs(gram - gram.T).max() > 1e-4 * scale:
        raise ValueError(f"{what} gave a matrix that is not symmetric; kernel regression needs a kernel.")
    if scale == 0 or np.ptp(gram) < 1e-9 * scale:
        raise ValueError(
            f"{what} gave the same value for all pairs of samples: the model ignores its input, and no amount of data "
            "can teach it. Check the inputs and the model."
        )
    return 0.5 * (gram + gram.T)


def gram_of(model: object, data: LabelledData, pilot: Pilot, *, kind: str = "ntk", **options: Any) -> Array:
    """Kernel matrix (n, n) of the pilot in float64.

    ``model``: an object with ``kernel`` (an Architecture), a matrix over the whole training split, an ``nn.Module`` (its
    empirical tangent kernel), or a function of two batches of inputs giving a matrix.
    """
    n = len(pilot)
    if not is_kernel_model(model):
        no_options("a forecast or learning curve", options, "options of a kernel go to architectures only")
    if isinstance(model, np.ndarray | torch.Tensor):
        whole = np.asarray(model, dtype=float)
        if whole.shape != (len(data.train),) * 2:
            raise ValueError(
                f"a precomputed kernel must have shape ({len(data.train)}, {len(data.train)}), one row and column for "
                f"each training sample in order; got {whole.shape}."
            )
        return _check(whole[np.ix_(pilot.index, pilot.index)], n, "the matrix")
    if kind not in ("ntk", "nngp"):
        raise ValueError(f"kind must be 'ntk' or 'nngp'; got {kind!r}.")
    if is_kernel_model(model):
        pair = model.kernel(pilot.inputs, kinds=(kind,), **options)
        kernel = getattr(pair, kind, None)
        if not isinstance(kernel, torch.Tensor):
            raise TypeError(
                f"wanted {type(model).__name__}.kernel(x1, x2) to give an object with {kind}, a tensor (n1, n2); got "
                f"{type(pair).__name__} without it."
            )
        return _check(kernel.double().numpy(), n, f"the kernel of {name_of(model)}")
    if isinstance(model, torch.nn.Module):
        from priorscope.probes import empirical_ntk

        matrix = np.asarray(empirical_ntk(model, pilot.inputs), dtype=float)
        return _check(matrix, n, "the empirical tangent kernel")
    if callable(model):
        return _check(np.asarray(model(pilot.inputs, pilot.inputs), dtype=float), n, "the kernel function")
    raise TypeError(
        f"a forecast needs an Architecture, an nn.Module, a kernel function or a kernel matrix; got {type(model).__name__}."
    )
