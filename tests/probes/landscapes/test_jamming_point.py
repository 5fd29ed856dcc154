"""The bisection against a transition that is known, and a real one against the bound N* <= 4P."""

import math
from types import SimpleNamespace

import pytest
import torch

from priorscope.data import digits, from_arrays, random_patterns
from priorscope.inference import AllFitted, GradientDescent, KernelRegression
from priorscope.models import fcn, plain_network, vec
from priorscope.probes import jamming_point
from priorscope.probes.landscapes._jamming_point import which_fit
from priorscope.system import System


class Threshold:
    """An inference that succeeds from a width on that depends on the seed."""

    def __init__(self, thresholds):
        self.thresholds, self.trained = thresholds, []

    def fit(self, model, data, seed):
        width = next(p for p in model.parameters() if p.ndim == 2).shape[0]
        self.trained.append(width)
        return SimpleNamespace(finished=torch.tensor([width >= self.thresholds[seed]]))


def build(width, seed):
    return plain_network(3, width, 1, seed=seed)


def test_a_known_transition_is_found_with_few_trainings():
    inference = Threshold([9, 11, 13])
    point = jamming_point(build, random_patterns(10, 3), range(1, 65), seeds=3, inference=inference)
    weights = {h: 4 * h for h in (10, 11)}
    assert weights[10] < point.n_star <= weights[11]  # two of three seeds fit from width 11 on
    assert len(set(inference.trained)) <= 2 + math.ceil(math.log2(63))
    assert point.ratio == pytest.approx(10 / point.n_star)
    assert list(point.table().success) == sorted(point.table().success)
    assert point.chart().to_dict()


def test_a_ladder_on_one_side_says_so():
    point = jamming_point(build, random_patterns(10, 3), [2, 4], inference=Threshold([99] * 3))
    assert math.isnan(point.n_star)
    assert point.low == 16
    assert point.high == math.inf
    with pytest.raises(ValueError, match="at least two different widths"):
        jamming_point(build, random_patterns(10, 3), [4])


def test_random_labels_jam_below_the_bound():
    data = random_patterns(40, 6)
    inference = GradientDescent(
        optimiser="adam", learning_rate=0.02, steps=600, loss="quadratic-hinge", stop=AllFitted()
    )
    point = jamming_point(
        lambda h, s: plain_network(6, h, 1, seed=s), data, [1, 2, 4, 8, 16, 24], seeds=2, inference=inference
    )
    assert 0 < point.n_star < 4 * 40  # the bound of Geiger et al. (2019), eq. 13
    assert point.success[0] == 0
    assert point.success[-1] == 1


@pytest.mark.parametrize("batch", [None, 7])
def test_networks_trained_at_once_fit_as_they_do_one_by_one(batch):
    data = random_patterns(12, 3)
    method = GradientDescent(0.02, 100, batch, optimiser="adam", loss="quadratic-hinge", stop=AllFitted())
    networks = [build(12, seed) for seed in range(8)]
    alone = [bool(method.fit(net, data, seed=seed).finished.all()) for seed, net in enumerate(networks)]
    assert which_fit(method, networks, data) == alone
    assert 0 < sum(alone) < 8  # the control: a run that is cut off tells seeds apart
    assert which_fit(GradientDescent(0.02, 5, stop=AllFitted()), networks, data) == [False] * 8


class Branching(torch.nn.Sequential):
    """A network that looks at its values, which cannot be vectorised over members."""

    def forward(self, x):
        out = super().forward(x)
        return out if bool(out.isfinite().all()) else out.nan_to_num()


def test_networks_that_cannot_be_vectorised_are_trained_one_by_one():
    data = random_patterns(12, 3)
    method = GradientDescent(0.02, 100, optimiser="adam", loss="quadratic-hinge", stop=AllFitted())
    plain = [build(12, seed) for seed in range(4)]
    assert which_fit(method, [Branching(*net) for net in plain], data) == which_fit(method, plain, data)


def test_ten_classes_of_images_jam_a_convolutional_network():
    data = digits("classes").subset(30, seed=0).train
    quick = GradientDescent(optimiser="adam", learning_rate=0.1, steps=60, loss="quadratic-hinge", stop=AllFitted())
    point = jamming_point(vec(1), data, [1, 16], seeds=1, inference=quick)
    assert point.success == (0.0, 1.0)
    assert point.n_weights == (9 + 640, 16 * (9 + 640))  # one convolution, a readout from 64 pixels to ten classes


def test_systems_and_architectures_are_taken_as_they_are():
    data = from_arrays(
        random_patterns(12, 3).inputs.numpy(), random_patterns(12, 3).targets.numpy()[:, 0], test_fraction=0.2
    )
    inference = Threshold([4, 4])
    by_function = jamming_point(
        lambda h, s: fcn(1).network((3,), width=h, outputs=1, seed=s), data, [2, 8], seeds=2, inference=inference
    )
    by_architecture = jamming_point(fcn(1), data, [2, 8], seeds=2, inference=inference)
    system = System(data, fcn(1), inference)
    assert jamming_point(system, widths=[2, 8], seeds=2) == by_architecture == by_function
    with pytest.raises(ValueError, match="needs data unless it is given a System"):
        jamming_point(build, widths=[1, 2])
    with pytest.raises(ValueError, match="trains networks; got KernelRegression"):
        jamming_point(System(data, fcn(1), KernelRegression()), widths=[1, 2])
