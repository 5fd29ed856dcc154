"""Deformations in a profile: labels, fresh networks, the same network on images that stay as they are, words and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

import priorscope as ps
from priorscope.data import Deform
from priorscope.data.deformations import one_pixel
from priorscope.judge import METRICS
from priorscope.probes import label_moves
from priorscope.profiles import Candidate, Paired
from priorscope.profiles._architecture import measure_architecture
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._deformation_measure import Effect, TrainedOnDeformed, stability_of, train_on_deformed
from priorscope.profiles.sections._deformations import DEFORMATIONS, Deformations

FCN = Candidate("fcn-1", ps.models.fcn(1), "fcn", "no locality")
DEFORM = Deform(1.0, 2, folds="allow")


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A hundred digits, one kernel machine and one network."""
    data = ps.data.digits().subset(100, seed=0)
    rep = ps.profile(data, candidates=["fcn-1", "convolutional network"], deep=False, budget=12)
    return Scene.of(rep.race, rep.rows, 80, None)


def test_fresh_networks_are_those_of_the_probe_and_kernels_without_networks_are_left_out(scene: Scene) -> None:
    found = stability_of(FCN, scene, DEFORM)
    drawn = [ps.models.fcn(1).network((1, 8, 8), width=256, outputs=10, seed=s) for s in range(5)]
    by_hand = ps.probes.stability(drawn, scene.native.inputs, DEFORM)
    assert found.R.value == pytest.approx(by_hand.R.value)  # type: ignore[union-attr]
    assert stability_of(Candidate("laplace", ps.models.laplace(), "laplace", ""), scene, DEFORM) == ""


def test_a_network_that_takes_long_is_not_measured_and_a_note_says_so(scene: Scene) -> None:
    class Slow(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.last = torch.nn.Linear(64, 20_000), torch.nn.Linear(20_000, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.last(self.wide(x.flatten(1)))
            for _ in range(40):
                out = out + 0 * self.last(self.wide(x.flatten(1)))
            return out

    slow = Candidate("slow", ps.models.UserNetwork(Slow(), 10), "user", "")
    assert "takes too long" in str(stability_of(slow, scene, DEFORM))


def test_labels_are_looked_at_where_images_are_square_and_large_enough(scene: Scene) -> None:
    symmetries = label_moves(scene.pilot.inputs, scene.pilot.targets, scene.pilot.labels).found
    assert DEFORMATIONS.fits(scene)
    found = DEFORMATIONS.measure(replace(scene, symmetries=symmetries, seconds=0.0))
    assert isinstance(found, Deformations)
    assert found.labels in symmetries  # the number of the table of moves, not another one
    assert found.control.still == pytest.approx(found.labels.baseline)
    assert found.training is None  # no time was left
    for shape in ((1, 8, 9), (1, 7, 7), (64,), (1, 64)):
        assert one_pixel(shape) is None


def test_the_same_network_on_batches_that_stay_as_they_are_does_not_change(scene: Scene) -> None:
    same = train_on_deformed(replace(scene, seconds=60.0), torch.nn.Identity())  # type: ignore[arg-type]
    assert isinstance(same, TrainedOnDeformed)
    assert same.errors.before == same.errors.after
    assert same.errors.noise == 0.0
    moved = train_on_deformed(replace(scene, seconds=60.0), DEFORM)
    assert isinstance(moved, TrainedOnDeformed)
    assert moved.errors.before == same.errors.before
    assert moved.errors.noise > 0
    assert "too long" in str(train_on_deformed(replace(scene, seconds=0.001), DEFORM))


@pytest.mark.parametrize(
    "after, effect, words",
    [
        (0.030, Effect.LOWERS, "lowers its error: from 4.0 % to 3.0 % at 225 samples"),
        (0.050, Effect.RAISES, "raises its error"),
        (0.041, Effect.UNKNOWN, "by less than can be told"),
    ],
)
def test_effect_of_training_on_deformed_images(after: float, effect: Effect, words: str) -> None:
    one = TrainedOnDeformed("net", Paired(225, 0.04, after, 0.003))
    assert one.effect is effect
    assert words in one.sentence(METRICS["misclassification"])


def test_words_table_and_json_say_the_same(scene: Scene) -> None:
    c, _ = measure_architecture(FCN, scene, 5.0)
    found = DEFORMATIONS.measure(replace(scene, measured=(c,), seconds=0.0))
    assert isinstance(found, Deformations)
    told: Any = json.loads(json.dumps(found.plain()))
    R = found.architectures[0].R
    assert told["architectures"][0]["R"]["value"] == pytest.approx(R.value)
    assert f"fcn-1 ({R.value:.2g})" in found.sentences()[1]
    assert told["labels_survive"] == found.labels.verdict
    names = [mark["data"] for mark in found.chart().to_dict()["layer"]]
    assert len(names) == 3
