"""Fluctuations over initialisations of networks trained on squared error, in closed form from their tangent kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE
from priorscope.contracts import guarded
from priorscope.printing import printed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["KernelFluctuations", "kernel_fluctuations"]


@printed
@dataclass(frozen=True)
class KernelFluctuations:
    r"""Two parts of the predictions of K members on m points, and the variance of each over members.

    ``learnt`` is :math:`\Theta_xK^{-1}y`; ``start`` what is left of the random initial output,
    :math:`f_0(x)-\Theta_xK^{-1}f_0(X)` (zero where no initial outputs were given). Their sum is the trained network.

    Example:
        >>> found = KernelFluctuations(torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1))
        >>> found.variance, found.start_variance
        (2.0, 0.0)
    """

    learnt: Tensor  # (K, m)
    start: Tensor  # (K, m)

    @property
    def predictions(self) -> Tensor:
        """Outputs (K, m) of the trained members."""
        return self.learnt + self.start

    @property
    def variance(self) -> float:
        """Variance of the learnt part over members, mean over points: falls like one over the width."""
        return float(self.learnt.var(0).mean())

    @property
    def start_variance(self) -> float:
        """Variance of the part left from the start, mean over points: does not fall with the width."""
        return float(self.start.var(0).mean())

    def table(self) -> pd.DataFrame:
        """One row per part."""
        import pandas as pd

        parts = {"learnt": self.variance, "start": self.start_variance, "both": float(self.predictions.var(0).mean())}
        return pd.DataFrame({"part": list(parts), "variance": list(parts.values())})

    def chart(self) -> alt.TopLevelMixin:
        """Variance of each part."""
        import altair as alt

        chart: alt.TopLevelMixin = (
            alt.Chart(self.table())
            .mark_bar()
            .encode(alt.X("variance:Q", title="variance over members"), alt.Y("part:N"))
        )
        return chart


@guarded(jitter=NOT_NEGATIVE)
def kernel_fluctuations(
    kernels: Tensor,
    crosses: Tensor,
    targets: Tensor,
    initial: tuple[Tensor, Tensor] | None = None,
    *,
    jitter: float = 1e-10,
) -> KernelFluctuations:
    r"""Predictions at infinite time of K members on squared error, from kernels (K, P, P) and cross kernels (K, m, P).

    .. math:: f(x) = f_0(x) - \Theta_x K^{-1} f_0(X) + \Theta_x K^{-1} y

    Geiger et al. (2020), "Scaling description of generalization", eqs. 16-17: exact for a model linear in its parameters, up to
    :math:`O(N^{-1/2})` for a wide network with its initial kernel. ``initial`` holds the initial outputs (K, P) on the training
    and (K, m) on the new points; leave it out for training :math:`f-f_0`. ``jitter`` is relative to the mean diagonal.

    Example:
        >>> scale = torch.tensor([1.0, 5.0])[:, None, None]  # a common factor of a member's kernel changes nothing
        >>> found = kernel_fluctuations(scale * torch.eye(2), scale * torch.ones(1, 2), torch.ones(2, 1))
        >>> round(found.variance, 6)
        0.0
    """
    P = kernels.shape[-1]
    shapes = [tuple(t.shape) for t in (kernels, crosses, targets)]
    if kernels.ndim != 3 or kernels.shape[1] != P or crosses.ndim != 3 or crosses.shape[2] != P or len(targets) != P:
        raise ValueError(
            f"kernel_fluctuations needs kernels (K, P, P), cross kernels (K, m, P) and P targets; got {shapes[0]}, {shapes[1]} "
            f"and {shapes[2]}."
        )
    K = kernels.double()
    repair = jitter * K.diagonal(dim1=1, dim2=2).mean(1)[:, None, None] * torch.eye(P, dtype=K.dtype)
    root = torch.linalg.cholesky(K + repair)
    y = targets.double().reshape(1, P, 1).expand(len(K), P, 1)
    learnt = (crosses.double() @ torch.cholesky_solve(y, root))[..., 0]
    if initial is None:
        return KernelFluctuations(learnt, torch.zeros_like(learnt))
    at_train, at_new = (t.double().reshape(len(K), -1) for t in initial)
    kept = at_new - (crosses.double() @ torch.cholesky_solve(at_train[..., None], root))[..., 0]
    return KernelFluctuations(learnt, kept)
