"""A forecast as text and in a notebook: the same numbers, everything escaped."""

import numpy as np

import priorscope as ps

X = np.random.default_rng(0).normal(size=(60, 3))


def test_a_forecast_says_what_it_is():
    found = ps.forecast(X, np.abs(X[:, 0]), n=[100, 240])
    text, html = str(found), found._repr_html_()
    assert f"{found.error[1]:.3g} ({found.low[1]:.3g}–{found.high[1]:.3g}) at 240" in text
    assert "from a pilot of 60" in html
    assert len(text.splitlines()) < 12
    assert all(line in text for line in found.warnings)
