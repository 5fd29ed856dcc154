"""Classification by the widest margin: the soft-margin support vector machine of a kernel."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from priorscope.checks import POSITIVE, checked
from priorscope.contracts import KernelModel, Needs, Samples, settled
from priorscope.inference._check import check_data, check_depends
from priorscope.inference._fitted import Fitted, Trajectory
from priorscope.inference.kernels._kernel_regression import gram

__all__ = ["FittedMachine", "SupportVectorMachine"]

Array = NDArray[np.float64]


class FittedMachine(Fitted):
    """A trained machine: ``predict`` gives decision values (n, outputs), whose sign or largest column is the class.

    ``dual`` (n, outputs) holds the multipliers a between 0 and C, ``bias`` (outputs,) the offsets, ``slack`` (n, outputs)
    how much each margin falls short of one.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.from_arrays([[0.0], [1.0]], [-1.0, 1.0], classes="real", test_fraction=0.0)
        >>> fitted = SupportVectorMachine().fit(ps.models.gaussian(bandwidth=1.0), data)
        >>> fitted.predict(torch.tensor([[0.0], [0.5], [1.0]])).flatten().round(decimals=5).abs().tolist()
        [1.0, 0.0, 1.0]
    """

    def __init__(self, model: KernelModel, inputs: Tensor, signs: Array, K: Array, C: float, kind: str) -> None:
        self.model, self.inputs, self.signs, self.kind, self.C = model, inputs, signs, kind, C
        self._K = K
        solved = [_solve(K, column, C) for column in signs.T]
        self.dual = np.stack([a for a, _ in solved], 1)
        self.bias = np.array([b for _, b in solved])
        self.margins = signs * (K @ (self.dual * signs) + self.bias)
        self.slack = np.maximum(0.0, 1 - self.margins)
        loss = torch.tensor([float(self.slack.mean())], dtype=torch.float64)
        self.trajectory = Trajectory(torch.full((1,), float("inf"), dtype=torch.float64), loss)
        self.seconds = 0.0

    @property
    def gap(self) -> Array:
        r"""Primal minus dual objective per output, zero at the solution, in units of the dual one.

        .. math:: \tfrac12\|w\|^2 + C\sum_\mu\xi_\mu - \Big(\sum_\mu a_\mu - \tfrac12 a^\top Q a\Big)

        with :math:`Q_{\mu\nu} = Z_\mu Z_\nu K_{\mu\nu}`. Boyd & Vandenberghe (2004), sec. 5.5.
        """
        w = self.dual * self.signs
        norm = np.einsum("ik,ij,jk->k", w, self._K, w)
        dual = self.dual.sum(0) - norm / 2
        return np.asarray((norm / 2 + self.C * self.slack.sum(0) - dual) / np.abs(dual))

    def predict(self, inputs: Tensor) -> Tensor:
        """Decision values :math:`\\sum_\\mu Z_\\mu a_\\mu K(x_\\mu, x) + b` (n, outputs)."""
        K = gram(self.model, inputs.to(self.inputs.dtype), self.inputs, (self.kind,))[self.kind].double()
        return (K @ torch.from_numpy(self.dual * self.signs) + torch.from_numpy(self.bias)).to(inputs.dtype)


@checked(C=POSITIVE)
@dataclass(frozen=True)
class SupportVectorMachine:
    r"""The soft-margin support vector machine, by scikit-learn's solver on the model's kernel.

    .. math:: \min_{w, b, \xi}\ \tfrac12\|w\|^2 + C\sum_\mu\xi_\mu \quad\text{with}\quad
        Z_\mu(w\cdot\phi(x_\mu) + b) \ge 1 - \xi_\mu,\quad \xi_\mu \ge 0

    with labels :math:`Z_\mu = \pm1` (Cortes & Vapnik 1995). Default C = 10⁴, from Spigler, Geiger & Wyart (2020), App. A: nearly
    hard margins. Several classes are told one from the rest, one machine per column of the targets.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(100)
        >>> ps.System(data, ps.models.laplace(), SupportVectorMachine()).run().test_accuracy > 0.8
        True
    """

    C: float = 1e4
    kind: str = "ntk"
    needs: ClassVar[Needs] = "kernel"

    def __post_init__(self) -> None:
        if self.kind not in ("ntk", "nngp"):
            raise ValueError(f"kind must be 'ntk' or 'nngp'; got {self.kind!r}.")

    def fit(self, model: KernelModel, data: Samples, seed: int = 0) -> FittedMachine:
        """Solve the dual problem; the seed plays no part."""
        started = clock.perf_counter()
        x, y = check_data(data)
        signs = _signs(y)
        model = settled(model, x)
        K = gram(model, x, None, (self.kind,))[self.kind]
        check_depends(K)
        fitted = FittedMachine(model, x, signs, K.double().numpy(), self.C, self.kind)
        fitted.seconds = clock.perf_counter() - started
        return fitted


def _signs(targets: Tensor) -> Array:
    """Labels ±1 (n, outputs) of targets with two values per column."""
    columns = []
    for column in targets.double().numpy().T:
        values = np.unique(column)
        if len(values) != 2:
            raise ValueError(
                f"a support vector machine needs classes, two values per column of the targets; got {len(values)}. Use a label "
                "scheme such as classes='parity', or KernelRegression for real targets."
            )
        columns.append(np.where(column == values[1], 1.0, -1.0))
    return np.stack(columns, 1)


def _solve(K: Array, signs: Array, C: float) -> tuple[Array, float]:
    """Multipliers and bias of one machine."""
    from sklearn.svm import SVC

    machine = SVC(C=C, kernel="precomputed", tol=1e-6, cache_size=500).fit(K, signs)
    dual = np.zeros(len(K))
    dual[machine.support_] = np.abs(machine.dual_coef_)
    return dual, float(machine.intercept_.item())
