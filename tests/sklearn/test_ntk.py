"""scikit-learn's own checks, pipelines and searches, and the dense formula behind the estimators."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import priorscope as ps
from priorscope.sklearn import NTKClassifier, NTKRegressor


@parametrize_with_checks([NTKRegressor(), NTKClassifier(time=50.0)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_the_regressor_is_the_dense_solve():
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(15, 4)), rng.normal(size=(15, 2)), rng.normal(size=(5, 4))
    arch = ps.models.fcn(1)
    K = arch.kernel(torch.from_numpy(X)).ntk.numpy()
    cross = arch.kernel(torch.from_numpy(Z), torch.from_numpy(X)).ntk.numpy()
    want = y.mean(0) + cross @ np.linalg.solve(K + 0.1 * np.eye(15), y - y.mean(0))
    got = NTKRegressor(arch, ridge=0.1).fit(X, y).predict(Z)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


def test_a_grid_search_in_a_pipeline_over_architectures():
    X, y = load_digits(return_X_y=True)
    X, y = X[:160] / 16, y[:160]
    pipeline = make_pipeline(StandardScaler(with_std=False), NTKClassifier())
    grid = {
        "ntkclassifier__arch": [ps.models.fcn(1), ps.models.fcn(3, activation="erf")],
        "ntkclassifier__ridge": [1e-4, 1e3],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.75
    assert search.best_params_["ntkclassifier__ridge"] == 1e-4  # a ridge of 1000 leaves nothing to learn


def test_rows_become_images():
    X, y = load_digits(return_X_y=True)
    X, y = X[:40] / 16, y[:40]
    arch = ps.models.vec(1)
    got = NTKClassifier(arch, ridge=1e-3, input_shape=(1, 8, 8)).fit(X, y).decision_function(X[:3])
    x = torch.from_numpy(X).reshape(-1, 1, 8, 8)
    hot = np.eye(10)[y]
    K = arch.kernel(x, x).ntk.numpy()
    want = hot.mean(0) + K[:3] @ np.linalg.solve(K + 1e-3 * np.eye(40), hot - hot.mean(0))
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


def test_messages():
    X, y = np.eye(4), np.arange(4.0)
    with pytest.raises(ValueError, match=r"input_shape \(1, 3, 3\) needs 9 features per row; X has 4"):
        NTKRegressor(input_shape=(1, 3, 3)).fit(X, y)
    with pytest.raises(ValueError, match="kind must be"):
        NTKRegressor(kind="rbf").fit(X, y)
    with pytest.raises(ValueError, match="at least two classes; got 1 class"):
        NTKClassifier().fit(X, np.ones(4))
