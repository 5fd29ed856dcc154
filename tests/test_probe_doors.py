"""Silly arguments of every public probe end in one clear line: generated from the signatures, over all of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest
import torch
from scipy.sparse.linalg import aslinearoperator
from torch import nn

import priorscope as ps
from priorscope import probes

ROWS = torch.randn(24, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SIGNS = ROWS[:, :1].sign()
GRAM = (-torch.cdist(ROWS, ROWS)).exp()
CLEAR = re.compile(
    r"needs?|takes|wanted|must|is not|has no|cannot|unknown|got |pass |leave |neither |there (is|are) ", re.IGNORECASE
)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).double()


def system() -> ps.System:
    return ps.System(data(), ps.models.fcn(1), ps.inference.KernelRegression())


def data() -> ps.data.Dataset:
    return ps.data.from_arrays(ROWS.numpy(), SIGNS[:, 0].numpy(), classes="real", test_fraction=0.25)


def trained() -> object:
    return ps.inference.GradientDescent(steps=2).fit(network(), data(), 0)


def identity(x: torch.Tensor) -> torch.Tensor:
    return x


STAND_INS: dict[str, Callable[[], object]] = {
    "Tensor": lambda: ROWS,
    "ArrayLike": lambda: GRAM.numpy(),
    "Array": lambda: GRAM.numpy(),
    "np.ndarray": lambda: GRAM.numpy(),
    "nn.Module": network,
    "Drawn": network,
    "Subject": network,
    "Samples": data,
    "Dataset": data,
    "Data": data,
    "LabelledData": data,
    "System": system,
    "Triple": system,
    "KernelModel": lambda: ps.models.fcn(1),
    "RadialKernel": lambda: ps.models.laplace(),
    "Architecture": lambda: ps.models.fcn(1),
    "Callable": lambda: identity,
    "Scalar": lambda: identity,
    "LogSpectrum": lambda: identity,
    "Trained": system,
    "Gram": lambda: GRAM.numpy(),
    "Mapping": lambda: {"one": GRAM.numpy()},
    "Sequence": lambda: (5, 10, 20),
    "tuple": lambda: (3,),
    "int": lambda: 3,
    "float": lambda: 0.5,
    "DecayingKernel": lambda: ps.models.laplace(),
    "str": lambda: "sphere",
    "object": data,
    "Any": lambda: [1.0, 0.5, 0.2],
    "Loss": ps.inference.Squared,
    "FittedNetworks": trained,
    "LinearOperator": lambda: aslinearoperator(GRAM.numpy()),
    "Group": lambda: ps.data.groups.permutation((3,)),
    "SphereSpectrum": lambda: probes.sphere_spectrum(ps.models.fcn(1), 3, 1, order=1, terms=16),
    "Potential": lambda: probes.diagonal_potential(1.0),
    "NDArray": lambda: GRAM.numpy(),
}
"""One value for each annotation, right by its kind; a door looks at all arguments before anything is computed."""

NUMBERS = {"Tensor", "ArrayLike", "Array", "np.ndarray", "NDArray", "None"}


HOLED = {("completion_scale", "matrix")}  # NaN marks what is missing


def names_of(parameter: inspect.Parameter) -> list[str]:
    text = re.sub(r"\[.*\]", "", str(parameter.annotation))
    return [part.strip() for part in text.split("|")]


def probes_of_the_house() -> list[str]:
    return [name for name in probes.__all__ if inspect.isfunction(getattr(probes, name))]


def cases() -> list[tuple[str, str, str]]:
    found = []
    for name in probes_of_the_house():
        for parameter in inspect.signature(getattr(probes, name)).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            kinds = set(names_of(parameter))
            tried = [] if parameter.default is None or "None" in kinds else ["None"]
            tried += [] if kinds & {"str", "object", "Any"} else ["text"]
            tried += [] if kinds & {"object", "Any", "Sequence", "Iterable", "Drawn", "Subject"} else ["objects"]
            tried += ["complex", "nan", "meta"] if kinds <= NUMBERS else []
            if kinds & {"ArrayLike"} and "meta" in tried:
                tried.remove("meta")
            if (name, parameter.name) in HOLED:
                tried.remove("nan")
            found += [(name, parameter.name, what) for what in tried]
    return found


def silly(what: str, parameter: inspect.Parameter) -> object:
    tensor = "Tensor" in names_of(parameter)
    if what == "complex":
        return ROWS * 1j if tensor else ROWS.numpy() * 1j
    if what == "nan":
        holed = ROWS.clone()
        holed[1, 1] = torch.nan
        return holed if tensor else holed.numpy()
    if what == "meta":
        return torch.empty(24, 3, device="meta")
    return {"None": None, "text": "no such thing", "objects": [object(), "a"]}[what]


@pytest.mark.parametrize(("name", "argument", "what"), cases(), ids=lambda part: part)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.limit(60)
def test_a_silly_argument_ends_in_one_clear_line(name, argument, what):
    probe = getattr(probes, name)
    given, placed = {}, []
    for parameter in inspect.signature(probe).parameters.values():
        if parameter.name == argument:
            given[argument] = silly(what, parameter)
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            given[parameter.name] = STAND_INS[names_of(parameter)[0]]()
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in given:
            placed.append(given.pop(parameter.name))
    with pytest.raises((TypeError, ValueError, FileNotFoundError), match=CLEAR) as said:
        probe(*placed, **given)
    assert "\n" not in str(said.value)
    where = [entry.path for entry in said.traceback]
    assert "priorscope" in str(where[-1]), f"raised by {where[-1]}, not by the library"
