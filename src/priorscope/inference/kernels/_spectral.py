"""One eigendecomposition of the training kernel, from which every time, step and ridge is read off, once it is asked for."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import scipy.linalg as sla
import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, number, optional, whole

__all__ = ["NumericalRepair", "Repair", "Schedule", "Spectral"]

SEEN = 1000  # rows in which eigenvalues below zero are looked for where a ridge spares the decomposition


class NumericalRepair(UserWarning):
    """A numerical repair was made; the message gives its size.

    Example:
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always", NumericalRepair)
        ...     repaired = Spectral(torch.diag(torch.tensor([4.0, 0.0])))
        >>> print(told[0].message)
        added jitter 2.7e-06 to a nearly singular kernel; smallest eigenvalue was 0
    """


@dataclass(frozen=True)
class Repair:
    """What was done to a kernel before it was solved: what was added to its diagonal, how many modes were left out.

    Example:
        >>> print(Repair(jitter=0.0, dropped=0, smallest=0.5))
        no repair; smallest eigenvalue 0.5
        >>> print(Repair(jitter=0.0, dropped=3, smallest=-1e-17))
        left out 3 modes; smallest eigenvalue -1e-17
    """

    jitter: float
    dropped: int
    smallest: float

    def __str__(self) -> str:
        done = [f"added jitter {self.jitter:.3g}"] if self.jitter else []
        done += [f"left out {self.dropped} modes"] if self.dropped else []
        return f"{', '.join(done) or 'no repair'}; smallest eigenvalue {self.smallest:.3g}"


@checked(time=optional(number(least=0, infinite=True)), learning_rate=optional(POSITIVE), steps=optional(whole(0)))
@dataclass(frozen=True)
class Schedule:
    r"""How long training lasts: continuous ``time`` (None: for ever), or ``steps`` of gradient descent.

    A mode of eigenvalue :math:`\lambda` (ridge included) has moved the part :math:`1 - e^{-\lambda t/n}` of its way, or
    :math:`1 - (1 - \eta\lambda/n)^s` after s steps of size :math:`\eta`, for the loss :math:`\frac1{2n}\sum(f-y)^2`.

    Example:
        >>> round(float(Schedule(time=1.0).learned(torch.tensor([2.0]), n=2)), 4)
        0.6321
    """

    time: float | None = None
    learning_rate: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if (self.learning_rate is None) != (self.steps is None):
            raise ValueError("finite-step training needs both learning_rate and steps; got one of them only.")
        if self.steps is not None and self.time is not None:
            raise ValueError("give time (gradient flow) or learning_rate and steps (gradient descent), not both.")

    @property
    def endless(self) -> bool:
        """Whether training runs until everything is learned."""
        return self.steps is None and (self.time is None or math.isinf(self.time))

    @property
    def duration(self) -> float:
        """Training time: the time itself, or learning rate times steps; infinite when training never ends."""
        if self.learning_rate is not None and self.steps is not None:
            return self.learning_rate * self.steps
        return math.inf if self.time is None else self.time

    def learned(self, eigenvalues: Tensor, n: int) -> Tensor:
        """The share of each mode that has been learned, in [0, 1] for flow."""
        if self.endless:
            return torch.ones_like(eigenvalues)
        if self.steps is None:
            assert self.time is not None
            return -torch.expm1(-eigenvalues * self.time / n)
        assert self.learning_rate is not None
        rate = self.learning_rate * eigenvalues / n
        top = float(rate.max())
        if top >= 2:
            raise ValueError(
                f"gradient descent diverges: learning_rate * largest eigenvalue / n = {top:.3g}, it must stay below 2. "
                f"Use learning_rate < {2 * self.learning_rate / top:.3g}."
            )
        return 1 - (1 - rate) ** self.steps

    def filter(self, eigenvalues: Tensor, n: int) -> Tensor:
        """``learned / eigenvalue``, by its limit where the eigenvalue is nearly zero."""
        tiny = eigenvalues.abs() <= torch.finfo(eigenvalues.dtype).tiny
        safe = torch.where(tiny, torch.ones_like(eigenvalues), eigenvalues)
        limit = 0.0 if self.endless else self.duration / n
        return torch.where(tiny, torch.full_like(eigenvalues, limit), self.learned(safe, n) / safe)


@checked(ridge=number(least=0, advice="It is added to the kernel's diagonal."), cutoff=number(least=0, below=1))
class Spectral:
    r"""Eigenvalues and modes of a training kernel K (n, n), in float64, repaired where rounding spoiled them.

    Eigenvalues below the noise floor :math:`4\,\varepsilon\sqrt n\max_i K_{ii}`, with the :math:`\varepsilon` of the precision
    K came in, cannot be told from zero. ``jitter`` is added when training for ever without ridge would divide by them;
    its size is warned of as :class:`NumericalRepair`, or raised with ``strict=True``. With a ``cutoff``, modes whose eigenvalue
    is below that share of the largest take no part in any solution (truncated, "principal component" regression), and no jitter
    is needed. ``repair`` tells what was done. A ridge that makes repairs needless is solved by a Cholesky factor, and the
    decomposition waits until its eigenvalues, modes or a finite time are asked for.

    Example:
        >>> s = Spectral(torch.diag(torch.tensor([2.0, 4.0])))
        >>> s.eigenvalues.tolist(), s.jitter
        ([4.0, 2.0], 0.0)
    """

    def __init__(
        self, kernel: Tensor, *, ridge: float = 0.0, endless: bool = True, strict: bool = False, cutoff: float = 0.0
    ) -> None:
        """Decompose the kernel, and report every repair: negative eigenvalues set to zero, and jitter."""
        if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
            raise ValueError(f"the training kernel must be square (n, n); got {tuple(kernel.shape)}.")
        K = kernel.detach().double()
        self.floor = 4 * torch.finfo(kernel.dtype).eps * len(K) ** 0.5 * float(K.diagonal().abs().max())
        self.ridge, self.cutoff = float(ridge), cutoff
        self.jitter = 0.0
        self._kernel: Tensor = K if torch.equal(K, K.mT) else (K + K.mT) / 2
        self._factor: Tensor | None = None
        if endless and not cutoff and ridge > 100 * self.floor and self._definite():
            self._factor = _factor_of(self._kernel, ridge)
        if self._factor is not None:  # nothing needs a repair, and one ridge no spectrum
            return
        if self.smallest < -10 * self.floor:
            _report(strict, f"set negative kernel eigenvalues to zero; smallest eigenvalue was {self.smallest:.3g}")
        if endless and ridge < self.floor and float(self.eigenvalues[self.kept][-1]) < self.floor:
            self.jitter = self.floor
            _report(
                strict,
                f"added jitter {self.floor:.3g} to a nearly singular kernel; smallest eigenvalue was {self.smallest:.3g}",
            )

    def __len__(self) -> int:
        return len(self._kernel)

    def _definite(self) -> bool:
        """Whether no eigenvalue among up to a thousand rows is further below zero than rounding puts it."""
        step = -(-len(self) // SEEN)
        return _factor_of(self._kernel[::step, ::step], 10 * self.floor) is not None

    @cached_property
    def _decomposed(self) -> tuple[Tensor, Tensor]:
        lam, modes = torch.linalg.eigh(self._kernel)
        return lam, modes

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue as computed, before any repair."""
        return float(self._decomposed[0][0])

    @cached_property
    def eigenvalues(self) -> Tensor:
        """Eigenvalues (n,), descending, none below zero: rounding below the floor, or the repair that was told."""
        return self._decomposed[0].clamp(min=0.0).flip(0)

    @cached_property
    def modes(self) -> Tensor:
        """One mode per column (n, n)."""
        return self._decomposed[1].flip(1)

    @property
    def kept(self) -> Tensor:
        """Which modes take part in solutions: those above the cutoff."""
        return self.eigenvalues >= self.cutoff * self.eigenvalues[0]

    @property
    def repair(self) -> Repair:
        """What was done to the kernel."""
        return Repair(self.jitter, int((~self.kept).sum()), self.smallest)

    def shifted(self) -> Tensor:
        """Eigenvalues with ridge and jitter added."""
        found: Tensor = self.eigenvalues + (self.ridge + self.jitter)
        return found

    def solve(self, targets: Tensor, schedule: Schedule | None = None) -> Tensor:
        r"""Coefficients :math:`U\,\frac{\text{learned}(\lambda)}{\lambda}\,U^T y` (n, outputs) after that much training."""
        schedule = schedule or Schedule()
        if self._factor is not None and schedule.endless:
            both, _ = sla.lapack.dpotrs(self._factor.numpy(), targets.double().cpu().numpy(), lower=1)
            return torch.from_numpy(both).to(targets.device)
        g = schedule.filter(self.shifted(), len(self)) * self.kept
        found: Tensor = self.modes @ (g[:, None] * (self.modes.mT @ targets.to(self.modes.dtype)))
        return found


def _factor_of(kernel: Tensor, shift: float) -> Tensor | None:
    """The lower Cholesky factor of a symmetric matrix with ``shift`` on its diagonal; None where there is none."""
    shifted = kernel.cpu().clone(memory_format=torch.contiguous_format)
    shifted.diagonal().add_(shift)
    factor, failed = sla.lapack.dpotrf(shifted.numpy().T, lower=1, clean=0, overwrite_a=1)
    return None if failed else torch.from_numpy(factor)


def _report(strict: bool, message: str) -> None:
    if strict:
        raise ValueError(message + ". Add a ridge, remove repeated inputs, or compute the kernel in float64.")
    warnings.warn(message, NumericalRepair, stacklevel=4)
