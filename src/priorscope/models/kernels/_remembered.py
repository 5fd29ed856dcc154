"""A kernel that remembers: pairs of inputs that were computed once are not computed again."""

from __future__ import annotations

import hashlib
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import checked, whole
from priorscope.contracts import KernelModel, is_kernel_model
from priorscope.models.kernels._kernel import Kernel

__all__ = ["RememberedKernel"]

_BOTH = ("nngp", "ntk")
Kept = TypeVar("Kept", np.bool_, np.float64)


@checked(most=whole())
class RememberedKernel:
    """A model with a kernel, whose values between inputs seen before are looked up (inputs are known by their bytes).

    Regression on parts of one data set asks for the same pairs again and again; with a convolutional kernel nearly all the
    time goes into them. Both kinds of kernel are kept, in float64, up to ``most`` inputs; beyond that nothing is remembered.

    Example:
        >>> import priorscope as ps
        >>> model, x = RememberedKernel(ps.models.fcn(1)), torch.eye(3)
        >>> bool((model.kernel(x[:2], x).ntk == ps.models.fcn(1).kernel(x[:2], x).ntk).all())
        True
        >>> model.pairs, model.kernel(x[1:], x[:1]).ntk.shape, model.pairs  # nothing new was computed
        (6, torch.Size([2, 1]), 6)
    """

    def __init__(self, model: KernelModel, most: int = 6000) -> None:
        if not is_kernel_model(model):
            raise TypeError(f"RememberedKernel needs a model with a kernel; got {type(model).__name__}.")
        self.model = model
        self.most = most
        self.pairs = 0  # computed so far
        self._place: dict[bytes, int] = {}
        self._inputs: list[Tensor] = []
        self._known = np.zeros((0, 0), dtype=bool)
        self._values: dict[str, NDArray[np.float64]] = {}

    def __repr__(self) -> str:
        return repr(self.model)

    def __deepcopy__(self, memo: dict[int, object]) -> RememberedKernel:
        """Clones of an estimator share what is remembered."""
        return self

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] = _BOTH) -> Kernel:
        """Kernels between two batches, computed for the pairs that are new."""
        first = self._places(x1)
        second = first if x2 is None else self._places(x2)
        if first is None or second is None:
            return _asked(self.model, x1, x2, kinds)
        self._complete(first, second, kinds)
        block = np.ix_(first, second)
        return Kernel(**{kind: torch.from_numpy(self._values[kind][block]).to(x1.dtype) for kind in kinds})

    def _places(self, x: Tensor) -> NDArray[np.int64] | None:
        """Where these inputs stand among those that are known; None where there would be too many."""
        rows = np.ascontiguousarray(x.detach().cpu().double().numpy())
        keys = [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]
        if len(self._place.keys() | set(keys)) > self.most:
            return None
        for key, row in zip(keys, x, strict=True):
            if key not in self._place:
                self._place[key] = len(self._inputs)
                self._inputs.append(row.clone())  # not a view, which would keep its whole batch
        n = len(self._inputs)
        if n > len(self._known):
            size = max(n, min(2 * len(self._known), self.most))
            self._known = _grown(self._known, size)
            self._values = {kind: _grown(values, size) for kind, values in self._values.items()}
        return np.array([self._place[key] for key in keys])

    def _complete(self, first: NDArray[np.int64], second: NDArray[np.int64], kinds: tuple[str, ...]) -> None:
        """Compute what is missing between two sets of inputs: whole rows of new ones, both kinds at once."""
        if any(kind not in self._values for kind in kinds):
            self._values = {kind: np.zeros(self._known.shape) for kind in _BOTH}
        a, b = np.unique(first), np.unique(second)
        for rows, columns in _blocks(self._known[np.ix_(a, b)]):
            self._fill(a[rows], b[columns])

    def _fill(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        x1 = torch.stack([self._inputs[i] for i in rows])
        same = np.array_equal(rows, columns)
        x2 = None if same else torch.stack([self._inputs[j] for j in columns])
        made = _asked(self.model, x1, x2, _BOTH)
        self.pairs += len(rows) * len(columns)
        for kind in _BOTH:
            found = getattr(made, kind)
            block = np.asarray(made.ntk if found is None else found, dtype=np.float64)
            self._values[kind][np.ix_(rows, columns)] = block
            self._values[kind][np.ix_(columns, rows)] = block.T
        self._known[np.ix_(rows, columns)] = True
        self._known[np.ix_(columns, rows)] = True


def _blocks(known: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Few rectangles that cover what is unknown: rows with the same gaps together.

    Example:
        >>> [(r.tolist(), c.tolist()) for r, c in _blocks(np.array([[True, False], [True, False], [True, True]]))]
        [([0, 1], [1])]
    """
    kinds: dict[bytes, list[int]] = {}
    for i, row in enumerate(known):
        if not row.all():
            kinds.setdefault(row.tobytes(), []).append(i)
    return [(np.array(rows), np.flatnonzero(~known[rows[0]])) for rows in kinds.values()]


def _grown(values: NDArray[Kept], size: int) -> NDArray[Kept]:
    found = np.zeros((size, size), dtype=values.dtype)
    found[: len(values), : len(values)] = values
    return found


def _asked(model: KernelModel, x1: Tensor, x2: Tensor | None, kinds: tuple[str, ...]) -> Kernel:
    """Ask the model itself, without a bar of its own where it has one."""
    try:
        made = model.kernel(x1, x2, kinds=kinds, progress=False)  # type: ignore[call-arg]  # architectures of ours
    except TypeError:
        made = model.kernel(x1, x2, kinds=kinds)
    return Kernel(nngp=made.nngp, ntk=made.ntk)
