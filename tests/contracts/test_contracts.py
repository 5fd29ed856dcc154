"""A stranger's classes meet the library by methods alone, and are told what they lack."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope import contracts


class Linear:
    """A kernel model without a base class of ours: x·x'."""

    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        gram = x1 @ (x1 if x2 is None else x2).T
        return SimpleNamespace(nngp=gram, ntk=gram)


class Mean:
    """An inference of a stranger's: predicts the mean of the targets."""

    def fit(self, model, data, seed=0):
        mean = data.targets.mean(0)
        still = SimpleNamespace(times=torch.zeros(1), loss=torch.zeros(1))
        return SimpleNamespace(predict=lambda x: mean.expand(len(x), -1), trajectory=still, seconds=0.0)


@pytest.fixture(scope="module")
def data():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = x @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    return ps.data.from_arrays(x[:30], y[:30], test=(x[30:], y[30:]), dtype=torch.float64)


def test_a_strangers_kernel_learns_a_linear_function(data):
    outcome = ps.System(data, Linear(), ps.inference.KernelRegression(ridge=1e-9)).run()
    assert outcome.test_error < 1e-6  # a linear kernel holds the target exactly
    assert float(data.test.targets.var()) > 0.1


def test_a_strangers_inference_is_given_a_network(data):
    outcome = ps.System(data, nn.Linear(3, 1), Mean()).run()
    wanted = (data.test.targets - data.targets.mean()).square().mean()
    assert outcome.test_error == pytest.approx(float(wanted), rel=1e-6)


def test_what_is_missing_is_named():
    assert contracts.missing(Linear(), contracts.KernelModel) == ()
    assert contracts.missing(Linear(), contracts.NetworkFamily) == ("network", "ensemble")
    assert contracts.missing(object(), contracts.LabelledData) == (
        "inputs",
        "targets",
        "train",
        "test",
        "input_shape",
        "n_outputs",
        "task",
    )
    with pytest.raises(TypeError, match="got Linear, which has no network, ensemble"):
        contracts.require(Linear(), contracts.NetworkFamily, "a family", "Use an Architecture.")


def test_an_inference_that_needs_neither_is_refused(data):
    odd = SimpleNamespace(fit=lambda *a, **k: None, needs="trees")
    with pytest.raises(TypeError, match="needs must be 'kernel' or 'network'; got 'trees'"):
        ps.System(data, Linear(), odd)


def test_every_inference_of_ours_keeps_the_contract():
    for name in ("KernelRegression", "GaussianProcess", "InfiniteEnsemble", "GradientDescent", "GradientFlow"):
        method = getattr(ps.inference, name)()
        assert contracts.missing(method, contracts.Inference) == ()
        assert contracts.needs_of(method) == ("network" if name.startswith("Gradient") else "kernel")


# -- classes that look right and are not -----------------------------------------------------------------------------


class NumberForAMethod:
    kernel = 3


class OneArgument:
    def kernel(self, x1): ...


class PlainMatrix:
    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        return x1 @ (x1 if x2 is None else x2).T


class RowsAlone:
    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        return SimpleNamespace(nngp=x1, ntk=x1)


class Gives(Mean):
    """An inference for kernels with a fitted result of the test's choice."""

    needs = "kernel"

    def __init__(self, result):
        self.result = result

    def fit(self, model, data, seed=0):
        return self.result


class Seedless:
    def fit(self, model, data): ...


class ByName(Mean):
    """Takes the seed by name alone, which is how it is given."""

    needs = "kernel"

    def fit(self, model, data, *, seed=0):
        return Mean.fit(self, model, data, seed)


STILL = SimpleNamespace(times=torch.zeros(1), loss=torch.zeros(1))
RIDGE = ps.inference.KernelRegression()


