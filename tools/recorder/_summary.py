"""What a call gave, in a few lines that say more than one number per array: moments, projections, extremes, order."""

from __future__ import annotations

import enum
import itertools
import re
import types
import zlib
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import torch

from recorder._text import LIBRARIES, state_of

NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE)
WHOLE = 6  # numbers of an array that are kept one by one
PARTS = 48  # parts of a structure that are kept one by one; larger ones are folded
CLOCK = re.compile(r"second|began|elapsed|clock|deadline")  # never the same twice
LONG = 300  # letters of a text that are kept


def summary(x: Any, room: Path | None = None) -> Any:
    """A structure of words and numbers that stands for ``x``; names of files in ``room`` are left out."""
    plain = Plain(str(room) if room else "\0")(x, 0)
    return folded(plain) if parts(plain) > PARTS else plain


def parts(x: Any) -> int:
    if isinstance(x, dict):
        return 1 + sum(map(parts, x.values()))
    return 1 + sum(map(parts, x)) if isinstance(x, list) else 1


def folded(x: Any) -> dict[str, Any]:
    """A large structure: its words by a check sum, its numbers like one array."""
    words: list[str] = []
    numbers: list[float] = []

    def take(part: Any) -> None:
        if isinstance(part, dict):
            for k, v in part.items():
                words.append(k)
                take(v)
        elif isinstance(part, list):
            words.append(str(len(part)))
            for v in part:
                take(v)
        elif isinstance(part, float):
            numbers.append(part)
        else:
            words.append(str(part))

    take(x)
    check = zlib.crc32("\n".join(words).encode())
    return {"folded": {"words": f"{check:08x}", "n": len(words), "numbers": of_array(np.array(numbers))}}


