"""Parts of a profile that can be worked out by hand: outliers, tails, draws, spreads of kernels, scores, when training ends."""

from __future__ import annotations

import resource
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import gamma
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import nn

import priorscope as ps
from priorscope.probes import Kept, Shared
from priorscope.probes.curves.pilot._prepare import prepare
from priorscope.profiles import _memory, _progress, _trained, _why
from priorscope.profiles._classical import _scale_gamma, _scores
from priorscope.profiles._design import Design
from priorscope.profiles._held_out import Truth
from priorscope.profiles._kernel_distance import distance_at_width, short_run
from priorscope.profiles._network import _first, network_distance
from priorscope.profiles._robust import heavy_tails, outliers, skewed
from priorscope.profiles._view import look
from priorscope.profiles.sources import _features


def held(losses: np.ndarray) -> SimpleNamespace:
    """Losses (sizes, samples), each of two looks at a sample."""
    return SimpleNamespace(sums=lambda metric: (2 * losses, np.full(losses.shape, 2.0)))


def test_rows_far_out_are_named_with_their_share_of_the_last_error():
    inputs, targets = torch.zeros(400, 2), np.random.default_rng(0).normal(size=(400, 2))
    inputs[3, 1] = -20.0
    targets[7, 1] = 1e4
    losses = np.ones((2, 400))
    losses[1, [3, 7]] = 199.0  # of 398 + 398 at the largest size
    (said,) = outliers(inputs, targets, np.arange(1000, 1400), True, held(losses))
    assert said.startswith(
        "rows 1003, 1007 beyond 15 standard deviations: 0.5% of the samples seen, 50% of the squared error"
    )
    (said,) = outliers(inputs, targets, np.arange(1000, 1400), False, held(losses))
    assert said.startswith("row 1003 beyond 15 standard deviations: 0.2%")
    images = inputs[:, None, None]
    assert outliers(images, targets, np.arange(400), False, held(losses)) == []  # pixels are not looked at one by one


@pytest.mark.parametrize(("n", "few"), [(100, 1), (300, 3), (60, 1)])
def test_tails_are_heavy_where_a_hundredth_of_the_samples_has_a_third_of_the_error(n, few):
    losses = np.ones((2, n))
    losses[1, :few] = n / few  # as much again, and a little
    (said,) = heavy_tails(held(losses), "fcn")
    share = n / (2 * n - few)
    assert said.startswith(f"fcn: {few} of {n} tested samples make up {100 * share:.0f} % of the squared error")
    assert heavy_tails(held(losses[::-1]), "fcn") == []  # at the largest size all are alike
    losses[1, :few] = 0.5 * n / few
    assert heavy_tails(held(losses), "fcn") == []  # a third is 0.33, not 0.35
    assert heavy_tails(held(np.eye(40)[:1]), "fcn") == []  # too few to tell


def test_draws_are_rows_of_the_data_one_after_another():
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    label = torch.arange(50) % 3
    data = ps.data.from_arrays(x, label, test_fraction=0.0)
    prepared = prepare(data, 20)
    view = look(prepared, seed=1)
    assert view.design.draws == 2  # of at most fifty rows
    assert len(view.index) == 40 == len(set(view.index.tolist()))
    rows = torch.as_tensor(view.index)
    assert torch.equal(view.inputs, prepared.data.inputs[rows])
    assert torch.equal(view.draw(0), view.inputs[:20])
    assert torch.equal(view.draw(1), view.inputs[20:40])
    assert view.truth.labels.tolist() == prepared.data.targets[rows].argmax(1).tolist()
    assert len(view.small.train) == len(view.native.train) == len(view.pilot) == 20
    part = _first(view.pilot, 7)
    assert (len(part), len(part.inputs), len(part.targets), len(part.labels)) == (7, 7, 7, 7)
    signs = look(prepare(ps.data.from_arrays(x, label % 2, classes="parity", test_fraction=0.0), 20), seed=1)
    assert signs.truth.labels.tolist() == (signs.truth.targets[:, 0] > 0).astype(int).tolist()


