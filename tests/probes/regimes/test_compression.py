"""Compression of weights whose scales are known, in any basis."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from priorscope.probes import compression


def test_scales_are_found_in_any_basis():
    g = torch.Generator().manual_seed(0)
    w = torch.randn(2, 4000, 5, generator=g).double() * torch.tensor([6.0, 6.0, 2.0, 2.0, 2.0])
    rotation, _ = torch.linalg.qr(torch.randn(5, 5, generator=g).double())
    plain = compression(w, torch.eye(5, 2))
    turned = compression(w @ rotation.mT, 7 * rotation[:, :2])  # directions of any length
    np.testing.assert_allclose(turned.ratio, plain.ratio, rtol=1e-10)
    np.testing.assert_allclose(plain.ratio, 3.0, rtol=0.05)  # 8,000 and 12,000 draws: one per cent each
    np.testing.assert_allclose(compression(w, torch.eye(5)[:, 2:]).ratio, 1 / 3, rtol=0.05)
    assert len(plain.table()) == 2
    assert plain.chart().to_dict()


def test_messages():
    with pytest.raises(ValueError, match=r"directions \(d, m\)"):
        compression(torch.ones(3, 4), torch.ones(3, 1))
    with pytest.raises(ValueError, match="fewer informative directions than the 2"):
        compression(torch.ones(3, 2), torch.eye(2))
