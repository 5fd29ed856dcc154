"""Any data, one call: the same profile whatever the rows came in, and one clear line for what cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils import Bunch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import priorscope as ps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] * X[:, 1]
QUICK: dict[str, Any] = {"deep": False, "trials": False, "candidates": [ps.models.fcn(1)]}


def _dressed(form: str, folder: Path) -> tuple[Any, ...]:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    whole = frame.assign(price=Y)
    if form == "path":
        whole.to_csv(folder / "t.csv", index=False)
    pairs = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    forms: dict[str, tuple[Any, ...]] = {
        "tensors": (torch.from_numpy(X), torch.from_numpy(Y)),
        "lists": (X.tolist(), Y.tolist()),
        "frame and series": (frame, whole["price"]),
        "frame and name": (whole, "price"),
        "path": (folder / "t.csv", "price"),
        "bunch": (Bunch(data=X, target=Y),),
        "torch": (pairs,),
        "loader": (DataLoader(pairs, 7, shuffle=True),),
        "dataset": (ps.data.from_arrays(X, Y, test_fraction=0.0),),
    }
    return forms[form]


@pytest.fixture(scope="module")
def expected() -> float:
    return ps.profile(X, Y, **QUICK).best.estimate.value


@pytest.mark.parametrize(
    "form", ["tensors", "lists", "frame and series", "frame and name", "path", "bunch", "torch", "loader", "dataset"]
)
def test_the_same_rows_give_the_same_profile(form: str, tmp_path: Path, expected: float) -> None:
    found = ps.profile(*_dressed(form, tmp_path), **QUICK).best.estimate.value
    assert found == pytest.approx(expected, rel=1e-6)


def test_words_and_gaps_are_read_and_told() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 2] > 0, "hot", "cold"))
    frame.iloc[4, 0] = np.nan
    found = ps.profile(frame, Y, **QUICK)
    assert found.input_shape == (5,)
    assert "kind=cold, kind=hot" in " ".join(found.notes)
    assert "1 missing value in 1 of 60 rows" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((X,), "ndarray alone is no data"),
        ((pd.DataFrame({"day": pd.date_range("2020", periods=60), "a": Y}), Y), "holds dates or times .* Turn it into"),
        (("digit",), "Did you mean 'digits'"),
        ((X, Y[:10]), "60 inputs and 10 targets"),
        ((X, np.ones(60)), "constant"),
        ((X * np.nan, Y), "has no value in any of the 60 training rows"),
    ],
)
def test_what_cannot_be_read_is_one_line(data: tuple[Any, ...], words: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=words) as refused:
        ps.profile(*data, **QUICK)
    assert "\n" not in str(refused.value)


def test_a_network_of_tokens_takes_part() -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.body, self.head = nn.Embedding(9, 6), nn.LSTM(6, 6, batch_first=True), nn.Linear(6, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            seen, _ = self.body(self.table(x))
            return self.head(seen[:, -1]), seen

    tokens = RNG.integers(0, 9, (40, 5))
    found = ps.profile(tokens, tokens[:, 4] > 3, candidates=[Words], trials=False)
    text = " ".join(found.notes)
    assert "takes tokens" in text
    assert "gives a tuple of 2; number 1 is taken" in text
    assert found.candidates[0].blind is None


def test_forecast_takes_the_same(tmp_path: Path) -> None:
    wanted = ps.forecast(X, Y, pilot=40).error
    for form in ("frame and name", "path", "loader", "bunch"):
        np.testing.assert_allclose(ps.forecast(*_dressed(form, tmp_path), pilot=40).error, wanted, rtol=1e-6)
