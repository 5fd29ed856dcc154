"""Gradient flow against closed forms, scipy's integrator, one-by-one integration, and its own step criteria."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import nn

import priorscope as ps
from priorscope.inference import GradientFlow, KernelRegression, LossBelow, Members, as_loss
from priorscope.inference.networks._dense_pass import DensePass
from priorscope.inference.networks._flow_integration import Integration


def sample(n=8, d=3, seed=0):
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return SimpleNamespace(inputs=x, targets=torch.sign(x[:, :1] * x[:, 1:2] + 0.1))


def small_net(seed=0, hidden=6):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, 1)).double()


def test_linear_models_follow_their_closed_form():
    data = sample()
    net = nn.Linear(3, 1, bias=False).double()
    linear = SimpleNamespace(kernel=lambda a, b=None, kinds=(): SimpleNamespace(ntk=a @ (a if b is None else b).T))
    times = [0.2, 0.5, 1.5]
    errors = []
    for turn in (1e-3, 1e-5):
        flow = GradientFlow(time=1.5, record=times, keep=("outputs",), max_turn=turn).fit(net, data)
        exact = [KernelRegression(time=t).fit(linear, data).predict(data.inputs) for t in times]
        errors.append(max(float((flow.trajectory.outputs[i + 1] - exact[i]).abs().max()) for i in range(3)))
    assert flow.trajectory.times.tolist() == [0.0, *times]
    assert errors[0] < 0.02
    assert 4 < errors[0] / errors[1] < 25  # Euler steps go like sqrt(max_turn): a tenth of the error for a hundredth
    wrong = KernelRegression(time=1.5 * 0.9).fit(linear, data).predict(data.inputs)
    assert float((flow.trajectory.outputs[-1] - wrong).abs().max()) > 5 * errors[1]  # 10 % of time would be seen


@pytest.mark.parametrize(("alpha", "centre", "loss"), [(0.5, True, "soft-hinge"), (4.0, False, "logistic")])
def test_flow_is_scipys_solution(alpha, centre, loss):
    data, net, T = sample(), small_net(), 2.0
    members = Members(net)
    f0 = members.call(members.flat, data.inputs).detach() if centre else 0.0
    chosen = ps.inference.SoftHinge(sharpness=2.0) if loss == "soft-hinge" else as_loss(loss)

    def velocity(_, w):
        def objective(v):
            return chosen(alpha * (members.call(v, data.inputs) - f0), data.targets) / alpha**2

        return -members.gradient(torch.from_numpy(w)[None], objective)[1][0].numpy()

    exact = solve_ivp(velocity, (0, T), members.flat[0].numpy(), rtol=1e-8, atol=1e-10).y[:, -1]
    flow = GradientFlow(alpha=alpha, centre=centre, loss=chosen, time=T, max_turn=1e-5).fit(net, data)
    error = np.linalg.norm(flow.params[0].numpy() - exact) / np.linalg.norm(exact - members.flat[0].numpy())
    assert error < 3e-3  # Euler steps of sqrt(1e-5) relative change
    assert float(flow.times) == T
    plain = GradientFlow(alpha=alpha, centre=not centre, loss=chosen, time=T, max_turn=1e-3).fit(net, data)
    assert np.linalg.norm(plain.params[0].numpy() - exact) > 10 * error * np.linalg.norm(exact)  # centring matters


def test_every_accepted_step_meets_both_criteria():
    data, net, alpha = sample(), small_net(), 3.0
    seen = []

    flow = GradientFlow(alpha=alpha, time=2.0, loss="soft-hinge")
    run = Integration.of(flow, Members(net), data.inputs, data.targets)
    while float(run.t) < 2.0:
        before = (run.F.clone(), run.g.clone(), int(run.steps))
        run.advance(slice(0, 1))
        if int(run.steps) > before[2]:
            turn = (run.g - before[1]).norm() ** 2 / (run.g.norm() * before[1].norm())
            seen.append((float((run.F - before[0]).abs().max()), float(turn)))
    assert len(seen) > 50
    assert max(s[0] for s in seen) < 0.1
    assert max(s[1] for s in seen) < 1e-4
    assert max(s[1] for s in seen) > 2e-5  # and not by creeping


def test_a_refused_step_leaves_parameters_and_gradient():
    data, net = sample(), small_net()
    run = Integration.of(GradientFlow(loss="soft-hinge", record=[1e40]), Members(net), *pair(data))
    w, g, dt = run.w.clone(), run.g.clone(), run.dt.clone()
    run.dt *= 1e30  # the first trial, absurdly long
    run.advance(slice(0, 1))
    assert int(run.steps) == 0
    assert torch.equal(run.w, w)
    assert torch.equal(run.g, g)
    run.dt.copy_(dt)
    while int(run.steps) < 5:
        run.advance(slice(0, 1))
    w, g = run.w.clone(), run.g.clone()
    run.dt *= 100
    run.advance(slice(0, 1))
    assert int(run.steps) == 5
    torch.testing.assert_close(run.w, w, rtol=1e-13, atol=1e-14)
    assert torch.equal(run.g, g)
    assert float((run.w - members_start(net)).abs().max()) > 1e-3  # and parameters do move


def members_start(net):
    return Members(net).flat


class Opaque(nn.Module):
    """The same network, but not to be read as layers: it takes the path of any module, through autograd."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


