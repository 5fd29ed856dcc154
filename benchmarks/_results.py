"""The file a benchmark leaves: one JSON of rows that the performance page of the documentation shows.

Every benchmark takes ``--json PATH`` and calls ``write`` with its rows; the committed ones lie in
``benchmarks/results/<name>.json``, and ``make docs`` makes the page from them. A row compares one case with one peer::

    {"case": "GAP, depth 3", "ours": 0.092, "peer": 8.65, "peer_name": "neural-tangents 0.6.5", "ratio": 94.3,
     "unit": "s", "note": ""}

``ratio`` says how many times better priorscope is (peer / ours where less is better). Without a peer, ``peer``, ``peer_name`` and
``ratio`` are None and ``note`` says what the number means.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["row", "shown", "write"]

COLUMNS = ("case", "ours", "peer", "peer_name", "ratio", "unit", "note")


def row(
    case: str,
    ours: float,
    peer: float | None = None,
    peer_name: str | None = None,
    *,
    ratio: float | None = None,
    unit: str = "s",
    note: str = "",
) -> dict[str, Any]:
    """One line of the page; the ratio is peer / ours unless another is given."""
    if ratio is None and peer is not None:
        ratio = peer / ours
    values = (case, _short(ours), _short(peer), peer_name, _short(ratio), unit, note)
    return dict(zip(COLUMNS, values, strict=True))


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{float(value):.3g}")


def write(
    path: str | os.PathLike[str],
    name: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    versions: Mapping[str, str] | None = None,
    problems: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write the rows with the day, the number of cores and the versions in play; ``versions`` adds those of peers.

    ``problems`` holds what was measured of each problem by name, where the rows are a summary of many.
    """
    for line in rows:
        if set(line) != set(COLUMNS):
            raise ValueError(f"a row has the keys {', '.join(COLUMNS)}; got {', '.join(line)}. Make it with row().")
    own = {package: metadata.version(package) for package in ("priorscope", "torch", "numpy", "numba")}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    result = {
        "name": name,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{cores} CPU cores",
        "versions": {"python": platform.python_version(), **own, **(versions or {})},
        "rows": [dict(line) for line in rows],
    }
    if problems is not None:
        result["problems"] = {name: dict(found) for name, found in problems.items()}
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def shown(rows: list[dict[str, object]], path: Path | None, name: str) -> None:
    """Print the rows, and write them where there is a path."""
    for line in rows:
        beside = "" if line["peer"] is None else f", {line['peer_name']} {line['peer']:.3g} s, {line['ratio']:.3g}×"
        print(f"{line['case']}: {line['ours']:.3g} s{beside}; {line['note']}")
    if path:
        peers = {str(line["peer_name"]).split(" ")[0] for line in rows}
        write(path, name, rows, versions={"xrfm": "0.4.5"} if "xrfm" in peers else None)
