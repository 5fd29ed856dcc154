"""From a profile to an estimator: of the row that is named, taking what the profile was given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import priorscope as ps
from priorscope.profiles import Profile

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(160, 2)), columns=["a", "b"]).assign(kind=RNG.choice(["u", "v"], 160))
Y = np.where(FRAME["a"] + 2.0 * (FRAME["kind"] == "v") > 1, "yes", "no")


@pytest.fixture(scope="module")
def found() -> Profile:
    return ps.profile(FRAME, Y, deep=False, budget=25, candidates=["fcn-1", "linear", "SVM"])


def test_frames_go_in_as_they_are_and_classes_come_out_as_they_were(found: Profile) -> None:
    for row in found.rows:
        model = found.estimator(row.name).fit(FRAME[:120], Y[:120])
        guess = model.predict(FRAME[120:])
        assert set(guess) <= {"yes", "no"}
        assert (guess == Y[120:]).mean() > 0.75
        new = pd.DataFrame({"kind": ["never seen"], "b": [np.nan], "a": [0.3]})
        assert model.predict(new)[0] in ("yes", "no")


def test_kinds_are_asked_for_by_name(found: Profile) -> None:
    assert repr(found.build("kernel")) == repr(found.estimator(found.best_of("kernel machine").name))
    with pytest.raises(ValueError, match="build takes 'kernel', 'network'.*got 'svm'"):
        found.build("svm")
    with pytest.raises(ValueError, match="the profile has no network to build; it has"):
        found.build("network")
    with pytest.raises(ValueError, match="no row 'fcn-9'; it has"):
        found.estimator("fcn-9")


def test_images_are_taken_as_they_came() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 8, 8, 3)).astype(np.float32)
    y = (x[:, 2:4, 2:4].mean((1, 2, 3)) > 0).astype(int)
    found = ps.profile(x, y, deep=False, budget=25, candidates=["vec-1", "linear"])
    assert found.input_shape == (3, 8, 8)
    for name in ("vec-1", "linear"):
        assert found.estimator(name).fit(x, y).predict(x[:4]).shape == (4,)
