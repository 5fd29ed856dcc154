"""The decision that balanced error asks for: probabilities over the shares of the classes, of which the largest wins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["balanced_classes"]

Array = NDArray[np.float64]


def balanced_classes(probabilities: Array, shares: Array) -> NDArray[np.int64]:
    r"""The class (n,) with the largest :math:`p_c(x) / \pi_c`, from probabilities (n, classes) and shares of the classes.

    Balanced error, the mean over classes of the share misclassified, is an expected cost in which an error on class c costs
    :math:`1 / \pi_c`; such a cost is least where :math:`p_c(x) / \pi_c` is largest (Elkan 2001, The foundations of
    cost-sensitive learning, IJCAI, eq. 1). For two classes that is :math:`p_1 > \pi_1`, a threshold at the base rate (Menon et
    al. 2013, On the statistical consistency of algorithms for binary classification under class imbalance, ICML).

    Holds: with equal shares it is the class of the largest probability; a class of share 0 never wins; factors common to
    all shares change nothing. Probabilities may be estimates outside [0, 1], as regressions on one-hot targets give them.

    Example:
        >>> p = np.array([[0.97, 0.03], [0.8, 0.2]])
        >>> balanced_classes(p, np.array([0.9, 0.1])).tolist(), p.argmax(1).tolist()
        ([0, 1], [0, 0])
    """
    known = shares > 0
    over = np.where(known, probabilities / np.where(known, shares, 1.0), -np.inf)
    found: NDArray[np.int64] = over.argmax(1)
    return found
