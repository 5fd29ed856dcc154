"""What of a kernel machine goes into its file, and how it comes back."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.contracts import KernelModel, is_kernel_model
from priorscope.sklearn._file import read_machine, write_machine
from priorscope.sklearn._inputs import Inputs
from priorscope.sklearn._model_text import from_plain, to_plain
from priorscope.sklearn._names import architecture
from priorscope.sklearn._report import MachineReport, Rival

if TYPE_CHECKING:
    from priorscope.sklearn._kernel_machine import KernelMachine

__all__ = ["load", "save"]

_SETTINGS = ("task", "kind", "ridge", "metric", "standardise", "seed")
_ARRAYS = ("X_fit_", "dual_coef_", "offset_", "classes_", "target_mean_", "target_scale_", "feature_names_in_")
_NUMBERS = ("kind_", "ridge_", "task_", "temperature_", "n_features_in_", "_flat")


def save(machine: KernelMachine, path: Path) -> Path:
    """Write the file, and hand back its path."""
    text: dict[str, Any] = {
        "settings": {name: getattr(machine, name) for name in _SETTINGS},
        "fitted": {name: getattr(machine, name) for name in _NUMBERS if hasattr(machine, name)},
        "shape": list(machine.inputs_.shape),
        "model": _model_text(machine),
        "report": {**asdict(machine.report_)},
    }
    arrays = {name.strip("_"): np.asarray(getattr(machine, name)) for name in _ARRAYS if hasattr(machine, name)}
    arrays |= {f"inputs_{name}": getattr(machine.inputs_, name) for name in ("median", "mean", "scale")}
    write_machine(path, text, arrays)
    return path


def _model_text(machine: KernelMachine) -> dict[str, Any]:
    if isinstance(machine.arch, str):
        return {"name": machine.report_.chosen.name}
    try:
        return {"layers": to_plain(machine.model_)}
    except ValueError:
        return {"own": machine.report_.chosen.name}


def _model(text: dict[str, Any], shape: tuple[int, ...], given: KernelModel | None, file: str) -> KernelModel:
    """The model of a file: by name, by its layers, or the one that was given."""
    if given is not None:
        return given
    if "own" in text:
        raise ValueError(f"{file} was fitted with a kernel of your own, {text['own']!r}: pass it, load(path, arch=…).")
    model = architecture(str(text["name"]), shape) if "name" in text else from_plain(text["layers"])
    if not is_kernel_model(model):
        raise ValueError(f"{file} is a damaged kernel machine: its model has no kernel.")
    return model


def load(machine: KernelMachine, path: Path, arch: KernelModel | None) -> KernelMachine:
    """Fill a new machine from a file, every part of which must be there and fit the others."""
    text, arrays = read_machine(path)
    try:
        shape = tuple(int(s) for s in text["shape"])
        model = _model(text["model"], shape, arch, path.name)
        machine.set_params(**{name: text["settings"][name] for name in _SETTINGS})
        machine.arch = text["model"].get("name", model)
        for name in _NUMBERS:
            if name in text["fitted"]:
                setattr(machine, name, text["fitted"][name])
        for name in _ARRAYS:
            if name.strip("_") in arrays:
                setattr(machine, name, arrays[name.strip("_")])
        inputs = Inputs(arrays["inputs_median"], arrays["inputs_mean"], arrays["inputs_scale"], shape)
        report = text["report"]
        rivals = tuple(Rival(**r) for r in report["rivals"])
        machine.report_ = MachineReport(report["task"], Rival(**report["chosen"]), rivals, tuple(report["notes"]))
        _check_shapes(machine, inputs, arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(
            f"{path.name} is a damaged kernel machine: {error!r} is missing or of a wrong type."
        ) from error
    except ValueError as error:
        told = str(error) if path.name in str(error) else f"{path.name} is a damaged kernel machine: {error}"
        raise ValueError(told) from error
    machine.model_, machine.inputs_ = model, inputs
    machine.X_fit_ = torch.from_numpy(np.ascontiguousarray(arrays["X_fit"]))
    return machine


def _check_shapes(machine: KernelMachine, inputs: Inputs, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise where arrays do not fit each other."""
    n, outputs = arrays["dual_coef"].shape
    features = int(machine.n_features_in_)
    wanted = {"X_fit": (n, *inputs.shape), "offset": (outputs,)}
    wanted |= {f"inputs_{f.name}": (features,) for f in fields(inputs) if f.name != "shape"}
    if machine.task_ == "classification":
        wanted["classes"] = (outputs,)
        float(machine.temperature_)
    else:
        wanted |= {"target_mean": (outputs,), "target_scale": (outputs,)}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