def test_an_ensemble_with_its_own_alphas_equals_one_by_one():
    """To round-off up to t = 10, and from there to the end within the accuracy of the steps.

    Late in training the step rides on the edge of stability of modes that have decayed: whether a trial is accepted
    then hangs on the last digit, and two runs that differ by round-off take different steps of the same flow.
    """
    data = sample()
    alphas, times = [0.3, 1000.0], [0.1, 1.0, 10.0, 30.0]
    ensemble = ps.models.fcn(2, activation="erf").ensemble((3,), width=8, outputs=1, seeds=range(2))
    flow = GradientFlow(
        alphas, loss="soft-hinge", time=30.0, stop="fitted", max_turn=1e-2, record=times, keep=("params",)
    )
    together, fine = flow.fit(ensemble, data), replace(flow, max_turn=1e-3).fit(ensemble, data)
    assert len(set(together.steps.tolist())) > 1  # members really have their own steps
    assert together.finished.tolist() == [True, False]
    for i, alpha in enumerate(alphas):
        networks = [ensemble.member(i)] if i else [ensemble.member(i), Opaque(ensemble.member(i))]
        for network in networks:
            alone = flow.with_alpha(alpha).fit(network, data)
            for row in (1, 2, 3):
                a, b = alone.trajectory.params[row, 0], together.trajectory.params[row, i]
                assert float((a - b).norm() / a.norm()) < 1e-8
                torch.testing.assert_close(
                    alone.trajectory.loss[row], together.trajectory.loss[row, i], rtol=1e-5, atol=1e-9
                )
            error = float((fine.params[i] - together.params[i]).norm())
            assert float((alone.params[0] - together.params[i]).norm()) < error
            assert bool(alone.finished) == bool(together.finished[i])
    other = (together.params[1] - together.params[0]).norm() / together.params[0].norm()
    assert float(other) > 1e-2  # the measure tells members apart


def test_windows_of_any_size_give_the_same_members():
    data = sample()
    ensemble = ps.models.fcn(1, activation="erf").ensemble((3,), width=5, outputs=1, seeds=range(5))
    flow = GradientFlow(
        [0.3, 1e3, 1.0, 30.0, 0.1], loss="soft-hinge", time=5.0, stop=0.3, max_turn=1e-2, record=[0.5, 3.0]
    )
    whole, two = (Integration.of(flow, Members(ensemble, dtype=flow.dtype), *pair(data), window=w) for w in (5, 2))
    whole.run()
    two.run()
    assert len(set(whole.steps.tolist())) > 2
    for name in ("w", "t", "value", "F", "alpha"):
        torch.testing.assert_close(getattr(two, name), getattr(whole, name), rtol=1e-7, atol=1e-10)
    torch.testing.assert_close(two.record.loss, whole.record.loss, rtol=1e-7, atol=1e-10, equal_nan=True)
    assert two.order.tolist() == list(range(5))


def pair(data):
    return data.inputs, data.targets


