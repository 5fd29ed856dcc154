"""The triple: models of every kind meet inferences of every kind; what cannot meet is refused by name."""

import pytest
import torch
from torch import nn

import priorscope as ps


@pytest.fixture(scope="module")
def digits():
    return ps.data.digits(classes="parity").subset(60, seed=0, n_test=100)


class Net(nn.Module):
    def __init__(self, blind=False):
        super().__init__()
        self.blind = blind
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.body(torch.zeros_like(x) if self.blind else x)


def test_kernels_and_networks_are_exchangeable(digits):
    descent = ps.inference.GradientDescent(optimiser="adam", learning_rate=1e-2, steps=100)
    fcn = ps.models.fcn(1)
    systems = {
        "kernel": ps.System(digits, fcn, ps.inference.KernelRegression(ridge=1e-3)),
        "process": ps.System(digits, fcn, ps.inference.GaussianProcess(noise=1e-3)),
        "network": ps.System(digits, fcn, ps.inference.GradientDescent(learning_rate=0.5, steps=100), width=32),
        "module": ps.System(digits, Net(), descent),
        "factory": ps.System(digits, lambda seed: Net(), descent),
    }
    for name, system in systems.items():
        outcome = system.run(seed=1)
        assert outcome.test_accuracy > 0.75, name
        assert 0 < outcome.test_error < 1, name  # better than predicting zero, whose error is 1
        assert outcome.misclassification == pytest.approx(1 - outcome.test_accuracy)
        assert outcome.predict(digits.test.inputs).shape == (100, 1)
        assert outcome.seconds >= 0
        assert len(outcome.trajectory.times) > 5


def test_errors_are_what_they_say(digits):
    outcome = ps.System(digits, ps.models.fcn(1), ps.inference.KernelRegression(ridge=0.1)).run()
    f, y = outcome.predict(digits.test.inputs), digits.test.targets
    assert outcome.test_error == pytest.approx(float((f - y).square().mean()), rel=1e-6)
    assert outcome.test_accuracy == pytest.approx(float((f.sign() == y).double().mean()))


def test_ensembles_train_together_and_average(digits):
    flow = ps.inference.GradientFlow(time=2.0, loss="soft-hinge", max_turn=1e-2)
    system = ps.System(digits, ps.models.fcn(1), flow, width=16, members=3)
    outcome = system.run(seed=0)
    assert outcome.predict(digits.test.inputs).shape == (3, 100, 1)
    assert len(outcome.member_errors) == 3
    assert outcome.test_error <= sum(outcome.member_errors) / 3  # Jensen: the mean is at least as good
    other = system.run(seed=1)
    assert (
        other.predict(digits.inputs) - outcome.predict(digits.inputs)
    ).abs().min() > 0  # other seeds, other networks


def test_several_classes():
    data = ps.data.digits(classes="classes").subset(80, seed=0, n_test=100)
    outcome = ps.System(data, ps.models.fcn(1), ps.inference.KernelRegression(ridge=1e-3)).run()
    assert outcome.test_accuracy > 0.6
    f = outcome.predict(data.test.inputs)
    assert outcome.test_accuracy == pytest.approx(float((f.argmax(1) == data.test_labels).double().mean()))


def test_the_antisymmetric_start_is_not_blindness(digits):
    flow = ps.inference.GradientDescent(steps=3)
    outcome = ps.System(digits, ps.models.fcn(1), flow, width=16, initialisation="antisymmetric").run()
    assert outcome.trajectory.loss[0] == pytest.approx(0.5)  # f = 0 on targets of size one


