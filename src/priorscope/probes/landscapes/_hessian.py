"""The Hessian of a loss in its two parts, dense for small networks and matrix-free for large ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor, nn
from torch.nn.utils.parametrizations import _WeightNorm
from torch.nn.utils.weight_norm import WeightNorm

from priorscope.checks import SEED, whole
from priorscope.contracts import guarded
from priorscope.inference import Loss, Members
from priorscope.inference.networks import DensePass
from priorscope.printing import printed
from priorscope.probes.landscapes._dense_hessian import dense_parts
from priorscope.probes.landscapes._effective import over_samples
from priorscope.probes.tangent._apart import check_apart

__all__ = ["HessianOperators", "HessianSplit", "hessian_operators", "hessian_split", "lanczos_density"]


@printed
@dataclass(frozen=True)
class HessianSplit:
    r"""Dense :math:`H = H_0 + H_p` over all parameters (N, N).

    Example:
        >>> HessianSplit(torch.eye(2), torch.zeros(2, 2)).total.diagonal().tolist()
        [1.0, 1.0]
    """

    first: Tensor  # H_0: gradients of outputs, positive semidefinite for convex losses
    second: Tensor  # H_p: curvature of outputs, weighted by the slope of the loss

    @property
    def total(self) -> Tensor:
        """The Hessian of the loss."""
        return self.first + self.second


class _Problem:
    """Outputs (n·o,) of flat parameters (P,), with slope and curvature of the loss at the network's own weights."""

    def __init__(self, network: nn.Module, inputs: Tensor, targets: Tensor, loss: Loss) -> None:
        """Keep the samples whose loss bends or slopes; those without either have no part in the Hessian."""
        self.members = Members(network, dtype=torch.float64)
        self.members.model.eval()
        self.w = self.members.flat[0]
        _check_second_derivatives(network)
        x, y = inputs.double(), targets.double()
        self.n = len(x)
        check_apart(self.members.model, x, "the Hessian")
        f = self.members.call(self.members.flat, x).detach()[0]  # (n, outputs)
        if y.shape != f.shape:
            raise ValueError(
                f"the Hessian needs one row of targets per input, as wide as the outputs, {tuple(f.shape)}; got {tuple(y.shape)}."
            )
        self.slope = loss.slope(f, y)
        self.curvature = _curvature(loss, f, y)
        active = (self.slope.abs().sum(1) > 0) | (self.curvature.abs().sum((1, 2)) > 0)
        self.x, self.slope, self.curvature = x[active], self.slope[active], self.curvature[active]

    def outputs(self, w: Tensor) -> Tensor:
        return self.members.call(w[None], self.x)[0]  # (active, outputs)

    def weighted(self, w: Tensor) -> Tensor:
        return (self.slope * self.outputs(w)).sum() / self.n


def _check_second_derivatives(network: nn.Module) -> None:
    """Refuse what torch differentiates once rightly and twice wrongly (2.13: ``weight_norm``, by 5 to 36 %)."""
    for name, part in network.named_modules():
        hooks = vars(part).get("_forward_pre_hooks", {}).values()
        if isinstance(part, _WeightNorm) or any(isinstance(hook, WeightNorm) for hook in hooks):
            raise ValueError(
                f"torch's second derivative of weight_norm ({name}) is wrong, so that no Hessian is given. Remove the "
                "parametrization (torch.nn.utils.parametrize.remove_parametrizations)."
            )


def _curvature(loss: Loss, predictions: Tensor, targets: Tensor) -> Tensor:
    """Second derivatives of each sample's loss over its outputs, (n, outputs, outputs)."""
    f = predictions.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss.pointwise(f, targets).sum(), f, create_graph=True)
    if not slope.requires_grad:  # piecewise linear
        return f.new_zeros(*f.shape, f.shape[-1]).detach()
    rows = [torch.autograd.grad(slope[:, o].sum(), f, retain_graph=True)[0] for o in range(f.shape[1])]
    return torch.stack(rows, 1).detach()


@guarded()
def hessian_split(network: nn.Module, inputs: Tensor, targets: Tensor, loss: Loss) -> HessianSplit:
    r"""Dense :math:`H_0 = \frac1P\sum_\mu J_\mu^T\ell''_\mu J_\mu` and :math:`H_p = \frac1P\sum_\mu\ell'_\mu\nabla\nabla f_\mu`.

    Only patterns with a slope or a curvature enter. For the quadratic hinge these are the unsatisfied ones and
    :math:`H_0 = \frac1P\sum_m\nabla\Delta\otimes\nabla\Delta`, :math:`H_p = \frac1P\sum_m\Delta\,\nabla\nabla\Delta`:
    Geiger et al. (2019), eq. 6. Fully connected networks, known by their types and checked against what they compute, are
    differentiated by hand, layer by layer, in matrix products; any other module by automatic differentiation.

    Example:
        >>> from priorscope.inference import Squared
        >>> split = hessian_split(nn.Linear(2, 1, bias=False), torch.eye(2), torch.ones(2, 1), Squared())
        >>> split.first.tolist(), float(split.second.abs().max())
        ([[0.5, 0.0], [0.0, 0.5]], 0.0)
    """
    problem = _Problem(network, inputs, targets, loss)
    N = len(problem.w)
    if len(problem.x) == 0:
        zero = torch.zeros(N, N, dtype=torch.float64)
        return HessianSplit(zero, zero.clone())

    dense = DensePass.of(problem.members, problem.x)
    if dense is not None:
        params = {name: p[0] for name, p in problem.members.unflatten(problem.members.flat).items()}
        first, second = dense_parts(dense.form, params, problem.x, problem.slope, problem.curvature)
        return HessianSplit(first / problem.n, second / problem.n)
    return _traced_split(problem)


