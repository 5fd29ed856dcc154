"""Equal inputs get equal covariances: to the last bit that of the input with itself."""

from __future__ import annotations

from numba import njit

__all__ = ["settle_equal"]

ALIKE = 1.0 - 1e-12  # a squared cosine above this may be that of equal inputs


@njit(nogil=True, cache=True, error_model="numpy")
def settle_equal(K, x1, x2, variances1, variances2):
    """Where row i of ``x1`` is row j of ``x2``, or its opposite, number by number: K[i, j] becomes its variance, or minus it.

    A product of matrices sums in another order than a single one. A network in its chaotic phase would enlarge the difference.
    """
    for i in range(K.shape[0]):
        bound = ALIKE * variances1[i]
        for j in range(K.shape[1]):
            k = K[i, j]
            if k * k <= bound * variances2[j]:
                continue
            sign = 1.0 if k > 0.0 else -1.0
            equal = True
            for c in range(x1.shape[1]):
                if x1[i, c] != sign * x2[j, c]:
                    equal = False
                    break
            if equal:
                K[i, j] = sign * variances1[i]
