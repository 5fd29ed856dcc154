"""The tangent kernel as a linear operator: products with vectors, no matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor, nn

from priorscope.checks import checked, optional, whole
from priorscope.contracts import guarded
from priorscope.probes.tangent._apart import check_apart

__all__ = ["NTKOperator", "ntk_operator"]


@checked(block=whole())
class NTKOperator(LinearOperator):  # type: ignore[misc]  # scipy ships no types
    r"""Products :math:`v \mapsto J J^T v` with the tangent kernel of n inputs and C outputs, of shape (nC, nC).

    Row ``i * C + a`` is output a of input i. Each product is one backward and one forward-mode pass over the inputs, in
    batches of ``block``; memory is that of one batch and two parameter vectors.

    Example:
        >>> operator = ntk_operator(torch.nn.Linear(3, 1, bias=False), torch.eye(3))
        >>> (operator @ np.array([1.0, 2.0, 3.0])).tolist()
        [1.0, 2.0, 3.0]
    """

    def __init__(self, network: nn.Module, x: Tensor, block: int) -> None:
        self.network, self.x, self.block = network, x, block
        self.params = {name: p.detach() for name, p in network.named_parameters() if p.requires_grad}
        if not self.params:
            raise ValueError("ntk_operator needs a network with parameters that require gradients; this one has none.")
        self.state = {name: p.detach() for name, p in network.named_parameters() if name not in self.params}
        self.state |= dict(network.named_buffers())
        with torch.no_grad():
            out = network(x[:1])
        self.n_outputs = out.numel()
        size = len(x) * self.n_outputs
        super().__init__(dtype=np.dtype(str(out.dtype).split(".")[-1]), shape=(size, size))

    def _forward(self, part: Tensor) -> Callable[[dict[str, Tensor]], Tensor]:
        def call(params: dict[str, Tensor]) -> Tensor:
            out = torch.func.functional_call(self.network, {**self.state, **params}, (part,))
            found: Tensor = out.reshape(len(part), -1)
            return found

        return call

    def _matvec(self, v: NDArray[np.floating]) -> NDArray[np.floating]:
        first = next(iter(self.params.values()))
        rows = torch.as_tensor(np.ascontiguousarray(v), dtype=first.dtype, device=first.device)
        rows = rows.reshape(len(self.x), self.n_outputs)
        pulled = {name: torch.zeros_like(p) for name, p in self.params.items()}
        for i in range(0, len(self.x), self.block):
            _, pull = torch.func.vjp(self._forward(self.x[i : i + self.block]), self.params)  # type: ignore[misc]
            for name, grad in pull(rows[i : i + self.block])[0].items():
                pulled[name] += grad
        pushed = [
            torch.func.jvp(self._forward(self.x[i : i + self.block]), (self.params,), (pulled,))[1]
            for i in range(0, len(self.x), self.block)
        ]
        return torch.cat(pushed).reshape(-1).cpu().numpy()

    def _adjoint(self) -> NTKOperator:
        return self

    def top(
        self, k: int, *, tolerance: float = 1e-6, seed: int = 0
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """The k leading eigenvalues of K/n (descending) and their eigenvectors (nC, k), by Lanczos iteration.

        Example:
            >>> operator = ntk_operator(torch.nn.Linear(3, 1, bias=False), torch.diag(torch.tensor([1.0, 2.0, 3.0])))
            >>> (operator.top(2)[0] * 3).round(3).tolist()
            [9.0, 4.0]
        """
        if not 1 <= k < self.shape[0]:
            raise ValueError(f"top needs 1 <= k < {self.shape[0]} (the size of the operator); got {k}.")
        start = np.random.default_rng(seed).normal(size=self.shape[0]).astype(self.dtype)
        values, vectors = eigsh(self, k=k, which="LA", tol=tolerance, v0=start)
        order = np.argsort(values)[::-1]
        return values[order] / len(self.x), vectors[:, order]


@guarded(block=optional(whole()))
def ntk_operator(network: nn.Module, x: Tensor, *, block: int | None = None) -> NTKOperator:
    r"""The tangent kernel of ``network`` on ``x`` as a scipy ``LinearOperator``, for n too large for a matrix.

    Args:
        network: a module (n, ...) -> (n, ...), in eval mode.
        x: inputs (n, ...).
        block: inputs per pass. Default 1024, ours.

    Holds: equals ``empirical_ntk(network, x, outputs="full")`` with outputs and samples interleaved.

    Example:
        >>> ntk_operator(torch.nn.Linear(5, 2), torch.zeros(7, 5)).shape
        (14, 14)
    """
    if x.ndim < 1 or len(x) == 0 or not bool(torch.isfinite(x).all()):
        raise ValueError(f"ntk_operator needs at least one finite input; got shape {tuple(x.shape)}, or NaN in it.")
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm | nn.modules.dropout._DropoutNd) and module.training:
            raise ValueError(
                f"ntk_operator needs {type(module).__name__} in eval mode; got training mode. Call network.eval() first."
            )
    check_apart(network, x, "ntk_operator")
    return NTKOperator(network, x, block or 1024)