def test_messages(digits):
    with pytest.raises(ValueError, match="the model ignores its input"):
        ps.System(digits, Net(blind=True), ps.inference.GradientDescent(steps=2)).run()
    with pytest.raises(
        TypeError, match=r"closed-form kernel for KernelRegression; got Net, which has no kernel.*from_module"
    ):
        ps.System(digits, Net(), ps.inference.KernelRegression())
    with pytest.raises(TypeError, match="wanted an inference with a method fit.*got str, which has no fit"):
        ps.System(digits, Net(), "kernel")
    with pytest.raises(TypeError, match="got Tensor, which has no inputs, targets, train, test"):
        ps.System(digits.inputs, Net(), ps.inference.GradientDescent())
    with pytest.raises(TypeError, match="got int.*needs the methods network and ensemble"):
        ps.System(digits, 3, ps.inference.GradientDescent())


@pytest.mark.parametrize("outputs", [1, 3])
def test_predictions_that_are_not_numbers_have_no_accuracy(outputs):
    from priorscope.system import accuracy

    wanted = torch.eye(3)[:, :outputs] * 2 - 1
    assert accuracy(wanted, wanted) == 1
    broken = wanted.clone()
    broken[0, 0] = float("nan")
    assert accuracy(broken, wanted) != accuracy(broken, wanted)  # NaN, neither 0 nor a share


class Plain(nn.Module):
    """A network without weights; outputs of the shape given, the same for all inputs where blind."""

    def __init__(self, weights=0, blind=False, copies=None):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(weights)) if weights else None
        self.blind, self.copies = blind, copies

    def forward(self, x):
        out = x.flatten(1).sum(1, keepdim=True)
        out = torch.ones_like(out) if self.blind else out
        out = out if self.scale is None else out * self.scale
        return out if self.copies is None else torch.stack([k * out for k in range(self.copies)])


def test_which_networks_are_blind():
    """Nothing is said of a network without weights or of one input; one blind member alone is no blind ensemble."""
    check, x = ps.system.check_model, torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    check(Plain(blind=True), x)
    check(Plain(1, blind=True), x[:1])
    check(Plain(1), x[:2])
    check(Plain(1, copies=2), x)  # the first of the two is zero everywhere
    for blind in (Plain(1, blind=True), Plain(1, blind=True, copies=3), Plain(2, blind=True)):
        with pytest.raises(ValueError, match="ignores its input"):
            check(blind, x)
        with pytest.raises(ValueError, match="ignores its input"):
            check(blind, x[:2])
    frozen = Plain(1, blind=True)
    frozen.scale.requires_grad_(False)
    with pytest.raises(ValueError, match="ignores its input"):
        check(frozen, x)
    sleeping = Plain(1).eval()
    check(sleeping, x)
    assert not sleeping.training
    awake = Plain(1).train()
    check(awake, x)
    assert awake.training


def test_a_stack_that_keeps_its_weights_to_itself_can_be_blind():
    class Stack(Plain):
        stacked = {"w": torch.ones(2, 1)}

        def call(self, stacked, x):
            return self(x)

    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    ps.system.check_model(Stack(copies=2), x)
    with pytest.raises(ValueError, match="ignores its input"):
        ps.system.check_model(Stack(blind=True, copies=2), x)


def test_an_ensemble_of_ones_own_is_trained_as_it_is(digits):
    flow = ps.inference.GradientFlow(time=0.1)
    own = ps.models.fcn(1).ensemble(digits.input_shape, width=8, outputs=1, seeds=[5, 6])
    system = ps.System(digits, own, flow)
    assert system.network(3) is own
    assert system.run().predict(digits.test.inputs).shape == (2, 100, 1)


def test_without_test_samples_there_is_no_error(digits):
    x, y = digits.train.inputs, digits.train.targets
    alone = ps.data.from_arrays(x.flatten(1).numpy(), y.numpy()[:, 0].astype(float) * 1.5, test_fraction=0.0)
    outcome = ps.System(alone, ps.models.fcn(1), ps.inference.KernelRegression(ridge=0.1)).run()
    assert outcome.test_error != outcome.test_error
    assert outcome.member_errors == ()
    assert outcome.test_accuracy is None
    assert outcome.misclassification is None
