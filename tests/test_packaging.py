"""A built package carries the ledger and the runs behind it: from the checkout, and from a source archive of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TABLE = '{"format":1}\n'


def build(source: Path, kind: str, out: Path) -> Path:
    """Build ``source`` as pip would, with the setuptools at hand; gives the one file made."""
    out.mkdir()
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True, timeout=120)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """A wheel made from a checkout with a table of runs, and one made from the source archive of that checkout."""
    folder = tmp_path_factory.mktemp("packaging")
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "claims", checkout / "claims")
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (checkout / "claims" / "runs").mkdir(exist_ok=True)
    (checkout / "claims" / "runs" / "no-such-paper.jsonl").write_text(TABLE)
    with tarfile.open(build(checkout, "sdist", folder / "sdist")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return {
        "checkout": build(checkout, "wheel", folder / "from_checkout"),
        "archive": build(unpacked, "wheel", folder / "from_archive"),
    }


@pytest.mark.parametrize("origin", ["checkout", "archive"])
def test_a_wheel_has_the_ledger_and_the_runs(wheels, origin):
    with zipfile.ZipFile(wheels[origin]) as wheel:
        ledger = wheel.read("priorscope/lab/_claims/ledger.json")
        assert wheel.read("priorscope/lab/_claims/runs/no-such-paper.jsonl").decode() == TABLE
    assert ledger == (ROOT / "claims" / "ledger.json").read_bytes()


def test_an_installed_package_prints_its_ledger_far_from_the_repository(wheels, tmp_path):
    with zipfile.ZipFile(wheels["checkout"]) as wheel:
        wheel.extractall(tmp_path / "site")
    code = (
        "import json, sys; from priorscope.cli import main; from priorscope.lab import read_ledger, record_ledger\n"
        "try: main(['claims', '--json'])\n"
        "except SystemExit: pass\n"
        "print(json.dumps({line.id: line.verdict for line in read_ledger().values()}), file=sys.stderr)\n"
        "try: record_ledger([])\n"
        "except ValueError as error: print(error, file=sys.stderr)"
    )
    there = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=there, check=True, capture_output=True, text=True, timeout=120
    )
    shown = {row["id"] for row in json.loads(done.stdout)}
    ledger = {line["id"]: line["verdict"] for line in json.loads((ROOT / "claims" / "ledger.json").read_text())}
    assert shown == ledger.keys()
    said = [line for line in done.stderr.splitlines() if line.startswith("{")]
    assert [json.loads(line) for line in said] == [ledger]
    assert "not written over; name one of your own with --ledger" in done.stderr