@pytest.mark.parametrize(
    ("model", "inference", "words"),
    [
        (NumberForAMethod(), RIDGE, "got NumberForAMethod, which has no kernel"),
        (OneArgument(), RIDGE, r"OneArgument.kernel does not take the arguments of kernel\(x1, x2, kinds\)"),
        (
            PlainMatrix(),
            RIDGE,
            r"wanted PlainMatrix.kernel\(x1, x2\) to give an object with ntk.*got Tensor without it",
        ),
        (RowsAlone(), RIDGE, r"kernel\(x1, x2\).ntk of shape \(30, 30\); got \(30, 3\)"),
        (Linear, RIDGE, r"got the class Linear itself. Make one: Linear\(...\)"),
        (Linear(), ps.inference.KernelRegression, "got the class KernelRegression itself"),
        (Linear(), Seedless(), r"Seedless.fit does not take the arguments of fit\(model, data, seed\)"),
        (
            Linear(),
            Gives(None),
            "wanted a fitted result of Gives.fit; got NoneType, which has no trajectory, seconds, predict",
        ),
        (
            Linear(),
            Gives(SimpleNamespace(predict=lambda x: torch.zeros(len(x) + 1, 1), trajectory=STILL, seconds=0.0)),
            r"predictions of Gives as a tensor \(10, 1\).*got \(11, 1\)",
        ),
        (
            Linear(),
            Gives(SimpleNamespace(predict=lambda x: torch.zeros(len(x)), trajectory=STILL, seconds=0.0)),
            r"got \(10,\)",  # would be compared with every target
        ),
        (
            Linear(),
            Gives(SimpleNamespace(predict=lambda x: x.numpy()[:, :1], trajectory=STILL, seconds=0.0)),
            "got ndarray",
        ),
    ],
)
def test_what_looks_right_and_is_not_is_refused_by_name(data, model, inference, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ps.System(data, model, inference).run()


def test_a_seed_may_be_taken_by_name_alone(data):
    assert ps.System(data, Linear(), ByName()).run().test_error > 0


@pytest.mark.parametrize("probe", ["regime", "spectral_bias", "stability_path"])
def test_probes_of_systems_say_that_they_take_systems(probe):
    with pytest.raises(
        TypeError, match=rf"{probe} takes a priorscope.System\(data, model, inference\); got Architecture"
    ):
        getattr(ps.probes, probe)(ps.models.fcn(1))


def test_a_spectrum_of_nothing_and_the_tangent_kernel_of_an_architecture_are_refused():
    with pytest.raises(TypeError, match="spectrum needs kernel as a System .*got None"):
        ps.probes.spectrum(None)
    with pytest.raises(TypeError, match="empirical_ntk needs network as an nn.Module.*got Architecture"):
        ps.probes.empirical_ntk(ps.models.fcn(1), torch.eye(2))


class Doubled:
    """A kernel x·y, its tangent kernel twice that; it notes which kinds were asked for."""

    name = "doubled"
    asked: tuple[str, ...] = ()

    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        self.asked = tuple(kinds)
        K = x1 @ (x1 if x2 is None else x2).T
        return SimpleNamespace(nngp=K if "nngp" in kinds else None, ntk=2 * K if "ntk" in kinds else None)


def test_kernels_are_asked_for_by_kind_and_between_two_batches():
    model, x, z = Doubled(), torch.eye(3), 3 * torch.eye(3)[:2]
    torch.testing.assert_close(contracts.kernel_matrix(model, x), 2 * torch.eye(3))
    torch.testing.assert_close(contracts.kernel_matrix(model, x, z), 6 * torch.eye(3)[:, :2])
    torch.testing.assert_close(contracts.kernel_matrix(model, x, z, "nngp"), 3 * torch.eye(3)[:, :2])
    assert model.asked == ("nngp",)
    both = contracts.kernel_matrices(model, x, z)
    assert list(both) == ["nngp", "ntk"]
    torch.testing.assert_close(both["ntk"], 2 * both["nngp"])
    with pytest.raises(ValueError, match="kind must be 'ntk' or 'nngp'; got 'rbf'"):
        contracts.kernel_matrices(model, x, None, ("rbf", "ntk"))


@pytest.mark.parametrize("bad", ["nngp", "ntk"])
@pytest.mark.parametrize(
    ("change", "words", "kind"), [(lambda K: None, "object with", TypeError), (lambda K: K[:1], "shape", ValueError)]
)
def test_each_kind_of_a_kernel_is_looked_at(bad, change, words, kind):
    class Odd(Doubled):
        def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
            found = super().kernel(x1, x2, kinds=kinds)
            setattr(found, bad, change(getattr(found, bad)))
            return found

    with pytest.raises(kind, match=words):
        contracts.kernel_matrices(Odd(), torch.eye(3))


def test_what_a_model_takes_from_its_inputs_is_settled_once():
    x = torch.tensor([[0.0], [1.0], [5.0]])
    assert contracts.settled(ps.models.laplace(), x).bandwidth == 4.0
    plain = Doubled()
    assert contracts.settled(plain, x) is plain


def test_names_are_those_that_were_given():
    def maker(seed):
        return nn.Linear(2, 1)

    nameless = SimpleNamespace(name="")
    assert contracts.name_of(Doubled()) == "doubled"
    assert contracts.name_of(maker) == "maker"
    assert contracts.name_of(lambda seed: None) == "function"
    assert contracts.name_of(nameless) == "SimpleNamespace"
    assert contracts.name_of(SimpleNamespace(name=3)) == "SimpleNamespace"


def test_networks_makers_and_families():
    fcn = ps.models.fcn(1)
    assert contracts.is_network_maker(fcn)
    assert contracts.is_network_family(fcn)

    class Both(nn.Module):
        """A network that could make others is a network."""

        network = staticmethod(fcn.network)
        ensemble = staticmethod(fcn.ensemble)

    assert not contracts.is_network_maker(Both())
    assert not contracts.is_network_family(Both())
    assert not contracts.is_network_maker(Doubled())
    one = SimpleNamespace(network=fcn.network)
    assert contracts.is_network_maker(one)
    assert not contracts.is_network_family(one)


def test_a_class_in_place_of_an_object():
    with pytest.raises(TypeError, match=r"got the class Doubled itself. Make one: Doubled\(...\)"):
        contracts.require(Doubled, contracts.KernelModel, "a model with a kernel", "Use an Architecture.")
    with pytest.raises(TypeError, match="got type, which has no kernel. Use an Architecture"):
        contracts.require(int, contracts.KernelModel, "a model with a kernel", "Use an Architecture.")


def test_a_length_is_asked_for_where_the_contract_says_so():
    one = ps.models.fcn(1).ensemble((3,), width=4, seeds=range(2))
    assert contracts.missing(one, contracts.NetworkEnsemble) == ()
    assert "__len__" in contracts.missing(SimpleNamespace(stacked={}, call=one.call), contracts.NetworkEnsemble)
    odd = SimpleNamespace(kernel=3)  # there, but nothing that can be called
    assert contracts.missing(odd, contracts.KernelModel) == ("kernel",)


def test_a_stack_that_is_no_module_is_trained_as_it_is(data):
    class Stack:
        stacked = {"w": torch.ones(2, 1)}

        def call(self, stacked, x):
            return stacked["w"][:, None] * x.sum(-1, keepdim=True)

        __call__ = call

    stack = Stack()
    assert ps.System(data, stack, ps.inference.GradientDescent(steps=1)).network(3) is stack
