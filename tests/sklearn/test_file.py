"""Machines saved and loaded; every damage to a file is told in one line."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

import priorscope as ps
from priorscope.sklearn import KernelMachine
from priorscope.sklearn._flips import FlipAveraged
from priorscope.sklearn._model_text import from_plain, to_plain


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


def test_frames_with_words_and_classes_of_any_kind(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=40), "kind": rng.choice(["u", "v", "w"], 40), "b": rng.normal(size=40)})
    y = np.where(frame["kind"] == "v", "yes", "no").astype(object)
    machine = KernelMachine("fcn-1", inputs="codes").fit(frame, y)
    file = machine.save(tmp_path / "m.npz")
    again = KernelMachine.load(file)
    np.testing.assert_array_equal(again.predict_proba(frame), machine.predict_proba(frame))
    assert again.column_names_ == ("a", "kind=u", "kind=v", "kind=w", "b")
    assert again.rows_.words == ("kind",)
    assert again.classes_.tolist() == ["no", "yes"]
    whole = file.read_bytes()
    for text, arrays, words in (
        (lambda t: t["rows"]["frame"]["words"].pop(), {}, "3 columns and words of 2"),
        (lambda t: None, {"rows_medians": np.zeros(3)}, "rows_medians has shape"),
    ):
        changed(file, text, **arrays)
        with pytest.raises(ValueError, match=words):
            KernelMachine.load(file)
        file.write_bytes(whole)
    mixed = np.array(["yes", "no"] * 20, dtype=object)
    mixed[0] = True
    machine.classes_ = np.array(["no", True], dtype=object)
    with pytest.raises(ValueError, match="classes_? holds Python objects"):
        machine.save(tmp_path / "n.npz")


def test_flips_and_whitening_go_into_the_file(tmp_path):
    rng = np.random.default_rng(5)
    bars, y = np.zeros((50, 1, 6, 6)), rng.integers(0, 2, 50)
    bars[np.arange(50), 0, 1 + 3 * y, rng.integers(0, 6, 50)] = 1
    images = bars + 0.3 * rng.normal(size=(50, 1, 6, 6))
    for arch in ("vec-1", ps.models.vec(1, bias_variance=0.1)):
        machine = KernelMachine(arch).fit(images, y)
        assert isinstance(machine.model_, FlipAveraged)
        file = machine.save(tmp_path / "m.npz")
        again = KernelMachine.load(file)
        assert isinstance(again.model_, FlipAveraged)
        np.testing.assert_array_equal(again.decision_function(images), machine.decision_function(images))
        np.testing.assert_array_equal(
            again.decision_function(images[..., ::-1]), machine.decision_function(images[..., ::-1])
        )
        assert again.arch == arch
    white = KernelMachine("fcn-1", flips=False).fit(images, images.reshape(50, -1)[:, 0])
    file = white.save(tmp_path / "w.npz")
    np.testing.assert_array_equal(KernelMachine.load(file).predict(images), white.predict(images))
    changed(file, inputs_matrix=np.eye(5))
    with pytest.raises(ValueError, match="do not have 36 numbers"):
        KernelMachine.load(file)


def test_marks_that_do_not_fit_are_refused(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 4, size=(40, 2)).astype(float)
    machine = KernelMachine("fcn-1", inputs="codes").fit(X, X[:, 0] == 2)
    file = machine.save(tmp_path / "m.npz")
    whole = file.read_bytes()
    np.testing.assert_array_equal(KernelMachine.load(file).predict(X), machine.predict(X))
    owners = machine.inputs_.owners
    marks = {
        f"inputs_{name}": getattr(machine.inputs_, name) for name in ("marks", "owners", "mark_mean", "mark_scale")
    }
    for text, arrays, words in (
        (None, {"inputs_owners": owners + 1}, "features that it does not have"),
        (None, {"inputs_owners": owners - 1}, "features that it does not have"),
        (None, {name: value[:, None] for name, value in marks.items()}, "features that it does not have"),
        (None, {name: value[:-1] for name, value in marks.items()}, "do not have 10 numbers"),
        (lambda t: t.update(form="steps"), {}, "inputs of form 'steps' do not have 10 numbers"),
        (lambda t: t.update(form="ranks"), {}, "inputs of form 'ranks' do not have 10 numbers"),
        (lambda t: t.update(model={"layers": [], "flips": False}), {}, "its model has no kernel"),
    ):
        changed(file, text, **arrays)
        with pytest.raises(ValueError, match=words):
            KernelMachine.load(file)
        file.write_bytes(whole)
    np.savez(file, description=np.array("[]"))
    with pytest.raises(ValueError, match="m.npz is not a saved kernel machine"):
        KernelMachine.load(file)
    with pytest.raises(FileNotFoundError, match="no file .*nowhere.npz; a kernel machine is saved by"):
        KernelMachine.load(tmp_path / "nowhere.npz")


def test_only_layers_of_this_library_are_built_from_text():
    for part in (None, True, 3, 0.5, float("inf"), "relu", (1, (2.0, None))):
        assert from_plain(json.loads(json.dumps(to_plain(part), allow_nan=False))) == part
    for model in (ps.models.gap(2), ps.models.laplace(2.0), ps.models.Invariant(ps.models.fcn(1), "sign")):
        assert from_plain(json.loads(json.dumps(to_plain(model)))) == model
    for name in ("fcn", "Ensemble", "UserNetwork", "os", 3, None, ["Dense"]):
        with pytest.raises(ValueError, match="no layer or nonlinearity"):
            from_plain({"is": name, "settings": {}})
    with pytest.raises(ValueError, match="no layer or nonlinearity 'Dense'"):
        from_plain({"is": "Dense"})
    with pytest.raises(ValueError, match="is not a layer or nonlinearity of this library"):
        to_plain(object())


def test_a_map_wants_a_model_that_takes_it(data, tmp_path):
    X, _, y = data
    machine = KernelMachine("laplace", features="learn").fit(X, np.sin(3 * y))
    if not machine.features_.kept:
        machine.model_ = machine.model_.mapped(torch.eye(4, dtype=torch.float64))
    file = machine.save(tmp_path / "m.npz")
    changed(file, lambda t: t["model"].update(map="patches"))
    with pytest.raises(ValueError, match="its model has no map of patches"):
        KernelMachine.load(file)
