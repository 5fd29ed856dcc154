"""Friedman's first function against his formula."""

import math

import pytest
import torch

from priorscope.data import friedman_table


def test_the_formula():
    x, y = friedman_table(50, torch.Generator().manual_seed(0), noise=0.0)
    for (a, b, c, d, e, *_), found in zip(x.tolist(), y.tolist()):
        assert found == pytest.approx(10 * math.sin(math.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e, rel=1e-5)
