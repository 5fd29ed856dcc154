"""The performance page is made from the records of the benchmarks, and those have the form the page expects."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(folder: str, name: str):
    sys.path.insert(0, str(ROOT / folder))
    try:
        spec = importlib.util.spec_from_file_location(f"_{folder}_{name}", ROOT / folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / folder))


def test_every_record_has_the_form_of_the_page():
    columns = set(load("benchmarks", "_results").COLUMNS)
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert files
    for file in files:
        found = json.loads(file.read_text(encoding="utf-8"))
        assert set(found) - {"problems"} == {"name", "date", "machine", "versions", "rows"}, file.name
        assert found["name"] == file.stem
        assert (ROOT / "benchmarks" / f"{file.stem}.py").exists(), file.name
        assert all(set(row) == columns for row in found["rows"]), file.name


def test_the_page_shows_every_record():
    tool = load("tools", "performance")
    page = tool.with_tables((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    assert "<!-- benchmark" not in page
    for name, result in tool.results().items():
        assert f"benchmarks/{name}.py" in page
        assert all(str(row["case"]) in page for row in result["rows"])
    with pytest.raises(ValueError, match="no benchmarks/results/nothing.json"):
        tool.with_tables("<!-- benchmark: nothing -->")


def test_a_row_is_checked_and_its_ratio_computed(tmp_path):
    results = load("benchmarks", "_results")
    line = results.row("a case", 0.5, 2.0, "a peer")
    assert line["ratio"] == 4.0
    file = results.write(tmp_path / "x.json", "x", [line])
    assert json.loads(file.read_text())["rows"] == [line]
    with pytest.raises(ValueError, match="a row has the keys case, ours"):
        results.write(tmp_path / "y.json", "y", [{"case": "a"}])