def _traced_split(problem: _Problem) -> HessianSplit:
    """The split of any module: Jacobian by reverse mode, products of H_p with all unit vectors, a block at a time."""

    def one(w: Tensor, point: Tensor) -> Tensor:
        return problem.members.call(w[None], point[None])[0, 0]

    J = over_samples(torch.func.jacrev(one), problem.w, problem.x)  # (active, outputs, N)
    first = torch.einsum("pon,poq,pqm->nm", J, problem.curvature, J) if J.shape[1] > 1 else _weighted_gram(J, problem)
    second = torch.autograd.functional.hessian(problem.weighted, problem.w).detach()
    return HessianSplit(first.detach() / problem.n, (second + second.mT) / 2)


def _weighted_gram(J: Tensor, problem: _Problem) -> Tensor:
    J1 = J[:, 0]
    return J1.mT @ (problem.curvature[:, 0, 0, None] * J1)


@dataclass(frozen=True)
class HessianOperators:
    """The two parts as scipy linear operators: products only, memory of a few gradients.

    Example:
        >>> from priorscope.inference import Squared
        >>> parts = hessian_operators(nn.Linear(2, 1, bias=False), torch.eye(2), torch.ones(2, 1), Squared())
        >>> (parts.total @ np.ones(2)).tolist()
        [0.5, 0.5]
    """

    first: LinearOperator
    second: LinearOperator

    @property
    def total(self) -> LinearOperator:
        """The Hessian of the loss."""
        return self.first + self.second


@guarded()
def hessian_operators(network: nn.Module, inputs: Tensor, targets: Tensor, loss: Loss) -> HessianOperators:
    """Products with both parts by forward- and reverse-mode differentiation; see :func:`hessian_split`.

    Example:
        >>> from priorscope.inference import Squared
        >>> hessian_operators(nn.Linear(3, 1), torch.eye(3), torch.ones(3, 1), Squared()).first.shape
        (4, 4)
    """
    problem = _Problem(network, inputs, targets, loss)
    N = len(problem.w)

    def first(v: np.ndarray) -> np.ndarray:
        Jv = torch.func.jvp(problem.outputs, (problem.w,), (torch.from_numpy(np.ravel(v)).double(),))[1]
        pull = torch.func.vjp(problem.outputs, problem.w)[1]
        found: np.ndarray = (pull(torch.einsum("poq,pq->po", problem.curvature, Jv))[0] / problem.n).detach().numpy()
        return found

    def second(v: np.ndarray) -> np.ndarray:
        tangent = torch.from_numpy(np.ravel(v)).double()
        found: np.ndarray = (
            torch.func.jvp(torch.func.grad(problem.weighted), (problem.w,), (tangent,))[1].detach().numpy()
        )
        return found

    def operator(product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
        return LinearOperator((N, N), matvec=product, rmatvec=product, dtype=np.float64)

    return HessianOperators(operator(first), operator(second))


@guarded(steps=whole(), probes=whole(), seed=SEED)
def lanczos_density(
    operator: LinearOperator, *, steps: int = 60, probes: int = 4, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights whose weighted counts approximate the spectral density: stochastic Lanczos quadrature.

    Weights sum to one. Nodes are the eigenvalues of the tridiagonal matrix, weights the squared first components of its
    eigenvectors (Golub & Welsch 1969; Golub & Meurant 2010, "Matrices, moments and quadrature"). Full reorthogonalisation.

    Example:
        >>> from scipy.sparse.linalg import aslinearoperator
        >>> nodes, weights = lanczos_density(aslinearoperator(np.diag([1.0, 3.0])), steps=2)
        >>> round(float((nodes * weights).sum()), 6)
        2.0
    """
    N, rng = operator.shape[0], np.random.default_rng(seed)
    last = min(steps, N)
    nodes, weights = [], []
    for _ in range(probes):
        v = rng.choice([-1.0, 1.0], size=N) / np.sqrt(N)
        basis, diagonal, off = [v], [], []
        for k in range(last):
            u = operator @ basis[-1]
            diagonal.append(float(u @ basis[-1]))
            Q = np.stack(basis)
            u = u - Q.T @ (Q @ u)
            u = u - Q.T @ (Q @ u)
            size = float(np.linalg.norm(u))
            if k + 1 == last or size < 1e-12 * max(1.0, abs(diagonal[0])):
                break
            off.append(size)
            basis.append(u / size)
        T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1) if off else np.diag(diagonal)
        values, vectors = np.linalg.eigh(T)
        nodes.append(values)
        weights.append(vectors[0] ** 2 / probes)
    return np.concatenate(nodes), np.concatenate(weights)
