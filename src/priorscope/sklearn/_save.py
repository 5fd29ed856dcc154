"""Writing a kernel machine to a file, and reading it back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import FeatureKernel, KernelModel, is_kernel_model, require
from priorscope.data import Encoding
from priorscope.models import Architecture, Invariant, MappedInputs, MappedPatches
from priorscope.sklearn._features import LearntFeatures
from priorscope.sklearn._file import read_machine, write_machine
from priorscope.sklearn._flips import FlipAveraged
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._model_text import from_plain, to_plain
from priorscope.sklearn._names import model_named
from priorscope.sklearn._report import MachineReport, Rival
from priorscope.sklearn._rows import Rows

if TYPE_CHECKING:
    from priorscope.sklearn._kernel_machine import KernelMachine

__all__ = ["load", "save"]

_MAPS = {"inputs": MappedInputs, "patches": MappedPatches}
_SETTINGS = ("features", "task", "kind", "ridge", "head", "metric", "inputs", "whiten", "flips", "landmarks", "seed")
_ARRAYS = (
    "dual_coef_",
    "offset_",
    "classes_",
    "class_shares_",
    "target_mean_",
    "target_scale_",
    "residuals_",
    "blocks_",
    "feature_names_in_",
)
_PLAIN = ("kind_", "ridge_", "task_", "temperature_", "n_features_in_", "whole_", "target_name_", "_flat")
_INPUTS = ("median", "mean", "scale", "marks", "owners", "mark_mean", "mark_scale", "matrix")


def save(machine: KernelMachine, path: Path) -> Path:
    """Write the file, and hand back its path."""
    text: dict[str, Any] = {
        "settings": {name: getattr(machine, name) for name in _SETTINGS},
        "input_shape": None if machine.input_shape is None else [int(s) for s in machine.input_shape],
        "fitted": {name: getattr(machine, name) for name in _PLAIN if name in vars(machine)},
        "shape": list(machine.inputs_.shape),
        "form": machine.inputs_.form,
        "model": _model_text(machine),
        "report": asdict(machine.report_),
        "rows": None if machine.rows_ is None else _rows_text(machine.rows_),
    }
    arrays = {
        name.strip("_"): np.asarray(getattr(machine, name)) for name in _ARRAYS if vars(machine).get(name) is not None
    }
    arrays |= {f"inputs_{name}": getattr(machine.inputs_, name) for name in _INPUTS}
    arrays["X_fit"] = machine.X_fit_.numpy()
    if isinstance(machine.model_, MappedInputs | MappedPatches):
        arrays["map"] = machine.model_.matrix.numpy()
    if machine.features_ is not None:
        text["features"] = {**asdict(machine.features_), "moment": None}
        arrays["moment"] = machine.features_.moment
    if machine.rows_ is not None:
        arrays["rows_medians"] = machine.rows_.encoding.medians.numpy()
    write_machine(path, text, arrays)
    return path


def _model_text(machine: KernelMachine) -> dict[str, Any]:
    """The model by its name, by its layers, or, where it is the user's own, only what it is called; its map apart."""
    if isinstance(machine.model_, MappedInputs | MappedPatches):
        kind = next(name for name, made in _MAPS.items() if isinstance(machine.model_, made))
        inner = machine.model_.model if isinstance(machine.model_, MappedInputs) else machine.model_.arch
        try:
            return {"layers": to_plain(inner), "flips": False, "map": kind}
        except ValueError:
            return {"own": machine.report_.chosen.name.removesuffix(" + features"), "flips": False, "map": kind}
    flips = isinstance(machine.model_, FlipAveraged)
    model = machine.model_.model if isinstance(machine.model_, FlipAveraged) else machine.model_
    name = machine.report_.chosen.name.removesuffix(" over flips")
    if isinstance(machine.arch, str) and isinstance(model, Architecture | Invariant):
        return {"name": name, "flips": flips}
    try:
        return {"layers": to_plain(model), "flips": flips}
    except ValueError:
        return {"own": name, "flips": flips}


def _rows_text(rows: Rows) -> dict[str, Any]:
    code = rows.encoding
    frame = None if code.frame is None else {"names": code.frame.names, "words": code.frame.words}
    return {
        "shape": code.shape,
        "given": code.given,
        "layout": code.layout,
        "pixels": bool(code.pixels),
        "frame": frame,
    }


def _rows(text: dict[str, Any] | None, arrays: dict[str, NDArray[Any]]) -> Rows | None:
    """The encoding of frames or images that the machine was fitted on."""
    if text is None:
        return None
    medians = torch.from_numpy(arrays["rows_medians"])
    shape, given = (tuple(int(s) for s in text[name]) for name in ("shape", "given"))
    if tuple(medians.shape) != shape:
        raise ValueError(f"rows_medians has shape {tuple(medians.shape)}, not {shape}")
    frame = None
    if text["frame"] is not None:
        names = tuple(str(name) for name in text["frame"]["names"])
        words = tuple(None if w is None else tuple(str(word) for word in w) for w in text["frame"]["words"])
        if len(names) != len(words):
            raise ValueError(f"it has {len(names)} columns and words of {len(words)}")
        frame = Encoding.columns(names, words)
    return Rows(Encoding(shape, medians, given, text["layout"], bool(text["pixels"]), frame))


