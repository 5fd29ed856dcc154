"""What it takes to learn the leading eigenfunctions: time, width, samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from priorscope.checks import POSITIVE
from priorscope.contracts import guarded

__all__ = ["ModeBudget", "mode_budget"]


@dataclass(frozen=True)
class ModeBudget:
    r"""Numbers to have the top k eigenfunctions learned to :math:`\|P_k r_T\|^2 \le \epsilon`.

    Width and samples are scalings with their constants set to one: compare them with each other, not with a machine.

    Example:
        >>> from math import log
        >>> from priorscope.probes import mode_budget
        >>> mode_budget(0.5, epsilon=0.1, target_bound=1.0).time == log(1 / 0.1) / 0.5
        True
    """

    time: float
    width: float
    samples: float


@guarded(eigenvalue=POSITIVE, epsilon=POSITIVE, target_bound=POSITIVE)
def mode_budget(eigenvalue: float, epsilon: float, target_bound: float = 1.0) -> ModeBudget:
    r"""Time, width and samples after which the eigenfunctions down to ``eigenvalue`` are learned.

    .. math:: T = \frac{1}{\sigma_k}\log\frac{\|f^*\|_\infty}{\epsilon}, \quad m \sim \frac{T^4}{\epsilon^2}, \quad
              n \sim \frac{T^2}{\epsilon^2}

    Bowman & Montúfar (2022), "Spectral bias outside the training set for deep networks in the kernel regime", Theorem 1
    and Corollary 5. (Their corollary states :math:`\sigma_k^{-8}` and :math:`\sigma_k^{-6}`, since the error at time T
    has to fall to :math:`\epsilon` where Theorem 1 gives :math:`\epsilon/\sigma_k^2`; that is what is returned.)

    Example:
        >>> one, half = mode_budget(1.0, 0.1), mode_budget(0.5, 0.1)
        >>> half.time / one.time, half.width / one.width, half.samples / one.samples
        (2.0, 256.0, 64.0)
    """
    if not epsilon < target_bound:
        raise ValueError(f"mode_budget needs an epsilon below target_bound; got {epsilon} and {target_bound}.")
    factor = log(target_bound / epsilon)
    time = factor / eigenvalue
    accuracy = epsilon * eigenvalue**2  # Theorem 1's epsilon, so that its bound at T is ours
    return ModeBudget(time, time**4 / accuracy**2, time**2 / accuracy**2)
