"""Deformations as augmentation: a transform for any data set or loader, and a data set with reproducible fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import get_worker_info

from priorscope.checks import NOT_NEGATIVE, SEED, checked, optional
from priorscope.data.deformations._amplitude import Displacement, temperature_for
from priorscope.data.deformations._deform import Folds, check_tensor, deform
from priorscope.data.deformations._interpolation import Interpolation
from priorscope.data.deformations._modes import CUTOFF, ModeRule

__all__ = ["Deform", "Deformed"]

Sample = TypeVar("Sample", covariant=True)


@checked(delta=NOT_NEGATIVE, cutoff=CUTOFF, seed=optional(SEED))
@dataclass(frozen=True)
class Deform:
    """A transform that deforms an image, or every image of a batch by a field of its own.

    ``delta`` is the root mean square displacement in pixels, ``cutoff`` the number of half waves per side; the temperature
    follows from the size of the images by :func:`temperature_for`. Random numbers come from torch's generator, which a
    ``DataLoader`` seeds differently in every worker and epoch: no two workers repeat each other, and ``torch.manual_seed``
    repeats the whole run. With a ``seed``, a generator of the transform's own starts from it, and in a worker from it and the
    worker's seed. For fields that do not depend on the number of workers use :class:`Deformed`.

    Example:
        >>> import torch
        >>> augment = Deform(delta=1.0, cutoff=3, seed=0)
        >>> augment(torch.rand(3, 32, 32)).shape, f"{augment.temperature(32):.2e}"
        (torch.Size([3, 32, 32]), '1.13e-03')
    """

    delta: float = 1.0
    cutoff: float = 3
    interpolation: Interpolation = "bilinear"
    kind: Displacement = "asymptotic"
    rule: ModeRule = "padded"
    seed: int | None = None
    folds: Folds = "warn"
    _state: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def temperature(self, size: int) -> float:
        """The temperature of the fields on images of this side."""
        return temperature_for(self.delta, self.cutoff, size, kind=self.kind, rule=self.rule)

    def __call__(self, images: Tensor, seed: int | torch.Generator | None = None) -> Tensor:
        """The deformed images; ``seed`` overrides where random numbers come from, for this call."""
        check_tensor(images)
        source = self._generator() if seed is None else seed
        return deform(
            images,
            self.temperature(images.shape[-1]),
            self.cutoff,
            interpolation=self.interpolation,
            rule=self.rule,
            seed=source,
            folds=self.folds,
        )

    def _generator(self) -> torch.Generator | None:
        """The transform's own generator in this process; None where torch's is used."""
        if self.seed is None:
            return None
        worker = get_worker_info()
        mark = None if worker is None else worker.seed  # another one in every worker and epoch
        if self._state.get("mark", "none yet") != mark:
            first = self.seed if mark is None else mixed_seed(self.seed, mark)
            self._state.update(mark=mark, generator=torch.Generator().manual_seed(first))
        found: torch.Generator = self._state["generator"]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_state": {}}  # a generator stays in its process


class _Indexed(Protocol[Sample]):
    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Sample: ...


@checked(seed=SEED)
class Deformed(TorchDataset[Any], Generic[Sample]):
    """A torch data set whose image number i in epoch e gets the field of (seed, e, i), whatever worker draws it.

    ``data[i]`` gives an image or a tuple that starts with one. Call ``set_epoch(e)`` before each epoch, or leave it for the same
    fields in all of them; it reaches workers that are running already.

    Example:
        >>> import torch
        >>> data = torch.utils.data.TensorDataset(torch.rand(4, 1, 8, 8), torch.arange(4))
        >>> deformed = Deformed(data, Deform(delta=0.5, cutoff=2), seed=7)
        >>> bool((deformed[2][0] == deformed[2][0]).all()), bool((deformed[2][0] == data[2][0]).all())
        (True, False)
    """

    def __init__(self, data: _Indexed[Sample], transform: Deform | None = None, *, seed: int = 0) -> None:
        self.data, self.transform, self.seed = data, transform or Deform(), seed
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Draw the fields of this epoch from now on."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        found: Any = self.data[index]
        first = mixed_seed(self.seed, int(self._epoch), int(index) % len(self))
        if isinstance(found, tuple | list):
            return (self.transform(found[0], seed=first), *found[1:])
        return self.transform(found, seed=first)


def mixed_seed(*numbers: int) -> int:
    """One seed from several whole numbers, well mixed: neighbouring numbers give unrelated seeds."""
    words = np.random.SeedSequence([int(n) & (2**64 - 1) for n in numbers]).generate_state(2, np.uint32)
    return int(words[0]) << 31 ^ int(words[1])