def _model(
    text: dict[str, Any],
    shape: tuple[int, ...],
    given: KernelModel | None,
    file: str,
    arrays: dict[str, NDArray[np.float64]],
) -> KernelModel:
    """The model of a file: by name, by its layers, or the one that was given."""
    if given is not None:
        model = given
    elif "own" in text:
        raise ValueError(f"{file} was fitted with a kernel of your own, {text['own']!r}: pass it, load(path, arch=…).")
    else:
        model = model_named(str(text["name"]), shape) if "name" in text else from_plain(text["layers"])
    if not is_kernel_model(model):
        raise ValueError("its model has no kernel")
    if "map" in text:
        mapped = require(model, FeatureKernel, "a model that takes a map", "Pass the kernel that was fitted.").mapped(
            torch.from_numpy(arrays["map"])
        )
        if not isinstance(mapped, _MAPS[text["map"]]):
            raise ValueError(f"its model has no map of {text['map']}")
        return mapped
    return FlipAveraged(model) if text["flips"] else model


def load(machine: KernelMachine, path: Path, arch: KernelModel | None) -> KernelMachine:
    """Fill a new machine from a file, every part of which must be there and fit the others."""
    text, arrays = read_machine(path)
    try:
        _fill(machine, text, arrays, arch, path.name)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(
            f"{path.name} is a damaged kernel machine: {error!r} is missing or of a wrong type."
        ) from error
    except ValueError as error:
        told = str(error) if path.name in str(error) else f"{path.name} is a damaged kernel machine: {error}"
        raise ValueError(told) from error
    return machine


def _fill(
    machine: KernelMachine, text: dict[str, Any], arrays: dict[str, NDArray[Any]], arch: KernelModel | None, file: str
) -> None:
    """Set every part of the machine from the texts and arrays of its file; whatever does not fit raises."""
    shape = tuple(int(s) for s in text["shape"])
    machine.model_ = _model(text["model"], shape, arch, file, arrays)
    machine.set_params(**{name: text["settings"][name] for name in _SETTINGS if name != "features"})
    machine.features = text["settings"].get("features")  # files of older versions have none
    learnt = text.get("features")
    machine.features_ = None if learnt is None else LearntFeatures(**{**learnt, "moment": arrays["moment"]})
    machine.input_shape = None if text["input_shape"] is None else tuple(int(s) for s in text["input_shape"])
    inner: KernelModel = machine.model_
    if isinstance(inner, FlipAveraged | MappedInputs):
        inner = inner.model
    elif isinstance(inner, MappedPatches):
        inner = inner.arch
    machine.arch = text["model"].get("name", inner)
    for name in _PLAIN:
        if name in text["fitted"]:
            setattr(machine, name, text["fitted"][name])
    for name in _ARRAYS:
        if name.strip("_") in arrays:
            setattr(machine, name, arrays[name.strip("_")])
    parts = {name: arrays[f"inputs_{name}"] for name in _INPUTS}
    machine.inputs_ = Inputs(shape=shape, form=str(text["form"]), **parts)
    machine.rows_ = _rows(text["rows"], arrays)
    report = text["report"]
    rivals = tuple(Rival(**r) for r in report["rivals"])
    machine.report_ = MachineReport(str(report["task"]), Rival(**report["chosen"]), rivals, tuple(report["notes"]))
    _check_shapes(machine, arrays)
    machine.X_fit_ = torch.from_numpy(np.ascontiguousarray(arrays["X_fit"]))
    machine._gaussian = None


def _check_shapes(machine: KernelMachine, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise where arrays do not fit each other."""
    n, outputs = arrays["dual_coef"].shape
    inputs = machine.inputs_
    features = int(np.prod(machine.rows_.shape)) if machine.rows_ is not None else int(machine.n_features_in_)
    marks = arrays["inputs_marks"].shape
    wanted = {"X_fit": (n, *inputs.shape), "offset": (outputs,)}
    wanted |= {f"inputs_{name}": (features,) for name in ("median", "mean", "scale")}
    wanted |= {f"inputs_{name}": marks for name in ("owners", "mark_mean", "mark_scale")}
    if machine.task_ == "classification":
        wanted["classes"] = (outputs,)
        if "class_shares" in arrays:  # files of older versions have none, and go by the largest output
            wanted["class_shares"] = (outputs,)
        float(machine.temperature_)
    else:
        wanted |= {"target_mean": (outputs,), "target_scale": (outputs,)}
        wanted["residuals"] = (len(arrays["residuals"]), outputs)
        if "blocks" in arrays:  # only where rows were left out together
            wanted["blocks"] = (len(arrays["residuals"]),)
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
    if len(marks) != 1 or (marks[0] and not 0 <= int(inputs.owners.min()) <= int(inputs.owners.max()) < features):
        raise ValueError("marks belong to features that it does not have")
    width = int(np.prod(inputs.shape))
    own = {"standard": features, "codes": features + marks[0], "steps": marks[0]}.get(inputs.form)
    if own != width or inputs.matrix.shape not in ((0, 0), (width, width)):
        raise ValueError(f"inputs of form {inputs.form!r} do not have {width} numbers")
