"""Commands: ``choose FOLDER [ROOM…]``, ``generate ROOM…``, ``settle ROOM…``, ``replay [ROOM…]``, ``accept ROOM…``, ``share``."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from recorder._calls import CALLS, RESULTS, Call, file_of, function_of, read_calls, read_results, write_rows
from recorder._compare import differences, steady
from recorder._defaults import moved_defaults, write_defaults
from recorder._replay import TooLong, replayed
from recorder._watch import rough

MOST = 8  # calls kept of one function
FEW = 2  # calls kept of one function that take no new line
SMALL, LARGE = 1_500, 16_000  # bytes of a call that adds a shape; of one that adds lines
SECONDS = 0.5  # processor time of a kept call
PATIENCE = 1.5  # processor time in which the calls of one function are tried
LOOSE = 1e-3  # two runs further apart than this share say nothing
OTHER = {  # the second run: two threads, other instructions, other order
    "OMP_NUM_THREADS": "2",
    "MKL_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
}


class Lines:
    """The lines of one function, and of those inside it, that a call takes."""

    def __init__(self, code: CodeType) -> None:
        self.codes, self.taken = {code}, set[int]()
        todo = [code]
        while todo:
            inner = [c for c in todo.pop().co_consts if isinstance(c, CodeType)]
            self.codes.update(inner)
            todo += inner

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code not in self.codes:
            return None
        self.taken.add(frame.f_lineno)
        return self


def in_child(work: Callable[[], Any], seconds: float = 300.0) -> Any:
    """The result of ``work`` in a process of its own; None where it dies."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            with os.fdopen(theirs, "w") as out:
                json.dump(work(), out)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def chosen(candidates: list[dict[str, Any]], before: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """Calls of one function that take lines which those ``before`` do not, the smallest first, and a few of other shapes."""
    if not candidates:
        return []
    kept, lines = [], set[int]()
    direct = any(row.get("direct") for row in candidates)
    try:
        raw = function_of(candidates[0]["function"])
    except (AttributeError, LookupError, ImportError):
        return []
    start = time.process_time()
    for row in before:
        watch = Lines(raw.code)
        sys.settrace(watch)
        with contextlib.suppress(Exception, TooLong):
            replayed(Call(row["function"], row["arguments"]), SECONDS, raw)
        sys.settrace(None)
        lines |= watch.taken
    for row in sorted(candidates, key=lambda row: len(json.dumps(row)))[:40]:
        size = len(json.dumps(row, ensure_ascii=False))
        if len(kept) >= MOST or (size > LARGE and kept) or time.process_time() - start > PATIENCE:
            break
        watch = Lines(raw.code)
        sys.settrace(watch)
        try:
            told, seconds = replayed(Call(row["function"], row["arguments"]), SECONDS, raw)
        except (Exception, TooLong):
            continue
        finally:
            sys.settrace(None)
        if broken(told) or not watch.taken:
            continue
        if watch.taken - lines or (len(kept) < FEW and size <= SMALL):
            lines |= watch.taken
            kept.append(
                {
                    "function": row["function"],
                    "direct": direct,
                    "seconds": float(f"{seconds:.1g}"),
                    "arguments": row["arguments"],
                }
            )
    return kept


def broken(told: dict[str, Any]) -> bool:
    """The call cannot be made: its arguments are those of another time."""
    raised = told.get("raises", {})
    other = any("argument" in str(words) and "()" in str(words) for words in [raised.get("TypeError", "")])
    return other or any(kind in ("AttributeError", "NameError") for kind in raised)


def choose(folder: Path, rooms: list[str]) -> None:
    """Keeps some of the watched calls, of the named rooms or all, with what they give in this run."""
    by_module: dict[str, dict[str, dict[int, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:  # cut off in the middle
                continue
            module = row["function"].partition(":")[0]
            if not belongs(module, rooms):
                continue
            same = by_module[module][row["function"]]
            key = zlib.crc32(json.dumps(rough(row["arguments"])).encode())
            if key not in same or len(line) < len(json.dumps(same[key])):
                same[key] = row
    bring_in(sorted(by_module))
    for module, functions in sorted(by_module.items()):
        found = in_child(lambda functions=functions: [chosen(list(rows.values())) for rows in functions.values()])
        rows = [row for rows in found or [] for row in rows]
        print(f"{module}: {len(rows)} calls of {len(functions)} functions" + ("" if found else ", DIED"), flush=True)
        write_rows(file_of(CALLS, module), rows)
        file_of(RESULTS, module).unlink(missing_ok=True)
    settle(sorted(by_module))
    write_defaults()


def generate(rooms: list[str]) -> None:
    """Adds calls made from the signatures of public functions, where they take lines that no kept call takes."""
    from recorder._generate import calls, public

    by_module: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for name, function in public(lambda module: belongs(module, rooms)):
        by_module[name.partition(":")[0]].append((name, function))
    for module, functions in sorted(by_module.items()):
        kept = [json.loads(line) for line in text_of(file_of(CALLS, module)).splitlines()]
        of = lambda name, kept=kept: [row for row in kept if row["function"] == name]  # noqa: E731
        found = in_child(lambda of=of, functions=functions: [chosen(list(calls(n, f)), of(n)) for n, f in functions])
        added = [row for rows in found or [] for row in rows]
        print(f"{module}: {len(added)} calls of {len(functions)} functions", flush=True)
        write_rows(file_of(CALLS, module), kept + added)
    settle(sorted(by_module))


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def bring_in(modules: list[str]) -> None:
    """Imports what is there of these modules, once for all processes that are made of this one."""
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def belongs(module: str, rooms: list[str]) -> bool:
    """Whether a module is in one of the named rooms, or none is named."""
    inside = module.removeprefix("priorscope.")
    return not rooms or any(inside == room or inside.startswith(room + ".") for room in rooms)


def files(rooms: list[str]) -> Iterator[tuple[str, Path]]:
    """The modules with kept calls, of the named rooms or all."""
    for file in sorted(CALLS.rglob("*.jsonl")):
        module = ".".join(["priorscope", *file.relative_to(CALLS).with_suffix("").parts]).removesuffix(".priorscope")
        if belongs(module, rooms):
            yield module, file


def results_of(rows: list[Call]) -> list[dict[str, Any]]:
    """What each call gives now; how it ends where it cannot be made."""
    given = []
    for call in rows:
        try:
            given.append(replayed(call)[0])
        except (AttributeError, LookupError, ImportError) as error:
            given.append({"gone": str(error)})
        except TooLong:
            given.append({"late": "more than 10 s"})
        except Exception:
            given.append({"gone": traceback.format_exc(limit=-1)[-200:]})
    return given


def there(function: str) -> bool:
    try:
        return bool(function_of(function))
    except (AttributeError, LookupError, ImportError):
        return False


def settle(modules: list[str]) -> None:
    """Writes what all calls of these modules give: by two runs, where they agree, and how far apart their numbers are."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in (("one", {}), ("two", OTHER)):
            out = Path(folder) / name
            command = [sys.executable, "-m", "recorder", "run", str(out), "back" if settings else "on", *modules]
            subprocess.run(command, env={**os.environ, **settings}, check=True)
            runs.append(json.loads(out.read_text()))
    for module in modules:
        rows, kept, results = (
            list(read_calls(file_of(CALLS, module))) if file_of(CALLS, module).exists() else [],
            [],
            [],
        )
        lines = file_of(CALLS, module).read_text().splitlines() if rows else []
        for line, call, first, second in zip(lines, rows, runs[0].get(module) or [], runs[1].get(module) or []):
            told, apart = steady(first, second, LOOSE)
            if (
                "gone" in first
                or broken(first)
                or "late" in first
                or "late" in second
                or (told == {} and first != {})
                or not isinstance(told, dict)
            ):
                continue
            kept.append(json.loads(line))
            results.append({"function": call.function.partition(":")[2], "within": tolerance(told, apart), **told})
        write_rows(file_of(CALLS, module), kept)
        write_rows(file_of(RESULTS, module), results)


def tolerance(told: dict[str, Any], apart: float) -> float:
    """Ten times what two runs are apart, as a power of ten, and no less than the digits that are kept can tell."""
    least = 1e-5 if "float32" in json.dumps(told) else 1e-9
    return next(t for t in (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2) if t >= max(least, 10 * apart) or t == 1e-2)


def run(out: Path, order: str, modules: list[str]) -> None:
    """All calls of these modules, each module in a process of its own; later modules first with ``back``."""
    step = -1 if order == "back" else 1
    given = {}
    bring_in(modules)
    for module in modules[::step]:
        file = file_of(CALLS, module)
        rows = list(read_calls(file))[::step] if file.exists() else []
        found = in_child(lambda rows=rows: results_of(rows))
        given[module] = found[::step] if found else None
    out.write_text(json.dumps(given))


def moved(rooms: list[str], budget: float = float("inf")) -> dict[str, list[str]]:
    """The lines that tell what moved, by function; in a ``budget`` of seconds the first call of each before others."""
    told = defaultdict(list)
    todo = []
    for module, file in files(rooms):
        rank: Counter[str] = Counter()
        for line, result in zip(file.read_text().splitlines(), read_results(file_of(RESULTS, module)), strict=True):
            row = json.loads(line)
            rank[row["function"]] += 1
            todo.append((rank[row["function"]] if budget < 1e9 else 0, row["seconds"], len(todo), row, result))
    spent = time.process_time()
    for _, _, _, row, result in sorted(todo, key=lambda t: t[:3]) if budget < 1e9 else todo:
        if time.process_time() - spent > budget:
            break
        call = Call(row["function"], row["arguments"])
        now = results_of([call])[0]
        if "gone" in now and budget < 1e9 and not there(call.function):
            continue  # renamed or taken away: `make replay` tells it, and accepting drops it
        was = {k: v for k, v in result.items() if k not in ("function", "within")}
        lines = differences(was, now, result["within"])
        if lines:
            told[call.function] += lines
    return dict(told)


def replay(rooms: list[str]) -> int:
    told = moved(rooms)
    if lines := moved_defaults():
        told["defaults"] = lines
    for function, lines in told.items():
        print(function, *lines[:6], sep="\n    ")
    print(f"{len(told)} functions give something else" if told else "nothing moved")
    if told:
        print("If it is meant: make accept ROOM=models.layers (or another), and look at the difference.")
    return bool(told)


def accept(rooms: list[str]) -> None:
    """Writes what calls give now where it moved; drops calls that cannot be made any more. Both are told."""
    for function, lines in (told := moved(rooms)).items():
        print(function, *lines[:6], sep="\n    ")
    settle(sorted({function.partition(":")[0] for function in told}))
    print(*moved_defaults(), sep="\n")
    write_defaults()


def share() -> None:
    """How many functions are kept, and how many of them no test calls itself."""
    functions = {c.function: c.direct for _, file in files([]) for c in read_calls(file)}
    calls = sum(1 for _, file in files([]) for _ in read_calls(file))
    size = sum(f.stat().st_size for folder in (CALLS, RESULTS) for f in folder.rglob("*.jsonl")) / 1e6
    alone = sum(not direct for direct in functions.values())
    print(
        f"{calls} calls of {len(functions)} functions, {size:.1f} MB; recorded only: {alone} ({alone / len(functions):.0%})"
    )


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "choose":
        choose(Path(rest[0]), rest[1:])
    elif command == "generate":
        generate(rest)
    elif command == "settle":
        settle([module for module, _ in files(rest)])
    elif command == "run":
        run(Path(rest[0]), rest[1], rest[2:])
    elif command == "replay":
        sys.exit(replay(rest))
    elif command == "accept":
        accept(rest)
    elif command == "share":
        share()
    else:
        sys.exit(__doc__)
