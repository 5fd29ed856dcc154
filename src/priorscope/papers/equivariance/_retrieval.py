"""Measures of retrieval: how well the nearest of many are of the same class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def retrieval(features: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, float]:
    r"""Precision and recall at N, F1, mean average precision and NDCG, averaged over queries (micro).

    Every row queries all others, ordered by cosine similarity. N is the number of others of the query's class, so that precision
    and recall at N agree and F1 with them (R-precision); AP is the mean over the relevant ranks r of the precision at r; the
    gain of NDCG is 1/log2(1 + r) (standard definitions; SHREC17 lets the method choose N).

    Example:
        >>> perfect = retrieval(np.array([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]]), np.array([0, 0, 1, 1]))
        >>> perfect["precision"], perfect["map"], perfect["ndcg"]
        (1.0, 1.0, 1.0)
    """
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -np.inf)
    order = np.argsort(-likeness, axis=1, kind="stable")[:, :-1]
    relevant = labels[order] == labels[:, None]  # (n, n - 1)
    rank = np.arange(1, relevant.shape[1] + 1)
    count = relevant.sum(1)
    if (count == 0).any():
        raise ValueError("a class has one member: nothing can be retrieved for it.")
    at_n = np.array([row[:c].mean() for row, c in zip(relevant, count)])
    precision = relevant.cumsum(1) / rank
    average = (precision * relevant).sum(1) / count
    gain = 1 / np.log2(1 + rank)
    best = np.array([gain[:c].sum() for c in count])
    return {
        "precision": float(at_n.mean()),
        "map": float(average.mean()),
        "ndcg": float(((relevant * gain).sum(1) / best).mean()),
    }
