"""Landmarks against fits without the rows that are left out, in any blocks, in both precisions."""

import numpy as np
import pytest

from priorscope.inference.ridge import Landmarks, RidgePath


def problem(n=60, m=9, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 4)
    return K[:, :m], K[:m, :m], rng.normal(size=(n, 2)), rng.uniform(0.3, 3.0, n), rng


def summed(cross, inner, Y, w, step=17, **settings):
    found = Landmarks(inner, Y, w, **settings)
    for start in range(0, len(cross), step):
        found.add(cross[start : start + step])
    return found


@pytest.mark.parametrize("ridge", [1e-3, 0.3])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("spectral", [0, 100])  # by a factor for each ridge, by one decomposition
def test_what_is_left_out_is_a_fit_without_it(monkeypatch, ridge, together, spectral):
    monkeypatch.setattr("priorscope.inference.ridge._landmarks.SPECTRAL", spectral)
    cross, inner, Y, w, rng = problem()
    blocks = rng.integers(0, 15, 60) if together else np.arange(60)
    kept = np.flatnonzero(blocks % 3 == 0)
    got = summed(cross, inner, Y, w, kept=kept).left_out(ridge, blocks[kept] if together else None)
    half = summed(cross, inner, Y, w, kept=kept).left_out(ridge, blocks[kept] if together else None, count=4)
    for at, row in enumerate(kept):
        rest = blocks != blocks[row]
        one = summed(cross[rest], inner, Y[rest], w[rest]).solve(ridge)
        np.testing.assert_allclose(got[at], cross[row] @ one.coefficients + one.offset, atol=1e-7)
        few = summed(cross[rest, :4], inner[:4, :4], Y[rest], w[rest]).solve(
            ridge
        )  # leading features are of the first landmarks
        np.testing.assert_allclose(half[at], cross[row, :4] @ few.coefficients + few.offset, atol=0.02)
    alone = summed(cross, inner, Y, w, kept=kept).left_out(ridge)
    assert (np.abs(alone - got).max() > 1e-3) == together  # the control: a block is not its rows one by one


def test_blocks_of_any_size_give_one_answer_and_all_rows_the_exact_one():
    cross, inner, Y, w, _ = problem(m=60)
    path = RidgePath.of_kernel(inner, w)
    for step in (1, 7, 60):
        found = summed(cross, inner, Y, w, step=step, kept=np.arange(60))
        np.testing.assert_allclose(found.left_out(0.1), path.leave_one_out(Y, [0.1])[0], atol=1e-7)
        np.testing.assert_allclose(inner @ found.solve(0.1).coefficients, inner @ path.solve(Y, 0.1), atol=1e-6)
        assert found.unit == pytest.approx(path.scale)
        assert found.lost(np.ones(60)) < 1e-9


def test_single_precision_is_close_and_says_what_is_missing():
    cross, inner, Y, w, _ = problem(n=400, m=40)
    double, single = (summed(cross, inner, Y, w, kept=np.arange(100), single=s) for s in (False, True))
    a, b = double.left_out(0.1), single.left_out(0.1)
    assert 0 < np.abs(a - b).max() < 2e-3  # of targets of size 1, with a smooth kernel: jitter of 1e-7
    short = Landmarks(inner, Y, w)
    short.add(cross[:399])
    with pytest.raises(ValueError, match="blocks of 400 rows in all; got 399"):
        short.solve(0.1)
    with pytest.raises(ValueError, match="400 rows in all; got 401"):
        short.add(cross[:2])
