"""The posterior of a curve: closed forms against dense integration and against independent sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import gamma, poisson

from priorscope.curves._points import read_points
from priorscope.curves._posterior import posterior_of
from priorscope.curves._prior import learnt_prior
from priorscope.curves._shapes import ALPHAS, FLOORS, Points, explain, shape_logs

Q = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def a_posterior(errors=(0.30, 0.24, 0.19, 0.16), tests=1000, kind="tree"):
    prior = learnt_prior()
    points = read_points([64, 128, 256, 512], errors, tests=tests, shared=prior.shared)
    return posterior_of(points, prior.belief(kind, points.last, float(points.error[-1])), prior)


def test_shapes_are_the_formula_and_never_rise():
    ratio = np.array([0.125, 0.5, 1.0, 4.0, 1e6])
    values = np.exp(shape_logs(ratio)).reshape(len(FLOORS), len(ALPHAS), -1)
    assert values[3, 5] == pytest.approx(FLOORS[3] + (1 - FLOORS[3]) * ratio ** -ALPHAS[5])
    assert values[:, :, 2] == pytest.approx(1)
    assert (np.diff(values, axis=-1) < 0).all()


def test_evidence_is_the_integral_over_the_level():
    points = Points(np.array([64.0, 256.0]), np.array([0.3, 0.2]), np.array([0.02, 0.05]))
    scatter = 0.1
    fits = explain(points, np.array([scatter]))
    x = 1 / (points.variance + scatter**2)
    chances = x / points.error
    for shape in (0, 57, 130):
        r = np.exp(shape_logs(points.sizes / 256.0)[shape])

        def density(log_e, r=r):
            mean = np.exp(log_e) * r * chances
            # a Poisson density of real counts, in the unit of the error
            from scipy.special import gammaln

            return float(np.exp((x * np.log(mean) - mean - gammaln(x + 1) + np.log(chances)).sum()))

        integral = quad(density, -6, 2, epsabs=0, epsrel=1e-10, limit=500)[0]
        assert fits.evidence[shape, 0] == pytest.approx(np.log(integral), abs=1e-8)


def test_quantiles_are_those_of_independent_draws():
    post, rng, size = a_posterior(), np.random.default_rng(0), 400_000
    for n in (256.0, 512.0, 5000.0):
        t = rng.choice(post.weights.shape[1], size, p=post.weights.sum(0))
        shape, which = np.empty(size, dtype=int), np.empty(size, dtype=int)
        for column in range(post.weights.shape[1]):
            mine = t == column
            p = post.weights[:, column] / post.weights[:, column].sum()
            shape[mine] = rng.choice(len(p), mine.sum(), p=p)
            which[mine] = rng.choice(4, mine.sum(), p=post.drift_weights[column])
        log_level = np.log(gamma.rvs(post.fits.count[t], random_state=rng) / post.fits.rate[shape, t])
        luck = np.log(gamma.rvs(1 / post.points.common, scale=post.points.common, size=size, random_state=rng))
        z = max(np.log(n / 512), 0) ** post.prior.power
        drift = (post.prior.means[which] + post.prior.drifts[which] * rng.standard_normal(size)) * z
        drawn = np.quantile(log_level + luck + drift + shape_logs(np.array([n / 512]))[shape, 0], Q)
        found = np.log(post.quantiles(n, Q))
        # standard error of a sampled quantile: sqrt(q (1 - q) / N) over the density, here that of a normal of the same spread
        spread = (found[-1] - found[0]) / 3.29
        error = np.sqrt(Q * (1 - Q) / size) / (
            np.exp(-0.5 * np.array([-1.645, -0.674, 0, 0.674, 1.645]) ** 2) / 2.507 / spread
        )
        assert np.abs(drawn - found).max() < 6 * error.max()
        assert np.abs(drawn - found - 0.05).min() > 6 * error.max()  # five per cent off would be seen


def test_draws_of_the_library_have_the_same_quantiles():
    post = a_posterior()
    draws = post.draws(200_000, np.random.default_rng(3))
    assert np.quantile(post.at(draws, 512.0), Q) == pytest.approx(post.quantiles(512.0, Q), rel=0.004)
    ahead = post.at(draws, 5000.0)
    assert (ahead <= draws.level).all()
    assert np.quantile(ahead, Q) == pytest.approx(post.quantiles(5000.0, Q), rel=0.02)


def test_no_mistakes_end_where_jeffreys_interval_does():
    post = a_posterior(errors=(0.0, 0.0, 0.0, 0.0), tests=300)
    upper = gamma.ppf(0.95, 0.5) / 300
    assert 0.6 * upper < post.quantiles(512.0, np.array([0.95]))[0] < 1.6 * upper
    assert poisson.pmf(0, 300 * upper) > 0.1  # and a rate at that end would often show none
    assert np.isfinite(logsumexp(np.log(post.weights[post.weights > 0])))
