"""Faults that can be put into a function, one at a time: slips of formulas, branches, defaults and words.

Left out: docstrings, type hints, decorators, our own ``assert`` lines, settings of modules, names that say a thing is about
speed (``SPEED``), integers above ``LARGE`` (counts of draws and rounds), and floors and tolerances below ``FLOOR``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

FLOOR, LARGE = 1e-3, 12
SPEED = re.compile(r"second|elapsed|clock|bytes|block|chunk|cache|thread|progress|stacklevel|timeout|\bsay\b|verbose")
OTHER = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in",
    ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and",
}  # fmt: skip
EDGE = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
TWINS = {
    "min": "max",
    "amin": "amax",
    "argmin": "argmax",
    "minimum": "maximum",
    "floor": "ceil",
    "any": "all",
    "cdf": "sf",
}
TWINS |= {b: a for a, b in TWINS.items()}


@dataclass(frozen=True)
class Fault:
    """One change in one function: what stands in a place of the file, what comes instead, and what kind of slip it is."""

    file: str
    line: int
    kind: str
    start: int  # bytes from the beginning of the file
    stop: int
    old: str
    new: str
    function: str  # qualified name of the outermost function around it

    def __str__(self) -> str:
        old, new = (" ".join(text.split())[:70] for text in (self.old, self.new))
        return f"{self.file}:{self.line} {self.kind}: {old} -> {new}"


def inject(source: bytes, fault: Fault) -> bytes:
    """The source with the fault in it."""
    return source[: fault.start] + fault.new.encode() + source[fault.stop :]


def faults(source: bytes, file: str) -> list[Fault]:
    """Every fault that the functions of a file can be given, in the order of the file."""
    lines = [0]
    for text in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(text))
    found = {}
    for name, function in outermost(ast.parse(source)):
        for node, kind, new in slips(function):
            start, stop = (
                lines[n - 1] + c for n, c in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
            )
            old = source[start:stop].decode()
            if new != old and not SPEED.search(old):
                found[start, stop, new] = Fault(file, node.lineno, kind, start, stop, old, new, name)
    return [found[place] for place in sorted(found)]


def outermost(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions, and methods of classes, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield inside + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from outermost(node, f"{inside}{node.name}.")


def slips(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, str]]:
    """Places in a function, the kind of slip, and what it puts there."""
    for default in [*function.args.defaults, *function.args.kw_defaults]:
        if default is not None and (new := another(default)):
            yield default, "changed default", new
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom) or is_words(node):
            continue
        yield from of(node)
        parts = [child for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.FunctionDef):
            parts = node.body
        elif isinstance(node, ast.AnnAssign):
            parts = [node.value] if node.value else []
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        todo += parts


def of(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """The slips at one place."""
    text = ast.unparse
    match node:
        case ast.BinOp(left, op, right) if not (worded(left) or worded(right)):
            if type(op) in OTHER:
                yield node, "operator", f"(({text(left)}) {OTHER[type(op)]} ({text(right)}))"
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
                sign = {ast.Sub: "-", ast.Div: "/", ast.MatMult: "@", ast.Pow: "**"}[type(op)]
                yield node, "swapped operands", f"(({text(right)}) {sign} ({text(left)}))"
            if isinstance(op, ast.Mult | ast.Div) and not (small(left) or small(right)):
                yield node, "dropped factor", f"({text(left)})"
        case ast.Compare(left, [op], [right]):
            yield node, "flipped comparison", f"(({text(left)}) {OTHER[type(op)]} ({text(right)}))"
            if type(op) in EDGE and isinstance(right, ast.Constant):
                yield node, "boundary", f"(({text(left)}) {EDGE[type(op)]} ({text(right)}))"
        case ast.BoolOp(op, values):
            yield node, "flipped comparison", "(" + f" {OTHER[type(op)]} ".join(f"({text(v)})" for v in values) + ")"
        case ast.UnaryOp(ast.USub() | ast.Not(), inner) if not isinstance(inner, ast.Constant):
            yield node, "sign", f"({text(inner)})"
        case ast.Subscript(value, ast.Slice(lower, upper, None), ast.Load()):
            for bound in (lower, upper):
                if bound is not None and not large(bound):
                    yield bound, "off by one", f"(({text(bound)}) + 1)" if text(bound) != "-1" else "None"
        case ast.Subscript(value, ast.Constant(0) | ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load()):
            yield node.slice, "first for last", "-1" if text(node.slice) == "0" else "0"
        case ast.Call():
            yield from of_call(node)
        case ast.Attribute(value, "mT" | "T"):
            yield node, "transpose", f"({text(value)})"
        case ast.If(test) | ast.While(test):
            yield test, "dropped path", "False"
            if isinstance(node, ast.If):
                yield test, "dropped path", "True"
        case ast.IfExp(_, body, orelse):
            yield node, "words" if worded(body) else "dropped path", f"({text(orelse)})"
            yield node, "words" if worded(body) else "dropped path", f"({text(body)})"
        case ast.Raise() | ast.Expr(ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield node, "dropped statement", "pass"
        case ast.For(_, over):
            yield over, "last only", f"list({text(over)})[-1:]"
        case ast.Constant(value) if not isinstance(value, str) and (new := another(node)):
            yield node, "constant", new
        case ast.JoinedStr(values):
            for part in values:
                if isinstance(part, ast.FormattedValue) and not isinstance(part.value, ast.Constant):
                    yield (
                        node,
                        "words",
                        text(ast.JoinedStr([p if p is not part else ast.Constant("…") for p in values])),
                    )
                elif isinstance(part, ast.Constant) and (new := other_words(part.value)):
                    yield (
                        node,
                        "words",
                        text(ast.JoinedStr([p if p is not part else ast.Constant(new) for p in values])),
                    )
        case ast.Return(ast.Constant(str(value))) if new := other_words(value):
            yield node.value, "words", repr(new)
        case _:
            return


def of_call(node: ast.Call) -> Iterator[tuple[ast.AST, str, str]]:
    text, given = ast.unparse, node.args
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in TWINS and not any(small(a) for a in given):
        head = f"({text(node.func.value)})." if isinstance(node.func, ast.Attribute) else ""
        yield node.func, "twin function", head + TWINS[name]
    if len(given) > 1 and not any(isinstance(a, ast.Starred | ast.Constant) for a in given[:2]):
        yield node, "swapped arguments", text(ast.Call(node.func, [given[1], given[0], *given[2:]], node.keywords))
    for k in node.keywords:
        if k.arg in ("axis", "dim") and isinstance(k.value, ast.Constant | ast.UnaryOp):
            yield k.value, "wrong axis", "1" if text(k.value) == "0" else "0"
        elif k.arg and not SPEED.search(k.arg):
            left = [other for other in node.keywords if other is not k]
            yield node, "dropped keyword", text(ast.Call(node.func, given, left))
    if name in ("sqrt", "log", "exp", "abs", "square", "conj", "flatten", "sorted") and (
        given or isinstance(node.func, ast.Attribute)
    ):
        inner = given[0] if given else node.func.value
        yield node, "dropped function", f"({text(inner)})"


def another(node: ast.AST) -> str | None:
    """Another constant of the same type."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int) and 1 <= value <= LARGE:
        return str(value + 1)
    return repr(2 * value) if isinstance(value, float) and FLOOR <= value <= 1 / FLOOR else None


def other_words(text: str) -> str | None:
    """The text with its first long word turned round."""
    found = re.search(r"[A-Za-z]{4,}", text)
    return None if found is None else f"{text[: found.start()]}{found.group()[::-1]}{text[found.end() :]}"


def is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def worded(node: ast.AST) -> bool:
    """A text, list or tuple by its look: adding those is not arithmetic."""
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.Set) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def small(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value < FLOOR


def large(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > LARGE
