"""Machines saved and loaded; every damage to a file is told in one line."""

import json

import numpy as np
import pytest

import priorscope as ps
from priorscope.sklearn import KernelMachine


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    return X, np.where(X[:, 0] > 0, "up", "down"), X[:, 0] * 7 + 100


@pytest.mark.parametrize(
    "arch",
    [
        "auto",
        "laplace",
        "gaussian",
        "fcn-2-erf",
        ps.models.fcn(2, activation="gelu"),
        ps.models.fcn(1, bias_variance=0.3),
    ],
)
def test_a_loaded_machine_predicts_the_same(data, arch, tmp_path):
    X, words, numbers = data
    for y in (words, numbers):
        machine = KernelMachine(arch).fit(X, y)
        again = KernelMachine.load(machine.save(tmp_path / "m.npz"))
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))
        assert again.report_ == machine.report_
        assert again.score(X, y) == machine.score(X, y)
    again.fit(X, words)  # a loaded machine can be fitted again
    assert set(again.predict(X)) <= {"up", "down"}


def test_a_kernel_of_ones_own_is_asked_for(data, tmp_path):
    class Linear:
        def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
            K = x1 @ (x1 if x2 is None else x2).T
            return ps.models.Kernel(nngp=K, ntk=K)

    X, _, y = data
    machine = KernelMachine(Linear()).fit(X, y)
    file = machine.save(tmp_path / "m.npz")
    with pytest.raises(ValueError, match=r"m.npz was fitted with a kernel of your own, 'Linear': pass it"):
        KernelMachine.load(file)
    np.testing.assert_array_equal(KernelMachine.load(file, arch=Linear()).predict(X), machine.predict(X))


def changed(file, text=None, **arrays):
    """The file with some arrays replaced (None: left out) and its description edited."""
    with np.load(file) as archive:
        kept = dict(archive)
    said = json.loads(str(kept["description"]))
    if text is not None:
        text(said)
    kept |= arrays
    kept["description"] = np.array(json.dumps(said))
    np.savez(file, **{k: v for k, v in kept.items() if v is not None})


def test_damage_is_told_in_one_line(data, tmp_path):
    X, y, _ = data
    file = KernelMachine("fcn-1").fit(X, y).save(tmp_path / "m.npz")
    whole = file.read_bytes()

    def refused(words):
        with pytest.raises(ValueError, match=words) as caught:
            KernelMachine.load(file)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith("m.npz")
        file.write_bytes(whole)

    file.write_bytes(whole[: len(whole) // 2])
    refused("cannot be read as a saved kernel machine")
    file.write_text("hello")
    refused("not a saved kernel machine")
    np.savez(file, x=np.eye(2))
    refused("it has no description")
    np.savez(file, description=np.array("{"))
    refused("its description is no JSON")
    np.savez(file, description=np.array(["a", {}], dtype=object))
    refused("not a saved kernel machine")
    changed(file, lambda t: t.update(version=99))
    refused("layout 99")
    changed(file, lambda t: t.update(format="other"))
    refused("is not a saved kernel machine")
    changed(file, lambda t: t["model"].update(name="fcn-many"))
    refused("no architecture 'fcn-many'")
    changed(file, lambda t: t.update(model={"layers": {"is": "system", "settings": {}}}))
    refused("no layer or nonlinearity 'system'")
    changed(file, lambda t: t.pop("shape"))
    refused("'shape'")
    changed(file, dual_coef=None)
    refused("dual_coef")
    changed(file, dual_coef=np.full((30, 2), np.nan))
    refused("dual_coef holds NaN")
    changed(file, dual_coef=np.zeros((29, 2)))
    refused(r"X_fit has shape \(30, 4\), not \(29, 4\)")
    changed(file, classes=np.array(["a", "b", "c"]))
    refused(r"classes has shape \(3,\), not \(2,\)")
    assert KernelMachine.load(file).classes_.tolist() == ["down", "up"]  # the control: whole again
