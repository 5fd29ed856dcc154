"""Large tables of numbers, read the fast way, against the same tables read cell by cell."""

import io

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.data import load
from priorscope.data.formats import _csv
from priorscope.data.formats._plain_table import read_plain_table

G = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"a": G.normal(size=300), "b": G.integers(-9, 9, 300), "c": G.normal(size=300) * 1e-12, "y": np.arange(300) % 4}
)


def written(frame=FRAME, **options):
    out = io.StringIO()
    frame.to_csv(out, **{"index": False, **options})
    return out.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        written(),
        written(sep=";"),
        written(sep="\t", header=False),
        written(index=True),
        written(lineterminator="\r\n"),
        written(FRAME.assign(b=FRAME.b.where(FRAME.b > 0))),  # gaps
        written(FRAME.assign(y=FRAME.y.astype(float))),
        written(FRAME.assign(y=FRAME.a)),
        written(FRAME.set_axis(["a", "a", "", "y"], axis=1)),
        written(pd.concat([FRAME, FRAME[:7]])),
        written(FRAME.assign(b=3)),
        written() + "\n\n",
    ],
)
@pytest.mark.parametrize("target", [None, 0])
def test_both_ways_give_the_same(tmp_path, monkeypatch, text, target):
    file = tmp_path / "t.csv"
    file.write_text(text, newline="")
    slow = load(file, target=target, dtype=torch.float64)
    monkeypatch.setattr(_csv, "LARGE", 0)
    assert read_plain_table(text, "t.csv", None, target) is not None
    fast = load(file, target=target, dtype=torch.float64)
    assert torch.equal(slow.inputs, fast.inputs)
    assert torch.equal(slow.targets, fast.targets)
    assert (slow.notes, slow.classes, slow.task) == (fast.notes, fast.classes, fast.task)


@pytest.mark.parametrize(
    "text",
    [
        written(FRAME.assign(b="x")),
        written(FRAME.assign(b="007")),
        written(FRAME.assign(b=2**60)),
        written(quoting=1),
        written(decimal=",", sep=";"),
        written().replace("\n", ",\n", 1),
        written() + "1,2\n",
        written() + "1,2,3,4,5\n",
        written() + ",,,\n",
        written() + "1,2,-,4\n",
        "a,b\n",
    ],
)
def test_what_is_not_plain_is_left_to_the_slow_way(text):
    assert read_plain_table(text, "t.csv", None, None) is None
