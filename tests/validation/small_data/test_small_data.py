"""The published measures by hand, the split of tables, and a run at the smallest scale."""

import numpy as np
import pandas as pd
import pytest

from priorscope.validation.small_data import _small_data, _small_data_measures
from priorscope.validation.small_data._small_data import DEVELOPMENT, JUDGED, PAPER

RESERVED = {"penbased", "splice", "satimage", "letter", "spambase"}


def test_tables_are_many_and_apart():
    assert len(JUDGED) == len(set(JUDGED)) >= 40
    assert not set(JUDGED) & set(DEVELOPMENT)
    assert not (set(JUDGED) | set(DEVELOPMENT)) & RESERVED


@pytest.fixture
def table():
    names = ["kernel machine", "random forest", "gaussian svm", "boosting", "network"]
    values = {"a": [0.90, 0.80, 0.90, 0.70, 0.60], "b": [0.50, 1.00, 0.94, 0.92, 0.80]}
    rows = []
    for fold, shift in ((0, 0.1), (1, -0.1)):  # folds differ, their mean does not
        rows += [
            {"kind": "table", "table": t, "fold": fold, **{n: v + shift for n, v in zip(names, values[t])}}
            for t in values
        ]
    draws = [(10, 0, 0.2, 0.1), (10, 1, 0.4, 0.1), (40, 0, 0.3, 0.3), (40, 1, 0.3, 0.1)]
    rows += [{"kind": "images", "n": n, "seed": s, "kernel machine": k, "network": w} for n, s, k, w in draws]
    return pd.DataFrame(rows)


def test_measures_by_hand(table):
    found = _small_data_measures.summary(table)
    assert found.loc["kernel machine"].round(4).tolist() == [0.7, 3.25, 0.5, 0.5, 0.75]  # ranks 1.5 and 5
    assert found.loc["random forest"].round(4).tolist() == [0.9, 2.0, 0.5, 0.5, 0.9444]
    assert found.loc["boosting", "P90"] == 0.5
    gap = _small_data_measures.ahead_of("random forest")(table)
    assert round(gap.interval.value, 6) == -0.2
    assert "better on 1, worse on 1" in gap.note
    assert (
        _small_data_measures.share_ahead_of("boosting", 0.9)(table).interval.value == 0
    )  # one table each, not the same
    assert _small_data_measures.share_ahead_of("gaussian svm", 0.9)(table).interval.value == -0.5
    share = _small_data_measures.best_share_ahead_of("random forest")(table)
    assert round(share.interval.value, 4) == round(0.75 - 0.9444, 4)
    assert round(_small_data_measures.best_rank(table).interval.value, 6) == round(1.75 - 3.25, 6)
    assert round(_small_data_measures.images_ahead(table).interval.value, 6) == 0.15


def test_a_run_at_the_smallest_scale():
    points = PAPER.points("tiny")
    done = [{**p, **_small_data.run(p)} for p in (points[0], points[1])]
    frame = pd.DataFrame(done)
    image, row = done
    assert image["network"] == max(image[f"network {rate:g}"] for rate in _small_data.RATES)
    assert 0.1 < image["kernel machine"] <= 1
    assert all(row[name] > 0.85 for name in _small_data_measures.PREDICTORS)  # wine is easy
    assert row["n_test"] == pytest.approx(row["n_train"] / 3, abs=2)
    assert np.isfinite(_small_data_measures.ahead_of("network")(frame).interval.value)
    assert PAPER.chart(frame).to_dict()
