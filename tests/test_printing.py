"""Results print names and numbers, not arrays."""

import dataclasses
import importlib
import pkgutil

import numpy as np
import pandas as pd
import pytest
import torch

import priorscope as ps
from priorscope.printing import printed, short

ROOMS = ("data", "inference", "memory", "models", "probes", "profiles", "sklearn")
ARRAYS = ("NDArray", "Tensor", "DataFrame")
NOT_RESULTS = {  # parts of a machine that nobody prints, and those that print themselves
    "Activation", "Call", "Column", "Covariance", "DenseLayer", "Explicit", "GradientDescent", "Local", "Modes", "Product",
    "Quadrature", "Table", "Composed", "Family",
}  # fmt: skip


def results():
    """Every public dataclass of the rooms with a field of arrays that it would print."""
    for room in ROOMS:
        package = importlib.import_module(f"priorscope.{room}")
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if "fused" in info.name:
                continue
            module = importlib.import_module(info.name)
            for name, cls in vars(module).items():
                own = isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__module__ == info.name
                if not own or name.startswith("_") or name in NOT_RESULTS:
                    continue
                if any(f.repr and any(word in str(f.type) for word in ARRAYS) for f in dataclasses.fields(cls)):
                    yield cls


def test_no_result_prints_its_arrays():
    seen = list(results())
    assert len(seen) > 40
    plain = [cls.__qualname__ for cls in seen if cls.__repr__.__qualname__.startswith("__create_fn__")]
    assert not plain, f"put @printed above @dataclass of {plain}"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.arange(3), "[0, 1, 2]"),
        (torch.tensor([0.25]), "[0.25]"),
        (np.array([1.0, np.nan] * 4), "<8, 1 to 1, 4 not finite>"),
        (np.full((2, 2), np.inf), "<2×2, 4 not finite>"),
        (np.zeros((0, 3)), "<0×3>"),
        (np.array(["a"] * 9), "<9>"),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), "<table, 2 rows: a, b>"),
        ("plain", "'plain'"),
    ],
)
def test_short(value, words):
    assert short(value) == words


def test_a_sentence_is_what_print_shows():
    @printed
    @dataclasses.dataclass
    class Found:
        values: np.ndarray

        @property
        def sentence(self):
            return f"the mean is {self.values.mean():g}"

    found = Found(np.arange(9.0))
    assert str(found) == "the mean is 4"
    assert repr(found).endswith("Found(values=<9, 0 to 8>)")


def test_stability_of_a_network_prints_its_sentence():
    x = torch.rand(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    found = ps.probes.stability(ps.models.fcn(depth=1), x, "shift", width=8)
    assert str(found) == found.sentence
    assert "array(" not in repr(found)


def test_keywords_that_nothing_reads_are_refused():
    x = torch.rand(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    net = ps.models.fcn(depth=1).network((1, 6, 6), width=8)
    with pytest.raises(TypeError, match="no argument 'moves' here"):
        ps.probes.stability(net, x, moves="turn")
    data = ps.data.from_arrays(x, x.flatten(1)[:, 0], test_fraction=0.0)
    with pytest.raises(TypeError, match="no argument 'rigde' here"):
        ps.probes.learning_curve(data, lambda a, b: a.flatten(1) @ b.flatten(1).T, rigde=1.0)
    with pytest.raises(TypeError, match="no argument 'tol' here"):
        ps.testing.assert_invariant(net, ps.data.groups.translations((1, 6, 6)), inputs=x, tol=1)
