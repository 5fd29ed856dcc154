"""What needs no model, against scikit-learn's own dummies."""

import statistics

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score

from priorscope.profiles import Metric
from priorscope.profiles._baseline import baseline_of

LABELS = np.array([0, 0, 0, 0, 0, 2, 2, 2, 3, 3])  # no sample of class 1
NOTHING = np.zeros((10, 1))
TARGETS = np.eye(4)[LABELS]


@pytest.mark.parametrize(
    "metric, strategy, error",
    [
        (Metric.MISCLASSIFICATION, "most_frequent", lambda d: 1 - accuracy_score(LABELS, d.predict(NOTHING))),
        (Metric.BALANCED_ERROR, "most_frequent", lambda d: 1 - balanced_accuracy_score(LABELS, d.predict(NOTHING))),
        (Metric.LOG_LOSS, "prior", lambda d: log_loss(LABELS, d.predict_proba(NOTHING))),
        (
            Metric.AUC,
            "prior",
            lambda d: 1 - roc_auc_score(LABELS, d.predict_proba(NOTHING), multi_class="ovr"),
        ),
    ],
)
def test_the_dummies_of_scikit_learn_err_as_much(metric, strategy, error):
    dummy = DummyClassifier(strategy=strategy).fit(NOTHING, LABELS)
    found = baseline_of(TARGETS, LABELS, metric)
    assert found.value == pytest.approx(error(dummy))
    assert found.wrong == pytest.approx(0.5)


def test_numbers_vary_about_their_mean_as_the_standard_library_says():
    columns = np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 3.0]])
    variance = (statistics.variance([1.0, 2.0, 4.0]) + statistics.variance([0.0, 0.0, 3.0])) / 2
    assert baseline_of(columns).squared == baseline_of(columns).value == pytest.approx(variance)
    assert baseline_of(columns, metric=Metric.RMSE, unit=10.0).value == pytest.approx(10 * variance**0.5)
    assert baseline_of(columns, metric=Metric.R2).value == 1
    assert baseline_of(columns).wrong is None
