"""Deformations in a profile: labels, networks whose stability is known, pairs of training runs, words, JSON and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import priorscope as ps
from priorscope.data.deformations import one_pixel
from priorscope.probes import label_moves
from priorscope.probes.curves.pilot import prepare
from priorscope.profiles import Candidate, Metric, Profile
from priorscope.profiles._design import Design
from priorscope.profiles._extrapolate import measured_ratio
from priorscope.profiles._held_out import HeldOut, Truth
from priorscope.profiles._trained import MeasuredNetwork, Plan, measure_network
from priorscope.profiles._view import View, look
from priorscope.profiles.sections._deformation_measure import architecture_stability, label_evidence
from priorscope.profiles.sections._deformation_result import ArchitectureStability, Effect, TrainedOnDeformed
from priorscope.statistics import Interval

FCN = Candidate("fcn-1", ps.models.fcn(1), "fcn", "no locality")


@pytest.fixture(scope="module")
def view() -> View:
    """Eighty digits in one draw."""
    return look(prepare(ps.data.digits().subset(80, seed=0), 80), 0)


class Known:
    """A predictor that is told what to say."""

    def __init__(self, function: Any) -> None:
        self.predict = function


def _made(view: View, function: Any) -> MeasuredNetwork:
    """A trial whose networks are known functions."""
    parts = [view.design.part(0, t, 6) for t in (0, 2, 4, 6)]
    scores = tuple(view.truth.targets[p.test] for p in parts)
    held = HeldOut(view.design, view.truth, tuple(parts), scores)
    ended = tuple((p, Known(function)) for p in parts)
    return MeasuredNetwork(held, 0.01, 10, 16, 0.0, True, 0.0, 0.0, 0.0, ended)  # type: ignore[arg-type]


def _frame(x: Tensor) -> Tensor:
    """The pixels on the frame, which no deformation moves."""
    return torch.cat([x[..., 0, :], x[..., -1, :]], -1).flatten(1)


def test_trained_networks_of_known_stability(view: View) -> None:
    deform = one_pixel((1, 8, 8))
    assert deform is not None
    found = {
        name: architecture_stability(FCN, view, deform, _made(view, function))
        for name, function in (("identity", lambda x: x.flatten(1)), ("frame", _frame))
    }
    for one in found.values():
        assert isinstance(one, ArchitectureStability)
        assert one.trained is not None
        assert len(one.start.values) == 5
        assert len(one.trained.values) == 4
        assert one.trained.n_images == 80 - len(view.design.part(0, 0, 6).train)  # none that it was trained on
    # an isometry answers to both alike: medians of 20 images (an even number) leave a few per cent
    assert found["identity"].trained.R.value == pytest.approx(1, abs=0.05)
    assert found["identity"].answer == "about as"
    R = found["frame"].trained.R
    assert (R.value, R.low, R.high) == (0.0, 0.0, 0.0)
    assert found["frame"].answer == "less"
    assert "less sensitive to it than to noise of the same size after its trial (R = 0" in found["frame"].words


def test_fresh_networks_are_measured_without_a_trial_and_kernels_without_networks_are_left_out(view: View) -> None:
    deform = one_pixel((1, 8, 8))
    fresh = architecture_stability(FCN, view, deform, None)
    assert fresh.trained is None
    by_hand = ps.probes.stability(
        [ps.models.fcn(1).network((1, 8, 8), width=256, outputs=10, seed=s) for s in range(5)],
        view.native_inputs[torch.randperm(80, generator=torch.Generator().manual_seed(0))],
        deform,
    )
    assert fresh.start.R.value == pytest.approx(by_hand.R.value)
    assert architecture_stability(Candidate("laplace", ps.models.laplace(), "laplace", ""), view, deform, None) == ""


def test_a_network_that_takes_long_is_not_measured_and_a_note_says_so(view: View) -> None:
    class Slow(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.last = torch.nn.Linear(64, 20_000), torch.nn.Linear(20_000, 10)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.last(self.wide(x.flatten(1)).repeat(1, 1))
            for _ in range(40):
                out = out + 0 * self.last(self.wide(x.flatten(1)))
            return out

    slow = Candidate("slow", ps.models.UserNetwork(Slow(), 10), "user", "")
    said = architecture_stability(slow, view, one_pixel((1, 8, 8)), None)
    assert isinstance(said, str)
    assert "takes too long" in said


def test_labels_are_looked_at_where_images_are_square_and_large_enough(view: View) -> None:
    symmetries = label_moves(view.pilot.inputs, view.pilot.targets, view.pilot.labels).found
    found = label_evidence(view, symmetries)
    assert found is not None
    assert found.labels in symmetries  # the number of the table of moves, not another one
    assert found.control.still == pytest.approx(found.labels.baseline)
    for shape in ((1, 8, 9), (1, 7, 7), (64,), (1, 64)):
        assert one_pixel(shape) is None
    table = look(prepare(ps.data.from_arrays(torch.randn(40, 5), torch.arange(40) % 2), 40), 0)
    assert label_evidence(table, []) is None


def test_the_same_networks_on_batches_that_stay_as_they_are_do_not_change(view: View) -> None:
    how = Plan(16, 1.0, 64, (0.01,))
    x, design, truth = view.native_inputs, view.design, view.truth
    plain = measure_network(FCN, x, design, truth, how, eighths=(6,))
    same = measure_network(FCN, x, design, truth, how, eighths=(6,), augment=lambda batch: batch)
    moved = measure_network(FCN, x, design, truth, how, eighths=(6,), augment=one_pixel((1, 8, 8)))
    assert plain.held.eighths == (6,)
    assert all(np.array_equal(a, b) for a, b in zip(plain.held.scores, same.held.scores, strict=True))
    assert not np.allclose(plain.held.scores[0], moved.held.scores[0], atol=1e-3)


def _held(labels: np.ndarray, wrong: np.ndarray) -> HeldOut:
    design = Design.of(len(labels), draws=1, seed=0)
    y = 2.0 * labels[:, None] - 1
    parts = [design.part(0, t, 6) for t in (0, 2, 4, 6)]
    scores = tuple(np.where(wrong[p.test, None], -y[p.test], y[p.test]) for p in parts)
    return HeldOut(design, Truth(y, labels), tuple(parts), scores)


def test_ratio_of_errors_on_the_same_samples_by_hand() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    wrong = rng.random(400) < 0.2
    fewer = wrong & (rng.random(400) < 0.5)
    weights = rng.multinomial(400, np.full(400, 1 / 400), size=300).astype(float)
    one, other = _held(labels, fewer), _held(labels, wrong)
    found = measured_ratio(one, other, Metric.MISCLASSIFICATION, weights)
    assert found.value == pytest.approx(fewer.sum() / wrong.sum())
    # of k of m mistakes kept, log(k/m) scatters by the root of (1 - k/m)/k: those of both are shared
    k, m = fewer.sum(), wrong.sum()
    assert np.log(found.high / found.value) == pytest.approx(1.645 * 1.2 * np.sqrt((1 - k / m) / k), rel=0.2)
    alone = measured_ratio(one, _held(labels, rng.permutation(wrong)), Metric.MISCLASSIFICATION, weights)
    assert alone.high / alone.low > 1.15 * found.high / found.low  # unshared mistakes scatter more
    assert measured_ratio(one, one, Metric.MISCLASSIFICATION, weights) == Interval(1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    "measured, forecast, effect, words",
    [
        ((0.7, 0.6, 0.8), (0.7, 0.5, 0.9), Effect.LOWERS, "lowers its error: from 4.0 % to 3.0 % at 225 samples"),
        ((0.7, 0.6, 0.8), (0.7, 0.4, 1.2), Effect.ON_PILOT, "whether it still does with more samples cannot be told"),
        ((1.5, 1.2, 1.8), (1.5, 0.9, 2.2), Effect.RAISES, "raises its error"),
        ((0.9, 0.7, 1.2), (0.9, 0.6, 1.4), Effect.UNKNOWN, "by less than can be told"),
    ],
)
def test_effect_of_training_on_deformed_images(measured: Any, forecast: Any, effect: Effect, words: str) -> None:
    one = TrainedOnDeformed("net", 225, 1200, 0.04, 0.03, Interval(*measured), 0.02, 0.015, Interval(*forecast))
    assert one.effect is effect
    assert words in one.sentence(Metric.MISCLASSIFICATION)


def test_every_candidate_is_measured_and_labels_that_do_not_survive_end_it(small_profile: Profile) -> None:
    found = small_profile.deformations
    assert found is not None
    names = [c.name for c in small_profile.candidates]
    assert sorted(a.name for a in found.architectures) == sorted(names)  # the user's network too
    assert all(a.trained is not None for a in found.architectures)
    assert found.labels.verdict == "no"
    assert found.training is None
    assert found.sentences(small_profile.metric)[2] == (
        "Training on deformed images was not tried, since labels do not survive them."
    )


@pytest.fixture(scope="module")
def of_digits() -> Profile:
    """Eighty digits and one dense network."""
    return ps.profile(ps.data.digits().subset(80, seed=0), candidates=[FCN], to=200)


def test_profile_tells_deformations_in_words_table_and_json(of_digits: Profile) -> None:
    found = of_digits.deformations
    assert found is not None
    assert len(found.sentences(of_digits.metric)) == 3
    table = found.table()
    assert (table.start_low <= table.start).all()
    assert (table.trained <= table.trained_high).all()
    stored = json.loads(of_digits.to_json())["sections"]["deformations"]
    assert stored["labels_survive"] == found.labels.verdict
    assert [a["at_initialisation"]["R"]["value"] for a in stored["architectures"]] == pytest.approx(list(table.start))
    training = found.training
    assert training is not None
    assert training.sentence(of_digits.metric) in of_digits.to_json()
    assert stored["trained_on_deformed"]["effect"] == training.effect.value
    row = next(r for r in of_digits.rows if r.name == training.name)
    assert training.plain == pytest.approx(row.curve.last[1])
    assert training.plain_ahead == pytest.approx(row.estimate.value)
    assert training.deformed_ahead / training.plain_ahead == pytest.approx(training.forecast.value, rel=1e-6)
    assert training.n == 60


def test_page_shows_pictures_of_deformed_and_noisy_images(small_profile: Profile, tmp_path: Path, browser: Any) -> None:
    file = tmp_path / "index.html"
    small_profile.to_html(file)
    trouble: list[str] = []
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else None)
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", timeout=30000)
    page.locator("#deformations > summary").click()
    page.wait_for_selector("#chart-deformed svg.marks image", timeout=10000)
    seen = page.evaluate("[...document.querySelectorAll('#chart-deformed image')].map(i => i.getAttribute('href'))")
    assert len(seen) == 9
    assert len(set(seen)) == 9  # nine different pictures
    assert all(uri.startswith("data:image/png;base64,") for uri in seen)
    assert page.locator("#chart-stability svg.marks").count() == 1
    assert "Labels" in page.locator("#deformations").inner_text()
    assert trouble == []
    context.close()


def test_no_deformations_without_depth_or_without_images() -> None:
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    assert ps.profile(x, x[:, 0], trials=False, classical=False).deformations is None