@pytest.mark.parametrize("phi", ["relu", "erf", "softplus"])
def test_passes_by_hand_are_autograds(phi):
    x = sample(n=7).inputs
    if phi == "softplus":
        model = nn.Sequential(nn.Flatten(), nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    else:
        arch = ps.models.fcn(3, activation=phi, bias_variance=0.3)
        model = arch.ensemble((3,), width=4, outputs=2, seeds=range(3))
    members = Members(model, dtype=torch.float64)
    fast = DensePass.of(members, x)
    slopes = torch.randn(len(members), 7, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    value, gradient = members.gradient(members.flat, lambda w: (members.call(w, x) * slopes).sum((1, 2)))
    f, by_hand = fast(members.flat, lambda f: slopes)
    torch.testing.assert_close((f * slopes).sum((1, 2)), value, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(by_hand, gradient, rtol=1e-11, atol=1e-12)
    assert float((2 * by_hand - gradient).abs().max()) > 0.1
    assert DensePass.of(Members(nn.Conv1d(1, 1, 3)), torch.ones(2, 1, 3)) is None


def test_a_lazy_network_follows_its_tangent_kernel():
    data, net = sample(), small_net(hidden=12)
    members = Members(net)
    jac = torch.func.jacrev(lambda w: members.call(w, data.inputs)[0, :, 0])(members.flat)[:, 0]  # (n, P)
    tangent = SimpleNamespace(kernel=lambda a, b=None, kinds=(): SimpleNamespace(ntk=jac @ jac.T))
    want = KernelRegression(time=1.0).fit(tangent, data).predict(data.inputs)
    gaps = []
    for alpha in (1.0, 1e4):
        flow = GradientFlow(alpha=alpha, time=1.0, max_turn=1e-5).fit(net, data)
        gaps.append(float((flow.predict(data.inputs) - want).abs().max()))
    assert gaps[0] > 10 * gaps[1]
    assert gaps[1] < 0.005


def test_stop_rules_and_the_rest_of_the_trajectory():
    data, net = sample(), small_net()
    half = LossBelow(0.25)
    fitted = GradientFlow(stop=half, time=1e4, record=[1e-3, 1.0, 1e3], keep=("params",)).fit(net, data)
    assert bool(fitted.finished)
    assert float(fitted.times) < 1e4
    assert float(fitted.trajectory.loss[-1]) < 0.25 < float(fitted.trajectory.loss[1])
    torch.testing.assert_close(fitted.trajectory.params[-1], fitted.params)
    margins = GradientFlow(loss="quadratic-hinge", stop="fitted", max_steps=5).fit(net, data)
    assert not bool(margins.finished)
    assert int(margins.steps) == 5


def test_kinks_do_not_trap_the_step():
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1)).double()
    fitted = GradientFlow(loss="quadratic-hinge", time=0.5, max_turn=1e-3, max_steps=3000).fit(net, sample())
    assert float(fitted.times) == 0.5
    assert math.isfinite(float(fitted.trajectory.loss[-1]))


def test_messages():
    data, net = sample(), small_net()
    with pytest.raises(ValueError, match="alpha > 0"):
        GradientFlow(alpha=[1.0, -1.0])
    with pytest.raises(ValueError, match=r"one number or one per member \(1\); got 2"):
        GradientFlow(alpha=[1.0, 2.0]).fit(net, data)
    with pytest.raises(ValueError, match="number time > 0"):
        GradientFlow(time=0)
    with pytest.raises(ValueError, match="keep may name"):
        GradientFlow(keep=("kernel",))
    with pytest.raises(ValueError, match=r"must match targets \(8, 1\); got \(8, 2\)"):
        GradientFlow().fit(nn.Linear(3, 2), data)
    with pytest.raises(TypeError, match=r"needs an nn.Module, an ensemble, or a factory.*got Architecture"):
        GradientFlow().fit(ps.models.fcn(1), data)
    with pytest.raises(ValueError, match="no trainable parameters"):
        GradientFlow().fit(nn.Flatten(), data)
    with pytest.raises(ValueError, match="stop must be None"):
        GradientFlow(stop="soon").fit(net, data)


def test_all_records_end_where_the_flow_ends():
    """A flow that stops early records nothing of the times it did not reach."""
    torch.manual_seed(0)
    x = torch.randn(6, 3, dtype=torch.float64)
    data = ps.data.Dataset(*(ps.data.Split(x, x[:, :1].sign()) for _ in range(2)))
    flow = GradientFlow(
        loss="soft-hinge", stop="fitted", time=1e4, record=40, keep=("params", "outputs"), max_turn=1e-2
    )
    found = flow.fit(nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 1)), data).trajectory
    assert found.times[-1] < 1e4
    assert len(found.times) == len(found.loss) == len(found.params) == len(found.outputs) < 41


def test_outputs_and_weights_are_kept_side_by_side():
    """Each recorded row of outputs is that of the weights recorded with it, members apart."""
    data = sample()
    ensemble = ps.models.fcn(1, activation="erf").ensemble((3,), width=5, outputs=1, seeds=range(2))
    kept = GradientFlow(time=1.0, record=[0.1, 0.4, 1.0], keep=("outputs", "params"), centre=False).fit(ensemble, data)
    path = kept.trajectory
    for outputs, weights in zip(path.outputs, path.params, strict=True):
        torch.testing.assert_close(outputs, kept.members.call(weights, data.inputs.double()))
    assert len({float(p.norm()) for p in path.params}) == 4
