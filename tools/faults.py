"""Faults that can be put into a source file, one at a time: the slips that a formula suffers when it is typed in.

Found on the syntax tree of functions alone. Left out by rule, for no test could or should see them: texts (docstrings,
messages, f-strings, charts, tables and pages), type hints, decorators, defaults, module-level settings, our own
``assert`` lines, floors and tolerances below ``FLOOR``, grids of what a paper runs, arithmetic on seeds, statements about
speed (names that match ``SPEED``), the shape of the first of a batch, which is that of the last, and single numbers
in ``where``, which stand in for what is not used; the tail of quantiles at evenly spaced levels whose order is lost; the last
for the first of a batch of one (``f(x[:1])[0]``), one more of many rows (``x[:256]``), whether a library was loaded already;
settings that a paper takes by its scale (``0.03 if small else 0.005``), for runs of hours are no tests.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

__all__ = ["Fault", "faults", "inject"]

FLOOR, CEILING = 1e-3, 1e3  # constants outside are floors, tolerances and budgets, not part of a formula
LARGE = 12  # larger integers are numbers of iterations, draws or points: one more changes nothing
SPEED = re.compile(
    r"second|elapsed|clock|bytes|block|chunk|cache|worker|thread|batch|window|budget|memory|progress|parallel|fast|room|buffer"
    r"|stacklevel|flush|verbose|timeout|device|contiguous|non_blocking|retain_graph|\bsay\b|sys\.modules"
)
WORDS = re.compile(
    r"^(chart|pictures?|modes_picture|_?table|describe|summary|sentence|__repr__|__str__|_repr_html_|to_html|title|label|caption)"
)
COSTS = re.compile(r"^_?(work|operations|block_size|flops)$")  # how much time something takes
GRIDS = re.compile(r"^_?(grid|points|sizes|models_of|scales)$")  # what a paper runs, not how it measures
SCALES = re.compile(r"\bsmall\b|\blarge\b|\bscale\b")  # of the runs of a paper
STREAMS = re.compile(r"seed|generator")  # arithmetic on seeds only says which random numbers are drawn
TALK = {"warn", "print", "say", "echo", "_report", "repair", "log", "info", "format", "join"}
NEGATED = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OTHER_WAY = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
SWAPS = {
    "swapped min/max": {"min": "max", "minimum": "maximum", "amin": "amax", "argmin": "argmax", "cummin": "cummax"},
    "wrong tail": {"cdf": "sf", "ppf": "isf", "logcdf": "logsf"},
}
SWAPS = {kind: {**pairs, **{b: a for a, b in pairs.items()}} for kind, pairs in SWAPS.items()}
REDUCTIONS = {"mean", "sum", "std", "var", "amax", "amin", "argmax", "argmin", "prod", "all", "any", "norm", "cumsum"}
REDUCTIONS |= {"softmax", "logsumexp", "median", "max", "min", "quantile", "sort", "argsort", "diff"}
SHAPELY = {"shape", "numel", "ndim", "dim", "size", "dtype", "device", "new_zeros", "new_ones"}
ROOTS = {"sqrt", "square", "log", "exp", "log1p", "expm1", "abs", "conj", "reciprocal"}


@dataclass(frozen=True)
class Fault:
    """One change of one expression: what stands at the place, what comes instead, and what kind of slip it is."""

    file: str
    line: int
    kind: str
    start: int  # bytes from the beginning of the file
    stop: int
    old: str
    new: str
    function: str
    first: int  # the line of the function's ``def``, its decorators included

    def __str__(self) -> str:
        short = [" ".join(text.split()) for text in (self.old, self.new)]
        return f"{self.file}:{self.line} {self.kind}: {short[0][:70]} -> {short[1][:70]}"


def inject(source: bytes, fault: Fault) -> bytes:
    """The source with the fault in it."""
    return source[: fault.start] + fault.new.encode() + source[fault.stop :]


def faults(source: bytes, file: str) -> list[Fault]:
    """Every fault that the source of one file can be given, in the order of the file."""
    finder = _Finder(source, file)
    for node in ast.parse(source).body:
        finder.top(node)
    unique = {(f.start, f.stop, f.new): f for f in finder.found if f.new != f.old}
    return sorted(unique.values(), key=lambda f: (f.start, f.stop, f.kind, f.new))


class _Finder:
    def __init__(self, source: bytes, file: str) -> None:
        self.source, self.file, self.found = source, file, list[Fault]()
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        given = [n for n in ast.parse(source).body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
        self.settings = {n.targets[0].id: _number(n.value) for n in given if _number(n.value) is not None}

    def top(self, node: ast.AST) -> None:
        """Functions, and methods of classes; module-level settings are left alone."""
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                self.top(child)
        elif (
            isinstance(node, ast.FunctionDef)
            and not WORDS.match(node.name)
            and not (GRIDS.match(node.name) or COSTS.match(node.name))
        ):
            self.function, self.first = node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])
            self.rest = node.args.vararg.arg if node.args.vararg else ""
            self.ignored_arguments(node)
            for child in node.body:
                self.statement(child)

    # -- places --------------------------------------------------------------------------------------------------------

    def place(self, node: ast.AST) -> tuple[int, int]:
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, stop = self.place(node)
        return self.source[start:stop].decode()

    def add(self, node: ast.AST, kind: str, new: ast.AST | str) -> None:
        start, stop = self.place(node)
        text = new if isinstance(new, str) else f"({ast.unparse(new)})"
        self.found.append(
            Fault(self.file, node.lineno, kind, start, stop, self.text(node), text, self.function, self.first)
        )

    # -- statements ----------------------------------------------------------------------------------------------------

    def ignored_arguments(self, node: ast.FunctionDef) -> None:
        """An argument with a default that is never listened to: it is set to its default at the head of the function."""
        a = node.args
        pairs = [*zip(a.args[len(a.args) - len(a.defaults) :], a.defaults), *zip(a.kwonlyargs, a.kw_defaults)]
        body = [s for s in node.body if not _is_text(s)]
        if not body or body[0].lineno == node.lineno:
            return
        used = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        head = body[0]
        for argument, default in pairs:
            if default is None or argument.arg not in used or SPEED.search(argument.arg):
                continue
            if not isinstance(default, ast.Constant):
                continue
            at, indent = self.lines[head.lineno - 1] + head.col_offset, " " * head.col_offset
            if isinstance(head, ast.FunctionDef | ast.ClassDef) and head.decorator_list:
                continue
            new = f"{argument.arg} = {ast.unparse(default)}\n{indent}"
            fault = Fault(self.file, head.lineno, "ignored argument", at, at, "", new, self.function, self.first)
            self.found.append(fault)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(
            node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass
        ):
            return
        if _is_text(node):
            return
        if isinstance(node, ast.FunctionDef):
            if not WORDS.match(node.name):
                for child in node.body:
                    self.statement(child)
            return
        if isinstance(node, ast.ClassDef):
            return
        heads = {ast.If: "test", ast.While: "test", ast.For: "iter", ast.With: "items"}
        if type(node) in heads:
            speedy = SPEED.search(self.text(node.test) if isinstance(node, ast.If | ast.While) else "")
            if isinstance(node, ast.If) and not speedy and not _only_talks(node.body):
                self.add(node.test, "skipped branch", "False")
            if isinstance(node, ast.For) and not SPEED.search(self.text(node.iter)):
                self.add(node.iter, "last element only", f"list({self.text(node.iter)})[-1:]")
            if isinstance(node, ast.If | ast.While) and not speedy:
                self.expression(node.test)
            if isinstance(node, ast.For):
                self.expression(node.iter)
            for child in [*node.body, *getattr(node, "orelse", [])]:
                self.statement(child)
            return
        if isinstance(node, ast.Try):
            for child in [*node.body, *node.orelse, *node.finalbody]:
                self.statement(child)
            return
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(SPEED.search(self.text(t)) for t in targets):
                return
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
                sign = "-=" if isinstance(node.op, ast.Add) else "+="
                if not _is_sequence(node.value):
                    self.add(node, "changed sign", f"{self.text(node.target)} {sign} {ast.unparse(node.value)}")
            self.expression(node.value)
        elif isinstance(node, ast.Return | ast.Expr) and node.value is not None:
            self.expression(node.value)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr | ast.Lambda) and not isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.Call) and _name(node.func) in TALK and _name(node.func) != "log":
            return
        if isinstance(node, ast.IfExp) and "/papers/" in self.file and SCALES.search(self.text(node.test)):
            return
        if isinstance(node, ast.keyword):
            if node.arg is None or not SPEED.search(node.arg):
                self.expression(node.value)
            return
        if isinstance(node, ast.Call) and _name(node.func) == "unique" and _spaced_quantiles(node.args):
            self.expression(node.args[0].args[0])  # levels evenly spaced from 0 to 1, sorted: both tails are the same
            return
        if isinstance(node, ast.Call) and _name(node.func) == "where" and len(node.args) == 3:
            lone = [_number(part) is not None for part in node.args[1:]].count(True) == 1
            for part in [node.func, *node.args]:  # a number that stands in for what is not used cannot matter
                if not lone or _number(part) is None:
                    self.expression(part)
            return
        if isinstance(node, ast.Attribute) and node.attr in SHAPELY and isinstance(node.value, ast.Subscript):
            self.expression(node.value.value)  # the first of a batch has the shape of the last
            return
        if isinstance(node, ast.Subscript):
            self.subscript(node)
            self.expression(node.value)
            return
        for handler in (self.binary, self.compare, self.call, self.other):
            handler(node)
        for child in ast.iter_child_nodes(node):
            self.expression(child)

    def binary(self, node: ast.AST) -> None:
        if not isinstance(node, ast.BinOp) or STREAMS.search(self.text(node)):
            return
        left, right, op = node.left, node.right, node.op
        if isinstance(op, ast.Add | ast.Sub):
            if _is_sequence(left) or _is_sequence(right):
                return
            other = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            if not _small(right):
                self.add(node, "changed sign", ast.BinOp(left, other, right))
                self.add(node, "off by one" if _number(right) == 1 else "dropped term", left)
            if isinstance(op, ast.Add) and not _small(left):
                self.add(node, "dropped term", right)
        elif isinstance(op, ast.Mult):
            if _is_sequence(left) or _is_sequence(right):
                return
            for lost, kept in ((left, right), (right, left)):
                constant = _number(lost)
                if constant is None or FLOOR <= abs(constant) < CEILING:
                    unit = constant == 2 or _name(lost) == "pi"
                    self.add(node, "unit factor" if unit else "dropped factor", kept)
        elif isinstance(op, ast.Div) and not _is_sequence(right):  # else a path
            unit = _number(right) == 2 or _name(right) == "pi"
            self.add(node, "unit factor" if unit else "dropped factor", left)
        elif isinstance(op, ast.Pow):
            self.add(node, "dropped factor", left)
        elif isinstance(op, ast.FloorDiv):
            self.add(node, "off by one", ast.BinOp(node, ast.Add(), ast.Constant(1)))

    def compare(self, node: ast.AST) -> None:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            op, left, right = type(node.ops[0]), node.left, node.comparators[0]
            if any(_number(side) is not None and _small(side) for side in (left, right)):
                return  # against a floor
            if op in OTHER_WAY:
                self.add(node, "swapped comparison", ast.Compare(left, [OTHER_WAY[op]()], [right]))
                level = _number(right) if _number(right) is not None else _number(left)
                if level is not None and level != 0:
                    self.add(node, "swapped comparison", ast.Compare(left, [BOUNDARY[op]()], [right]))
            elif op in NEGATED:
                self.add(node, "swapped comparison", ast.Compare(left, [NEGATED[op]()], [right]))
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            self.add(node, "swapped comparison", ast.BoolOp(other, node.values))
            for value in node.values:
                if len(node.values) == 2 and not SPEED.search(self.text(value)):
                    self.add(node, "skipped branch", next(v for v in node.values if v is not value))

    def call(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Call):
            return
        name, function = _name(node.func), node.func
        for kind, pairs in SWAPS.items():
            if name in pairs and not (kind == "swapped min/max" and any(_small(a) for a in node.args)):
                renamed = ast.Name(pairs[name]) if isinstance(function, ast.Name) else None
                renamed = renamed or ast.Attribute(function.value, pairs[name])
                self.add(node, kind, ast.Call(renamed, node.args, node.keywords))
        if name in ("clamp", "clip", "clamp_"):
            swap = {"min": "max", "max": "min"}
            limits = [k for k in node.keywords if k.arg in swap]
            if len(limits) == 1 and not node.args and not _small(limits[0].value) and _number(limits[0].value) != 0:
                keywords = [ast.keyword(swap[limits[0].arg], limits[0].value)]
                self.add(node, "swapped min/max", ast.Call(function, [], keywords))
        module = isinstance(function, ast.Attribute) and _name(function.value) in {"np", "torch", "math", "functional"}
        if name in ROOTS and (isinstance(function, ast.Attribute) or node.args):
            inner = node.args[0] if module or isinstance(function, ast.Name) else None
            if inner is None and isinstance(function, ast.Attribute) and not node.args:
                inner = function.value
            if inner is not None:
                self.add(node, "dropped factor", inner)
        self.axes(node, name, module)
        self.order(node, name, module)
        if name in ("std", "var"):
            for k in node.keywords:
                if k.arg in ("ddof", "correction", "unbiased"):
                    left = [other for other in node.keywords if other is not k]
                    new = ast.keyword(k.arg, ast.Constant(0 if _number(k.value) else 1))
                    self.add(node, "ddof", ast.Call(function, node.args, [*left, new]))
        if name == "quantile" and len(node.args) >= (2 if module else 1):
            at = 1 if module else 0
            tail = ast.BinOp(ast.Constant(1), ast.Sub(), node.args[at])
            if not isinstance(node.args[at], ast.List | ast.Tuple):
                self.add(
                    node, "wrong tail", ast.Call(function, [*node.args[:at], tail, *node.args[at + 1 :]], node.keywords)
                )
        for k in node.keywords:
            if k.arg and isinstance(k.value, ast.Name) and k.value.id == k.arg and not SPEED.search(k.arg):
                left = [other for other in node.keywords if other is not k]
                self.add(node, "ignored argument", ast.Call(function, node.args, left))

    def axes(self, node: ast.Call, name: str, module: bool) -> None:
        """The wrong axis of a reduction: 0 for 1, the first for the last."""
        if name not in REDUCTIONS:
            return
        other = {0: 1, 1: 0, -1: 0, 2: 1, -2: -1}
        for k in node.keywords:
            if k.arg in ("axis", "dim") and _number(k.value) in other:
                rest = [
                    x if x is not k else ast.keyword(k.arg, _literal(other[_number(k.value)])) for x in node.keywords
                ]
                self.add(node, "wrong axis", ast.Call(node.func, node.args, rest))
        at = 1 if module else 0
        method = isinstance(node.func, ast.Attribute)
        if method and len(node.args) == at + 1 and name not in {"max", "min", "quantile", "diff", "norm"}:
            value = _number(node.args[at])
            if value in other and type(value) is int:
                self.add(
                    node, "wrong axis", ast.Call(node.func, [*node.args[:at], _literal(other[value])], node.keywords)
                )

    def order(self, node: ast.Call, name: str, module: bool) -> None:
        """The logarithm of the mean for the mean of the logarithms."""
        if name not in ("mean", "median") or not isinstance(node.func, ast.Attribute):
            return
        inner = (node.args[0] if node.args else None) if module else node.func.value
        if isinstance(inner, ast.Call) and _name(inner.func) in ("log", "log10", "log2") and inner.args:
            if module:
                mean: ast.AST = ast.Call(node.func, [inner.args[0], *node.args[1:]], node.keywords)
            else:
                mean = ast.Call(ast.Attribute(inner.args[0], name), node.args, node.keywords)
            self.add(node, "order of log and mean", ast.Call(inner.func, [mean], inner.keywords))

    def subscript(self, node: ast.Subscript) -> None:
        index = node.slice
        value = _number(index)
        if isinstance(node.ctx, ast.Load):
            if _of_one(node.value):
                pass  # the first is the last
            elif value in (0, -1) and type(value) is int and _name(node.value) != (self.rest or None):
                self.add(node, "first for last", f"{self.text(node.value)}[{-1 if value == 0 else 0}]")
            elif _name(getattr(node.value, "func", node)) in ("vjp", "jvp"):
                pass  # they give as many values as are taken
            elif isinstance(index, ast.Slice) and index.step is None:
                for side, bound in (("lower", index.lower), ("upper", index.upper)):
                    if bound is not None and not (index.lower is None and self.many(node.value, bound)):
                        moved = ast.BinOp(bound, ast.Add(), ast.Constant(1))
                        if _number(bound) == -1:
                            moved = ast.Constant(None)
                        lower, upper = (moved, index.upper) if side == "lower" else (index.lower, moved)
                        self.add(node, "off by one", ast.Subscript(node.value, ast.Slice(lower, upper, None)))
        if not isinstance(index, ast.Constant | ast.UnaryOp):
            self.expression(index)

    def many(self, rows: ast.AST, bound: ast.AST) -> bool:
        """So many of the first rows that one more changes nothing, written out or by the name of a setting; not of a hash."""
        if isinstance(rows, ast.Call) and _name(rows.func) == "hexdigest":
            return False
        value = self.settings.get(bound.id) if isinstance(bound, ast.Name) else _number(bound)
        return value is not None and abs(value) > LARGE

    def other(self, node: ast.AST) -> None:
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
                self.add(node, "changed sign", node.operand)
            elif isinstance(node.op, ast.Not):
                self.add(node, "swapped comparison", node.operand)
        elif isinstance(node, ast.IfExp) and not SPEED.search(self.text(node.test)):
            if not _only_words(node.body) and not _only_words(node.orelse):
                self.add(node, "skipped branch", node.orelse)
                self.add(node, "skipped branch", node.body)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            value = node.value
            if type(value) is float and FLOOR <= abs(value) < CEILING:
                self.add(node, "changed constant", repr(2 * value if value != 0.5 else 0.75))
            elif type(value) is int and 2 <= value <= LARGE:
                self.add(node, "changed constant", repr(value + 1))


def _literal(value: int) -> ast.AST:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _number(node: ast.AST | None) -> float | int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) in (int, float) else None


def _small(node: ast.AST) -> bool:
    """A floor or tolerance: a constant next to nothing, or a product with one."""
    value = _number(node)
    if value is not None:
        return 0 < abs(value) < FLOOR or abs(value) >= CEILING
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _small(node.left) or _small(node.right)
    return isinstance(node, ast.Name | ast.Attribute) and _name(node) in {"tiny", "eps", "floor", "inf", "EPS", "TINY"}


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_sequence(node: ast.AST) -> bool:
    """A string, list or tuple by its look: adding those is not arithmetic."""
    if isinstance(node, ast.BinOp):
        return _is_sequence(node.left) or _is_sequence(node.right)
    if isinstance(node, ast.IfExp):
        return _is_sequence(node.body) or _is_sequence(node.orelse)
    if isinstance(node, ast.Call):
        return _name(node.func) in {"list", "tuple", "str", "sorted", "join", "repr", "tolist", "Path"}
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Dict | ast.Set)


def _of_one(node: ast.AST) -> bool:
    """What a call gives for a batch of one: ``f(x[:1])``, ``f(x[i : i + 1])``, ``f(x.unsqueeze(0))`` or ``f(x[None])``."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and _of_one(node.func.value):
        return True  # f(x[:1]).detach()
    given = [_batch(a) for a in node.args]
    return any(isinstance(a, ast.Subscript) and _one_long(a.slice) for a in given) or any(
        isinstance(a, ast.Call) and _name(a.func) == "unsqueeze" and [_number(v) for v in a.args] == [0] for a in given
    )


