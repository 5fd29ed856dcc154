"""Arguments as text and back: JSON with a tag for what JSON lacks. Only importable classes of a few libraries are made anew."""

from __future__ import annotations

import base64
import enum
import functools
import importlib
import math
import os
import tempfile
import types
import zlib
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import torch

LIBRARIES = {"priorscope", "torch", "numpy", "scipy", "sklearn", "pandas", "altair", "types", "fractions", "decimal"}
LARGE = 40_000  # bytes of an array or file beyond which a call is not kept
NODES = 4_000  # parts of one call
MODULE = set(torch.nn.Module().__dict__)
ROOM = tempfile.gettempdir()


class Unwritable(Exception):
    """This cannot be written as text, or not in little room."""


def name_of(thing: Any) -> str:
    """The name by which a class or function is imported; refuses what is not found under it."""
    if getattr(torch, thing.__name__, None) is thing:
        return f"torch:{thing.__name__}"
    name = f"{thing.__module__}:{thing.__qualname__}"
    if found(name) is not thing:
        raise Unwritable(name)
    return name


def found(name: str) -> Any:
    """What is imported under ``module:qualified.name``."""
    module, _, path = name.partition(":")
    if (
        module.split(".")[0] not in LIBRARIES | {"builtins", "math", "operator", "collections", "pathlib"}
        or "<" in path
    ):
        raise Unwritable(name)
    try:
        return functools.reduce(getattr, path.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        raise Unwritable(name) from None


def state_of(thing: Any) -> dict[str, Any]:
    """What an object of a class written in Python holds, without what it computes again when asked."""
    kind = type(thing)
    state = {}
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in [slots] if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and slot in base.__dict__:
                try:
                    state[slot] = base.__dict__[slot].__get__(thing, kind)
                except AttributeError:
                    continue
    try:
        state.update(object.__getattribute__(thing, "__dict__"))
    except AttributeError:
        if not state and not any("__slots__" in base.__dict__ for base in kind.__mro__[:-1]):
            raise Unwritable(kind.__name__) from None
    return {k: v for k, v in state.items() if not isinstance(getattr(kind, k, None), functools.cached_property)}


class Writer:
    """Writes one call: what comes twice is written once, so that the same object is the same again."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []
        self.nodes = self.bytes = 0

    def __call__(self, x: Any) -> Any:
        self.nodes += 1
        if self.nodes > NODES:
            raise Unwritable("too many parts")
        kind = type(x)
        if x is None or kind in (bool, int):
            return x
        if kind is str:
            self.spend(len(x))
            return x
        if kind is float:
            return x if math.isfinite(x) else {"$float": repr(x)}
        if id(x) in self.seen:
            return {"$same": self.seen[id(x)]}
        if isinstance(x, type | types.FunctionType | types.BuiltinFunctionType | np.ufunc) or kind.__name__ in (
            "CPUDispatcher",
            "builtin_function_or_method",
        ):
            return {"$named": name_of(x) if not isinstance(x, np.ufunc) else f"numpy:{x.__name__}"}
        if isinstance(x, types.ModuleType):
            raise Unwritable("module")
        self.seen[id(x)] = len(self.kept)
        self.kept.append(x)
        if kind is list:
            return [self(v) for v in x]
        if kind is dict and all(type(k) is str and not k.startswith("$") for k in x):
            return {k: self(v) for k, v in x.items()}
        for tag, kinds, write in self.tags():
            if kind in kinds:
                return {f"${tag}": write(x)}
        if isinstance(x, np.ndarray | torch.Tensor):
            return self.array(x)
        if isinstance(x, Path):
            return self.path(x)
        if isinstance(x, enum.Enum):
            return {"$member": [name_of(kind), x.name]}
        if isinstance(x, np.generic):
            return {"$scalar": [str(x.dtype), self(x.item())]}
        if x is alt.Undefined:
            return {"$undefined": 0}
        return self.made(x)

    def tags(self) -> list[tuple[str, tuple[type, ...], Any]]:
        several = lambda x: [self(v) for v in x]  # noqa: E731
        pairs = lambda x: [[self(k), self(v)] for k, v in x.items()]  # noqa: E731
        return [
            ("tuple", (tuple,), several),
            ("set", (set,), lambda x: several(sorted(x, key=repr))),
            ("frozenset", (frozenset,), lambda x: several(sorted(x, key=repr))),
            ("deque", (deque,), several),
            ("dict", (dict,), pairs),
            ("ordered", (OrderedDict,), pairs),
            ("proxy", (types.MappingProxyType,), pairs),
            ("default", (defaultdict,), lambda x: [self(x.default_factory), pairs(x)]),
            ("complex", (complex,), lambda x: [self(x.real), self(x.imag)]),
            ("bytes", (bytes,), self.packed),
            ("size", (torch.Size,), list),
            ("dtype", (torch.dtype,), lambda x: str(x).removeprefix("torch.")),
            ("device", (torch.device,), str),
            ("slice", (slice,), lambda x: [self(x.start), self(x.stop), self(x.step)]),
            ("range", (range,), lambda x: [x.start, x.stop, x.step]),
            ("ellipsis", (type(...),), lambda x: 0),
            ("union", (types.UnionType, types.GenericAlias), self.refuse),
            ("partial", (functools.partial,), lambda x: [self(x.func), self(x.args), self(x.keywords)]),
            ("method", (types.MethodType,), lambda x: [self(x.__self__), x.__func__.__name__]),
            ("generator", (torch.Generator,), self.torch_generator),
            ("numpy", (np.random.Generator,), lambda x: self(x.bit_generator.state)),
            ("frame", (pd.DataFrame,), self.frame),
            ("series", (pd.Series,), lambda x: [self(x.to_numpy()), str(x.dtype), self(x.index), self(x.name)]),
            ("index", (pd.Index, pd.RangeIndex), lambda x: [self(x.to_numpy()), self(x.name)]),
        ]

    def refuse(self, x: Any) -> Any:
        raise Unwritable(type(x).__name__)

    def spend(self, n: int) -> None:
        self.bytes += n
        if self.bytes > LARGE:
            raise Unwritable("too large")

    def packed(self, raw: bytes) -> str:
        self.spend(len(raw))
        return base64.b85encode(zlib.compress(raw, 9)).decode()

    def torch_generator(self, x: torch.Generator) -> Any:
        fresh = torch.Generator().manual_seed(x.initial_seed())
        state = x.get_state()
        return (
            x.initial_seed()
            if torch.equal(fresh.get_state(), state)
            else [x.initial_seed(), self.packed(state.numpy().tobytes())]
        )

    def frame(self, x: pd.DataFrame) -> Any:
        if isinstance(x.columns, pd.MultiIndex) or isinstance(x.index, pd.MultiIndex):
            raise Unwritable("several levels")
        return [[[self(name), self(x.iloc[:, i])] for i, name in enumerate(x.columns)], self(x.index)]

    def array(self, x: Any) -> Any:
        tensor = isinstance(x, torch.Tensor)
        if tensor and (type(x) not in (torch.Tensor, torch.nn.Parameter) or x.device.type != "cpu" or x.is_sparse):
            raise Unwritable("tensor")
        if x.nbytes > LARGE:
            raise Unwritable("too large")
        try:
            values = x.detach().resolve_conj().resolve_neg().numpy() if tensor else x
        except Exception:
            raise Unwritable("tensor") from None
        if values.dtype.hasobject:
            return {"$objects": [list(values.shape), [self(v) for v in values.flatten().tolist()]]}
        if values.dtype.names:
            raise Unwritable("records")
        kind = "parameter" if isinstance(x, torch.nn.Parameter) else "tensor" if tensor else "array"
        flat = np.ascontiguousarray(values)
        self.spend(0)
        if flat.size <= 6 and flat.dtype.kind in "fiub":
            data: Any = [self(v) for v in flat.flatten().tolist()]
        else:
            data = self.packed(flat.tobytes())
        return {f"${kind}": [flat.dtype.str, list(values.shape), data, *([True] if tensor and x.requires_grad else [])]}

    def path(self, x: Path) -> Any:
        whole = os.path.abspath(x)
        if not x.exists():
            return {"$path": [os.path.relpath(whole, ROOM) if whole.startswith(ROOM) else str(x), None]}
        if not whole.startswith(ROOM):
            raise Unwritable("path")
        files = [x] if x.is_file() else sorted(x.rglob("*"))[:40]
        return {
            "$path": [
                x.name,
                [[str(f.relative_to(x)), self.packed(f.read_bytes())] for f in files if f.is_file()],
                x.is_dir(),
            ]
        }

    def made(self, x: Any) -> Any:
        kind = type(x)
        if kind.__module__.split(".")[0] not in LIBRARIES:
            raise Unwritable(kind.__name__)
        name = name_of(kind)
        if isinstance(x, tuple):
            return {"$named_tuple": [name, [self(v) for v in x]]}
        if isinstance(x, BaseException | str | int | float | list | dict | set | torch.autograd.function.FunctionCtx):
            raise Unwritable(name)
        state = state_of(x)
        if isinstance(x, torch.nn.Module):
            state = {
                k: v
                for k, v in state.items()
                if k not in MODULE or (v and k != "training") or (k == "training" and not v)
            }
        elif not state and kind.__new__ is not object.__new__:
            raise Unwritable(name)
        return {"$made": [name, {k: self(v) for k, v in state.items()}]}


class Reader:
    """Makes anew what a ``Writer`` wrote; files go into ``room``."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.kept: list[Any] = []

    def __call__(self, x: Any) -> Any:
        if not isinstance(x, list | dict):
            return x
        tag = next(iter(x), "") if isinstance(x, dict) and len(x) == 1 else ""
        if isinstance(x, dict) and tag.startswith("$"):
            if tag in ("$float", "$same", "$named"):
                return {"$float": float, "$same": lambda v: self.kept[v], "$named": found}[tag](x[tag])
            place = len(self.kept)
            self.kept.append(None)
            self.kept[place] = made = getattr(self, tag[1:])(x[tag], place)
            return made
        made = [] if isinstance(x, list) else {}
        self.kept.append(made)
        if isinstance(made, list):
            made.extend(self(v) for v in x)
        else:
            made.update((k, self(v)) for k, v in x.items())
        return made

    def tuple(self, x, place):
        return tuple(self(v) for v in x)

    def set(self, x, place):
        return {self(v) for v in x}

    def frozenset(self, x, place):
        return frozenset(self(v) for v in x)

    def deque(self, x, place):
        return deque(self(v) for v in x)

    def dict(self, x, place):
        return {self(k): self(v) for k, v in x}

    def ordered(self, x, place):
        self.kept[place] = made = OrderedDict()
        for k, v in x:
            made[self(k)] = self(v)
        return made

    def proxy(self, x, place):
        return types.MappingProxyType(self.dict(x, place))

    def default(self, x, place):
        return defaultdict(self(x[0]), self.dict(x[1], place))

    def complex(self, x, place):
        return complex(self(x[0]), self(x[1]))

    def bytes(self, x, place):
        return zlib.decompress(base64.b85decode(x))

    def size(self, x, place):
        return torch.Size(x)

    def dtype(self, x, place):
        return getattr(torch, x)

    def device(self, x, place):
        return torch.device(x)

    def slice(self, x, place):
        return slice(*(self(v) for v in x))

    def range(self, x, place):
        return range(*x)

    def ellipsis(self, x, place):
        return ...

    def undefined(self, x, place):
        return alt.Undefined

    def partial(self, x, place):
        function = self(x[0])
        arguments = self(x[1])
        return functools.partial(function, *arguments, **self(x[2]))

    def method(self, x, place):
        return getattr(self(x[0]), x[1])

    def generator(self, x, place):
        if isinstance(x, int):
            return torch.Generator().manual_seed(x)
        made = torch.Generator().manual_seed(x[0])
        made.set_state(torch.frombuffer(bytearray(self.bytes(x[1], 0)), dtype=torch.uint8))
        return made

    def numpy(self, x, place):
        made = np.random.default_rng()
        made.bit_generator.state = self(x)
        return made

    def series(self, x, place):
        values, kind, index = self(x[0]), x[1], self(x[2])
        return pd.Series(values, index=index, name=self(x[3])).astype(kind)

    def index(self, x, place):
        return pd.Index(self(x[0]), name=self(x[1]))

    def frame(self, x, place):
        columns = [(self(name), self(values)) for name, values in x[0]]
        index = self(x[1])
        made = pd.DataFrame({i: v.to_numpy() for i, (_, v) in enumerate(columns)}, index=index)
        made = made.astype({i: v.dtype for i, (_, v) in enumerate(columns)})
        made.columns = [name for name, _ in columns]
        return made

    def values(self, x):
        raw = [self(v) for v in x[2]] if isinstance(x[2], list) else self.bytes(x[2], 0)
        flat = np.array(raw, dtype=x[0]) if isinstance(raw, list) else np.frombuffer(raw, dtype=x[0]).copy()
        return flat.reshape(x[1])

    def array(self, x, place):
        return self.values(x)

    def tensor(self, x, place):
        made = torch.from_numpy(self.values(x))
        return made.requires_grad_() if len(x) > 3 else made

    def parameter(self, x, place):
        return torch.nn.Parameter(torch.from_numpy(self.values(x)), requires_grad=len(x) > 3)

    def objects(self, x, place):
        made = np.empty(math.prod(x[0]), dtype=object)
        for i, v in enumerate(x[1]):
            made[i] = self(v)
        return made.reshape(x[0])

    def scalar(self, x, place):
        return np.dtype(x[0]).type(self(x[1]))

    def member(self, x, place):
        return found(x[0])[x[1]]

    def path(self, x, place):
        at = self.room / f"p{place}" / Path(x[0]).name
        at.parent.mkdir(parents=True, exist_ok=True)
        if x[1] is not None:
            if x[2]:
                at.mkdir(exist_ok=True)
            for name, packed in x[1]:
                (at / name).parent.mkdir(parents=True, exist_ok=True)
                (at / name if name != "." else at).write_bytes(self.bytes(packed, 0))
        return at

    def named_tuple(self, x, place):
        return tuple.__new__(found(x[0]), [self(v) for v in x[1]])

    def made(self, x, place):
        kind = found(x[0])
        self.kept[place] = made = kind.__new__(kind)
        if isinstance(made, torch.nn.Module):
            torch.nn.Module.__init__(made)
        for k, v in x[1].items():
            value = self(v)
            try:
                object.__getattribute__(made, "__dict__")[k] = value
            except AttributeError:
                object.__setattr__(made, k, value)
        return made
