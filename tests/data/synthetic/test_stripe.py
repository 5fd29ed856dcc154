"""The stripe's labels."""

from __future__ import annotations

from priorscope.data import stripe


def test_half_of_the_points_lie_in_the_stripe():
    points = stripe(40_000, 2, seed=0)
    x, y = points.inputs, points.targets[:, 0]
    assert abs(float(y.mean())) < 4 / 200  # four standard errors of 40,000 signs
    assert set(y.tolist()) == {1.0, -1.0}
    assert float(y[x[:, 0] > 1.2].max()) == -1
    inside = (x[:, 0] > -0.3) & (x[:, 0] < 1.18549)
    assert ((y > 0) == inside).all()
    assert not (stripe(10, 2, seed=1).inputs == x[:10]).any()