def of_array(x: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Type, shape, and the numbers; of more than six: mean, spread, extremes and their places, two random projections."""
    kind = f"{x.dtype}{list(x.shape)}"
    flat = x.flatten()
    if x.dtype.kind in "OUS":
        return {kind: f"{zlib.crc32(repr(flat.tolist()).encode()):08x}"}
    if x.dtype.kind not in "fiubc":
        return {kind: str(flat[:WHOLE])}
    if x.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).flatten()
    digits = 6 if x.dtype.itemsize < 8 and x.dtype.kind in "fc" else 12
    if flat.size <= WHOLE:
        return {kind: [number(v, digits) if flat.dtype.kind == "f" else int(v) for v in flat]}
    values = flat.astype(np.float64)
    gaps = ~np.isfinite(values)
    held = np.where(gaps, 0.0, values)
    weights = np.random.Generator(np.random.PCG64(0)).standard_normal((2, flat.size)) / flat.size**0.5
    told = [held.mean(), held.std(), held.min(), held.max(), *(weights @ held)]
    given: dict[str, Any] = {kind: [number(v, digits) for v in told], "at": [int(held.argmin()), int(held.argmax())]}
    if gaps.any():
        given["gaps"] = f"{zlib.crc32(gaps.tobytes()):08x}"
    return given


def number(v: Any, digits: int = 12) -> float:
    """A number to so many digits."""
    return float(f"{float(v):.{digits}g}")


class Plain:
    """Turns objects into words, numbers, lists and tables."""

    def __init__(self, room: str) -> None:
        self.room = room
        self.open: set[int] = set()

    def __call__(self, x: Any, depth: int) -> Any:
        if x is None or isinstance(x, bool) or (isinstance(x, int) and type(x) is int):
            return x
        if isinstance(x, float | np.floating):
            return number(x, 6 if isinstance(x, np.float32 | np.float16) else 12)
        if isinstance(x, enum.Enum):
            return f"{type(x).__name__}.{x.name}"
        if isinstance(x, str):
            return self.text(x)
        if isinstance(x, bytes):
            return f"bytes {zlib.crc32(x):08x}"
        if isinstance(x, complex):
            return [number(x.real), number(x.imag)]
        if isinstance(x, np.generic):
            return self(x.item(), depth)
        if isinstance(x, type | types.FunctionType | types.BuiltinFunctionType | types.MethodType):
            return f"<{getattr(x, '__qualname__', '')}>"
        if depth > 9 or id(x) in self.open:
            return "…"
        self.open.add(id(x))
        try:
            return self.structure(x, depth + 1)
        finally:
            self.open.discard(id(x))

    def text(self, x: str) -> Any:
        x = re.sub(r"0x[0-9a-f]{6,}", "0x…", x.replace(self.room, "…"))
        x = re.sub(r"/tmp/[\w./-]*", "…", x)
        if len(x) <= LONG:
            return x
        numbers = [float(n.replace("−", "-").replace(",", "")) for n in NUMBER.findall(x) if n.count(".") < 2]
        check = zlib.crc32(NUMBER.sub("#", x).encode())
        return {"text": x[: LONG // 2], "letters": f"{check:08x}", "numbers": of_array(np.array(numbers))}

    def structure(self, x: Any, depth: int) -> Any:
        if isinstance(x, torch.Tensor):
            return self.tensor(x, depth)
        if isinstance(x, np.ndarray):
            return of_array(x)
        if isinstance(x, pd.DataFrame):
            return {"frame": {str(k): self(x[k].to_numpy(), depth) if x.columns.is_unique else "…" for k in x.columns}}
        if isinstance(x, pd.Series | pd.Index):
            return {"series": self(x.to_numpy(), depth)}
        if isinstance(x, Path):
            return {"path": self.files(x)}
        if isinstance(x, alt.TopLevelMixin):
            return {"chart": self(x.to_dict(), depth)}
        if isinstance(x, torch.dtype | torch.device | torch.Generator | slice | range):
            return "generator" if isinstance(x, torch.Generator) else str(x)
        if isinstance(x, Mapping):
            return self.named(
                {self.text(str(k)) if len(str(k)) < LONG else str(k)[:LONG]: v for k, v in x.items()}, depth
            )
        if isinstance(x, Set):
            return {"set": [self(v, depth) for v in sorted(x, key=repr)]}
        if isinstance(x, BaseException):
            return {type(x).__name__: self.text(str(x))}
        if isinstance(x, list | tuple):
            return {"tuple": [self(v, depth) for v in x]} if isinstance(x, tuple) else [self(v, depth) for v in x]
        if isinstance(x, Iterator):
            return {"yields": [self(v, depth) for v in itertools.islice(x, 12)]}
        kind = type(x)
        if kind.__module__.split(".")[0] not in LIBRARIES:
            return f"<{kind.__name__}>"
        try:
            state = state_of(x)
        except Exception:
            return f"<{kind.__name__}>"
        if isinstance(x, torch.nn.Module):
            state = {k: v for k, v in state.items() if isinstance(v, bool | dict) is False or (v and k != "training")}
        return {kind.__name__: self.named(state, depth)}

    def named(self, parts: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        """Each part under its name; what a clock says is left out."""
        timed = [k for k, v in parts.items() if isinstance(v, float) and CLOCK.search(str(k))]
        return {k: "a time" if k in timed else self(v, depth) for k, v in parts.items()}

    def tensor(self, x: torch.Tensor, depth: int) -> Any:
        try:
            held = x.detach().to_dense() if x.is_sparse else x.detach()
            told = of_array(held.resolve_conj().resolve_neg().cpu().numpy())
        except Exception:
            return f"<tensor {tuple(x.shape)} {x.dtype}>"
        return {"gradients" if x.requires_grad else "tensor": told}

    def files(self, x: Path) -> Any:
        if x.is_file():
            raw = x.read_bytes()
            try:
                return self.text(raw.decode())
            except UnicodeDecodeError:
                return f"{len(raw)} bytes"
        return sorted(str(f.relative_to(x)) for f in x.rglob("*"))[:40] if x.is_dir() else self.text(str(x))