class Scaled(nn.Module):
    """a w·x, whose tangent kernel is a² x xᵀ whatever w is."""

    def __init__(self, a: float) -> None:
        super().__init__()
        self.a, self.line = a, nn.Linear(3, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a * self.line(x)


def test_the_spread_of_kernels_over_new_weights_is_their_standard_deviation():
    scales = {1: 1.0, 2: 2.0, 3: 3.0, 4: 0.5}
    network = SimpleNamespace(
        one_output=lambda: Scaled(1.0), redraw=lambda seed: SimpleNamespace(one_output=lambda: Scaled(scales[seed]))
    )
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    for draws in (3, 4):
        found = network_distance(network, x, x[:, :2], draws=draws, n=6)
        squares = np.array([scales[i + 1] ** 2 for i in range(draws)])
        assert found.spread == pytest.approx(squares.std(ddof=1) / squares.mean(), rel=1e-5)
        assert found.change < 1e-5
    fixed = SimpleNamespace(one_output=lambda: Scaled(1.0), redraw=lambda seed: [][seed])
    with pytest.raises(IndexError):
        network_distance(fixed, x, x[:, :2])


def test_kernels_on_some_samples_descent_on_all_of_them():
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.randn(9, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    network = nn.Linear(4, 2, bias=False, dtype=torch.float64)  # two outputs for three targets
    found = short_run(network, x, y, n=5, spread=0.2, width=None, steps=4)
    K = (x @ x.mT).numpy()
    rate = 0.5 * 5 / (2 * np.linalg.eigvalsh(K[:5, :5])[-1])
    residual = np.linalg.matrix_power(np.eye(9) - rate * K / 9, 3) @ y[:, :2].numpy()
    assert found.loss_ratio == pytest.approx((residual**2).sum() / float((y[:, :2] ** 2).sum()), rel=1e-6)
    assert (found.spread, found.width, found.steps) == (0.2, None, 4)


def test_the_spread_at_a_width_is_the_mean_distance_to_the_limit():
    model, x = ps.models.fcn(1), torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    found = distance_at_width(model, x, x[:, :1], width=8, steps=3, seeds=3, n=5)
    limit = model.kernel(x[:5]).ntk.double()
    networks = [model.network((3,), width=8, outputs=1, seed=s) for s in range(3)]
    apart = [float((ps.probes.empirical_ntk(net, x[:5]).double() - limit).norm()) for net in networks]
    assert found.spread == pytest.approx(np.mean(apart) / float(limit.norm()), rel=1e-4)
    alone = short_run(networks[0], x[:10], x[:10, :1], n=5, spread=None, width=8, steps=3)
    assert (found.steps, found.change) == (3, pytest.approx(alone.change, rel=1e-4))


class Decides:
    """Scores of its own: the first column of x, for as many classes as it was trained on."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Decides:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        return x[:, 0] if len(self.classes_) == 2 else x


def test_scores_of_estimators_become_probabilities():
    x = np.array([[0.3, -1.0, 2.0], [1.0, 0.0, 0.5], [-2.0, 1.0, 0.0], [0.4, 0.2, 0.1]])
    part = SimpleNamespace(train=np.array([0, 1, 2]), test=np.array([1, 2, 3]))

    def truth(*labels: int) -> Truth:
        return Truth(np.eye(4)[list(labels)], np.array(labels), 1.0)

    found, sure = _scores(Decides(), x, truth(0, 2, 0, 3), part)  # classes 1 and 3 were not seen
    raw = np.stack([-x[1:, 0], x[1:, 0]], 1) / 2
    wanted = np.full((3, 4), raw.min() - 1)
    wanted[:, [0, 2]] = raw
    np.testing.assert_allclose(found, np.exp(wanted) / np.exp(wanted).sum(1, keepdims=True))
    assert sure
    found, _ = _scores(Decides(), x, truth(0, 1, 2, 3), part)
    wanted = np.concatenate([x[1:], np.full((3, 1), x[1:].min() - 1)], 1)
    np.testing.assert_allclose(found, np.exp(wanted) / np.exp(wanted).sum(1, keepdims=True))
    found, _ = _scores(Decides(), x, truth(2, 2, 2, 3), part)
    assert found.tolist() == [[0, 0, 1, 0]] * 3


def test_gammas_are_in_units_of_the_number_of_features():
    assert _scale_gamma(make_pipeline(StandardScaler(), SVC(gamma=2.0)), 4).named_steps["svc"].gamma == 0.5
    assert _scale_gamma(SVC(gamma="auto"), 4).gamma == "auto"
    assert _scale_gamma(SVC(C=2.0, gamma=1.0), 10).C == 2.0


class Falls:
    """A run whose loss is told by its steps."""

    def __init__(self, law) -> None:
        self.law, self.steps, self.losses, self.run = law, 0, [], self

    def advance(self, steps: int) -> None:
        self.steps += steps

    def look(self, targets: object) -> None:
        self.losses.append(self.law(self.steps))


def test_training_ends_when_twice_the_steps_bring_no_more():
    first = _trained._FIRST
    flat = [Falls(lambda steps: 1.0), Falls(lambda steps: 3.0)]
    assert _trained._train_group(flat, np.zeros(1), 10**6) == ([first, round(2**0.5 * first), 2 * first], True)
    assert _trained._train_group([Falls(lambda steps: 1.0)], np.zeros(1), first + 5) == ([first, first + 5], False)
    looks, ended = _trained._train_group([Falls(lambda steps: 1 / min(steps, 4 * first))], np.zeros(1), 10**6)
    assert (looks[-1], ended) == (8 * first, True)  # the last gain was at four times the first look
    looks, ended = _trained._train_group([Falls(lambda steps: float("nan"))], np.zeros(1), 10**6)
    assert (looks, ended) == ([first], True)


@pytest.mark.parametrize(("shape", "told"), [((6,), None), ((2, 6), (2, 6)), ((1, 4, 4), (1, 4, 4))])
def test_rows_with_features_know_the_shape_of_signals_and_images(monkeypatch, shape, told):
    trials = [
        SimpleNamespace(name="gaussian", family="gaussian", pays=True),
        SimpleNamespace(name="laplace", family="laplace", pays=True),
        SimpleNamespace(name="fcn-2", family="fcn", pays=True),
        SimpleNamespace(name="fcn-3", family="fcn", pays=False),
    ]
    monkeypatch.setattr(_features, "feature_trials", lambda scene: trials)
    offers = _features._offer(SimpleNamespace(view=SimpleNamespace(inputs=torch.zeros(3, *shape))))
    assert [offer.name for offer in offers] == [
        "gaussian + features",
        "fcn-2 + features",
    ]  # the best of the distance alone
    assert {offer.settings[0].input_shape for offer in offers} == {told}


def test_memory_is_read_from_the_system_and_the_peak_counted_from_the_start(monkeypatch, tmp_path):
    status, clear = tmp_path / "status", tmp_path / "clear"
    status.write_text("Name: python\nVmHWM:   30720 kB\nVmRSS:   10240 kB\nThreads: 1\n")
    monkeypatch.setattr(_memory, "_STATUS", status)
    monkeypatch.setattr(_memory, "_CLEAR", clear)
    assert _memory.resident() == 10.0
    with _memory.PeakMemory(start=12.0) as peak:
        assert clear.read_text() == "5"
    assert peak.megabytes == 18.0
    with _memory.PeakMemory(start=50.0) as peak:
        pass
    assert peak.megabytes == 0.0
    status.unlink()
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert _memory.resident() == pytest.approx(highest, rel=0.1)


def test_the_time_left_is_told_by_the_work_that_is_done(monkeypatch):
    now, said = [100.0], []
    monkeypatch.setattr(_progress.clock, "perf_counter", lambda: now[0])
    progress = _progress.Progress(said.append)
    progress.say("before", 0.0)
    progress.expect(6.0)
    progress.expect(2.0)
    for words, work, seconds in (("one", 2.0, 0.0), ("two", 4.0, 10.0), ("three", 4.0, 20.0), ("over", 1.0, 30.0)):
        now[0] += seconds
        progress.say(words, work)
    progress.finish()
    assert [step.done for step in said] == [0.0, 0.0, 0.25, 0.75, 1.0, 1.0]
    assert [step.left for step in said] == [None, None, 30.0, 10.0, 0.0, None]
    assert str(said[2]) == "two (25 %, about 30 s left)"
    assert str(said[4]) == "over (100 %, about 1 s left)"
    _progress.Progress(None).say("nobody listens", 1.0)


def test_parts_are_nested_rings_of_folds_and_every_sample_is_tested_alike():
    labels = np.repeat([0, 1], [12, 20]).repeat(1)
    design = Design.of(16, draws=2, labels=np.tile(labels[8:24], 2), seed=3)
    assert (len(design), design.eighths, design.few) == (32, (2, 3, 4, 5, 6, 7), (2, 4, 6))
    assert Design.of(8, draws=1).eighths == (4, 5, 6, 7)
    assert design.sizes((1, 3, 7)).tolist() == [2, 6, 14]
    for draw in range(2):
        rows = np.concatenate(design.folds[draw])
        assert sorted(rows.tolist()) == list(range(16 * draw, 16 * draw + 16))
        small, large = design.part(draw, 6, 3), design.part(draw, 6, 5)
        assert set(small.train) < set(large.train)
        assert set(small.train) | set(small.test) == set(rows)
        assert not set(small.train) & set(small.test)
        np.testing.assert_array_equal(small.train, np.concatenate([design.folds[draw][k] for k in (6, 7, 0)]))
        assert (small.draw, small.turn, small.size) == (draw, 6, 6)
    tested = np.bincount(np.concatenate([p.test for p in design.parts((3,))]), minlength=32)
    assert tested.tolist() == [5] * 32
    assert [(p.draw, p.turn, len(p.train)) for p in design.parts((2, 4), (0, 4), spread=True)] == [
        (0, 0, 4), (1, 4, 4), (0, 0, 8), (1, 4, 8),
    ]  # fmt: skip
    assert [(p.draw, p.turn) for p in design.parts((2,), (0, 4))] == [(0, 0), (1, 0), (0, 4), (1, 4)]
    for fold in Design.of(32, draws=1, labels=np.arange(32) % 2).folds[0]:
        assert (fold % 2).sum() == 2  # labels spread evenly


def test_reasons_name_what_is_shared_what_is_not_and_the_leading_modes():
    moves = [
        SimpleNamespace(move="shift", shared=Shared.YES, gain=1.1),
        SimpleNamespace(move="mirror", shared=Shared.NO, gain=1.5),
        SimpleNamespace(move="turn", shared=Shared.YES, gain=1.3),
        SimpleNamespace(move="flip", shared=Shared.YES, gain=1.02),
    ]
    own = {"shift": Kept.INVARIANT, "mirror": Kept.INVARIANT, "turn": Kept.EQUIVARIANT}
    power = np.linspace(0.1, 0.9, 12)
    made = SimpleNamespace(
        name="gap-1",
        candidate=SimpleNamespace(words="pools"),
        symmetries=own,
        spectrum=SimpleNamespace(cumulative_power=power),
    )
    said = _why.reasons(made, moves)
    assert said[0] == "pools"
    assert said[1] == "gap-1 has a symmetry the labels share (shift)"
    assert said[2].endswith("have other labels (mirror)")
    assert said[3] == f"the 10 leading modes of its kernel hold {100 * power[9]:.0f} % of the target"
    made.spectrum.cumulative_power = power[:4]
    assert f"hold {100 * power[3]:.0f} %" in _why.reasons(made, moves)[3]
    made.spectrum.cumulative_power = None
    assert len(_why.reasons(made, [])) == 1
    assert "“turn”" in _why.augmentation(moves, made)[0]
    assert "by 30 %" in _why.augmentation(moves, made)[0]
    assert "“turn”" in _why.augmentation(moves, None)[0]
    assert (
        _why.augmentation([moves[0], moves[1], moves[3]], made) == ()
    )  # the model has it, the labels do not, too little
    assert "“shift”" in _why.augmentation(moves[:1], None)[0]


def test_skewed_targets_are_told_where_a_logarithm_mends_them() -> None:
    prices = np.exp(np.random.default_rng(0).normal(size=(200, 1)) * 1.2)
    (said,) = skewed(prices)
    assert f"the largest is {prices.max() / np.median(prices):.0f} times the median" in said
    assert skewed(prices[:49]) == []  # too few to tell
    assert skewed(prices - prices.min()) == []  # zero has no logarithm
    assert skewed(np.log(prices) + 9) == []
    assert skewed(np.hstack([prices, prices])) == []  # one target at a time
    far = 1 + 0.01 * np.random.default_rng(0).random((200, 1))
    far[7] = 50.0
    assert skewed(far) == []  # one outlier, not a skewed law
    for shape, told in ((0.8, True), (1.3, False)):  # quantiles of gamma laws: skewness 2.1 and 1.7, the bound is 2
        law = gamma.ppf((np.arange(400) + 0.5) / 400, shape)
        assert bool(skewed(1 + law)) == told


def test_a_profile_of_prices_offers_their_logarithm() -> None:
    x = np.random.default_rng(2).normal(size=(120, 3))
    found = [
        ps.profile(x, y, candidates=["fcn-1"], classical=False, trials=False, deep=False).warnings
        for y in (np.exp(1.2 * x[:, 0] + 0.5 * x[:, 1]), 1.2 * x[:, 0] + 0.5 * x[:, 1])
    ]
    assert [any("profile their logarithm" in care for care in each) for each in found] == [True, False]