def _batch(node: ast.AST) -> ast.AST:
    """An argument, or the one that a call of it was given: ``as_rows(f(x[:1]), 1)`` has the batch of ``x[:1]``."""
    while isinstance(node, ast.Call) and _name(node.func) != "unsqueeze" and node.args:
        node = node.args[0]
    return node


def _one_long(index: ast.AST) -> bool:
    if isinstance(index, ast.Constant) and index.value is None:
        return True
    if not isinstance(index, ast.Slice) or index.step is not None or index.upper is None:
        return False
    after = ast.Constant(1) if index.lower is None else ast.BinOp(index.lower, ast.Add(), ast.Constant(1))
    return ast.dump(index.upper) == ast.dump(after)


def _spaced_quantiles(args: list[ast.expr]) -> bool:
    """Quantiles at ``linspace(0, 1, …)``, cut alike at both ends or whole."""
    if (
        len(args) != 1
        or not isinstance(args[0], ast.Call)
        or _name(args[0].func) != "quantile"
        or len(args[0].args) != 2
    ):
        return False
    levels = args[0].args[1]
    if isinstance(levels, ast.Subscript) and ast.unparse(levels.slice) == "1:-1":
        levels = levels.value
    spaced = isinstance(levels, ast.Call) and _name(levels.func) == "linspace"
    return spaced and [_number(a) for a in levels.args[:2]] == [0, 1]


def _only_words(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _only_talks(body: list[ast.stmt]) -> bool:
    """A branch that says something and does nothing."""
    return all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and _name(s.value.func) in TALK for s in body)
