r"""A kernel that sees its inputs through a linear map, :math:`K_A(x, x') = K(Ax, Ax')`: where learnt features enter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from priorscope.contracts import FeatureKernel, name_of, settled
from priorscope.models.kernels._expansion_gradients import outer_mean
from priorscope.models.kernels._kernel import Kernel, check_kinds
from priorscope.printing import printed

__all__ = ["MappedInputs"]

ROWS = 2_000_000  # numbers of gradients held at once


@printed
@dataclass(frozen=True, eq=False)
class MappedInputs:
    r"""The kernel :math:`K(Ax, Ax')` of a model, inputs flattened for the map and shaped again after it.

    ``matrix`` is A, (D, D), or its diagonal (D,). With a kernel of the distance this is a Mahalanobis metric
    :math:`A^\top A` (Radhakrishnan et al. 2024, Science 383, 1461).

    Holds: with an orthogonal A kernels of fully connected networks and of the distance do not change.

    Example:
        >>> import priorscope as ps
        >>> only_first = MappedInputs(ps.models.laplace(1.0), torch.tensor([1.0, 0.0]))
        >>> only_first.kernel(torch.tensor([[0.0, 0.0], [1.0, 9.0]])).ntk[0].log().tolist()
        [0.0, -1.0]
    """

    model: FeatureKernel
    matrix: Tensor

    def __post_init__(self) -> None:
        A = self.matrix
        if A.ndim not in (1, 2) or (A.ndim == 2 and A.shape[0] != A.shape[1]) or not bool(torch.isfinite(A).all()):
            raise ValueError(f"a map of inputs needs a finite matrix (D, D) or (D,); got {tuple(A.shape)}.")
        object.__setattr__(self, "matrix", A.detach().double())

    @property
    def name(self) -> str:
        """The name of the model, and that it has features."""
        return f"{name_of(self.model)} + features"

    def through(self, x: Tensor) -> Tensor:
        """Inputs after the map, in float64 and their own shape.

        Example:
            >>> import priorscope as ps
            >>> MappedInputs(ps.models.laplace(), torch.tensor([2.0, 1.0])).through(torch.ones(1, 2)).tolist()
            [[2.0, 1.0]]
        """
        flat = x.double().flatten(1)
        if flat.shape[1] != len(self.matrix):
            raise ValueError(f"the map takes inputs of {len(self.matrix)} numbers; got {flat.shape[1]}.")
        found = flat * self.matrix if self.matrix.ndim == 1 else flat @ self.matrix.mT
        return found.reshape(x.shape)

    def settled(self, inputs: Tensor) -> MappedInputs:
        """The same with what the model takes from the training inputs, as it sees them, fixed."""
        inner = settled(self.model, self.through(inputs))
        return self if inner is self.model else replace(self, model=inner)

    def kernel(self, x1: Tensor, x2: Tensor | None = None, *, kinds: tuple[str, ...] | str = ("nngp", "ntk")) -> Kernel:
        """The kernel of the mapped inputs."""
        kinds = check_kinds(kinds)
        pair = self.model.kernel(self.through(x1), None if x2 is None else self.through(x2), kinds=kinds)
        return Kernel(nngp=pair.nngp, ntk=pair.ntk)

    def mapped(self, matrix: Tensor) -> MappedInputs:
        """The same model behind another map, which takes the place of this one."""
        return replace(self, matrix=matrix)

    def expansion_gradients(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        r"""Gradients :math:`A^\top\nabla f(Ax)` (n, outputs, *input_shape)."""
        inner = self.model.expansion_gradients(self.through(x), self.through(anchors), coefficients, kind=kind)
        flat = inner.flatten(2)
        found = flat * self.matrix if self.matrix.ndim == 1 else flat @ self.matrix
        return found.reshape(inner.shape)

    def feature_moment(self, x: Tensor, anchors: Tensor, coefficients: Tensor, *, kind: str = "ntk") -> Tensor:
        """Mean over rows and outputs of gradient times gradient (D, D), before the map."""
        D = len(self.matrix)
        step = max(1, ROWS // (D * coefficients.shape[1]))
        total = torch.zeros(D, D, dtype=torch.float64)
        for rows in x.split(step):
            gradients = self.expansion_gradients(rows, anchors, coefficients, kind=kind).flatten(2)
            total += len(rows) / len(x) * outer_mean(gradients)
        return total
