"""One small profile that several tests look at."""

from __future__ import annotations

import pytest
import torch
from sklearn.linear_model import LogisticRegression

import priorscope as ps
from priorscope.profiles import Candidate, Profile

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def small_profile() -> Profile:
    """Labels say which of two diagonal strokes stands somewhere on an 8×8 image; markup in every name."""
    generator = torch.Generator().manual_seed(0)
    x = 0.2 * torch.randn(140, 1, 8, 8, generator=generator)
    labels = torch.arange(140) % 2
    stroke = torch.eye(3)
    for i, (row, column) in enumerate(torch.randint(0, 6, (140, 2), generator=generator).tolist()):
        x[i, 0, row : row + 3, column : column + 3] += stroke if labels[i] else stroke.flip(0)
    data = ps.data.from_arrays(x, labels, classes="parity", name=f"bars {EVIL}")
    candidates = [
        Candidate("fcn-1", ps.models.fcn(1), "fcn", "sees no pixel as next to another"),
        Candidate(EVIL, ps.models.gap(1), "gap", "patches anywhere </script>"),
        "linear",
        "random trees",
    ]
    return ps.profile(data, candidates=candidates, models=[LogisticRegression(C=1e-4)], budget=6, deep=False)
