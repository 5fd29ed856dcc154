"""Eight float64 numbers at once, as a value of compiled code.

The compiler's own vectoriser gives up on loops over many arrays, because it cannot know that they do not overlap. Here
the vectors are spelt out: ``load`` and ``store`` move eight neighbours, operators and the functions below work on all of
them. LLVM turns them into whatever registers the processor has.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.extending import lower_builtin, models, register_model, type_callable

__all__ = ["LANES", "clamp", "copy_sign", "load", "magnitude", "root", "splat", "spread", "store"]

intrinsic: Any = extending.intrinsic

LANES = 8
DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
FLAGS = ("contract", "nsz")  # may fuse a product and a sum


class VectorType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="EightDoubles")


vector = VectorType()


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, DOUBLES)


def constant(value: float) -> ir.Constant:
    return ir.Constant(DOUBLES, [ir.Constant(ir.DoubleType(), value)] * LANES)


def call(builder, name: str, *args):
    """LLVM's function of that name, lane by lane."""
    kind = ir.FunctionType(DOUBLES, [DOUBLES] * len(args))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
    return builder.call(function, args, fastmath=FLAGS)


def address(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), DOUBLES.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """``array[index : index + LANES]``; nothing is checked."""

    def build(context, builder, signature, args):
        return builder.load(address(context, builder, signature.args[0], *args), align=8)

    return vector(array, types.intp), build


@intrinsic
def store(typing_context, array, index, value):
    """``array[index : index + LANES] = value``; nothing is checked."""

    def build(context, builder, signature, args):
        builder.store(args[2], address(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), build


def same(builder, value):
    """One number in all lanes."""
    nothing = ir.Constant(DOUBLES, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@intrinsic
def splat(typing_context, value):
    """One number in all lanes."""
    return vector(types.float64), lambda context, builder, signature, args: same(builder, *args)


@intrinsic
def spread(typing_context, array, index):
    """``array[index]`` in all lanes; nothing is checked."""

    def build(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return same(builder, builder.load(builder.gep(data, [args[1]])))

    return vector(array, types.intp), build


@intrinsic
def clamp(typing_context, value):
    """Cut to [-1, 1]."""

    def build(context, builder, signature, args):
        (x,) = args
        x = builder.select(builder.fcmp_ordered("<", x, constant(1.0)), x, constant(1.0))
        return builder.select(builder.fcmp_ordered(">", x, constant(-1.0)), x, constant(-1.0))

    return vector(vector), build


def unary(name: str):
    def function(typing_context, value):
        return vector(vector), lambda context, builder, signature, args: call(builder, name, *args)

    return intrinsic(function)


root = unary("sqrt")
magnitude = unary("fabs")


@intrinsic
def copy_sign(typing_context, size, sign):
    """``size`` (not negative) with the sign of ``sign``."""
    return vector(vector, vector), lambda context, builder, signature, args: call(builder, "copysign", *args)


def operate(symbol, name: str) -> None:
    """An operator of two vectors, or of a vector and a number."""

    @type_callable(symbol)
    def kinds(typing_context):
        def kind(a, b):
            return vector if vector in (a, b) and {a, b} <= {vector, types.float64} else None

        return kind

    def build(context, builder, signature, args):
        a, b = (x if kind == vector else same(builder, x) for x, kind in zip(args, signature.args))
        return getattr(builder, name)(a, b, flags=FLAGS)

    for kind in ((vector, vector), (vector, types.float64), (types.float64, vector)):
        lower_builtin(symbol, *kind)(build)


operate(operator.add, "fadd")
operate(operator.sub, "fsub")
operate(operator.mul, "fmul")
