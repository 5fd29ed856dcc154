"""Bad input: what was wanted, what came, what to do."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import (
    RBF,
    ABReLU,
    Activation,
    Architecture,
    AvgPool,
    Conv,
    Cosine,
    Dense,
    Dropout,
    Exponential,
    Flatten,
    Gaussian,
    Hermite,
    Identity,
    LayerNorm,
    LeakyReLU,
    Monomial,
    ParallelSum,
    Polynomial,
    Product,
    Quadrature,
    Residual,
    Sequential,
    Sine,
    fcn,
    gap,
    lcn,
    vec,
)
from priorscope.models.kernels._reference import reference_kernel

X = torch.ones(2, 3, 4, 4)
R = Activation("relu")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dense(weight_variance=-1.0), "weight_variance >= 0; got -1.0"),
        (lambda: Dense(bias_variance=float("nan")), "bias_variance >= 0; got nan"),
        (lambda: Conv(kernel_size=0), "kernel_size >= 1; got 0"),
        (lambda: Conv(padding="same"), "padding in circular, zeros, valid; got 'same'"),
        (lambda: Dropout(1.0), "0 <= rate < 1"),
        (lambda: AvgPool(2, 0), "stride >= 1, or None; got 0"),
        (lambda: fcn(depth=0), "depth >= 1; got 0"),
        (lambda: fcn(depth=2**40), "at most 10000 hidden layers"),
        (lambda: gap(kernel_size=2**31).kernel(X), "at most 8 times as many taps as pixels"),
        (lambda: lcn(kernel_size=2**31).network((3, 4, 4)), "at most 8 times as many taps as pixels"),
        (lambda: Gaussian(precision=0.0), "precision > 0; got 0.0"),
        (lambda: Gaussian(1.0, -0.3), "precision > 0; got -0.3"),
        (lambda: Gaussian(float("inf")), "finite amplitude; got inf"),
        (lambda: RBF(float("nan")), "finite gamma > 0; got nan"),
        (lambda: RBF(-1.0), "gamma > 0; got -1.0"),
        (lambda: Sine(phase=float("inf")), "finite phase; got inf"),
        (lambda: Cosine(frequency=float("nan")), "finite frequency; got nan"),
        (lambda: Exponential(rate=float("inf")), "finite rate; got inf"),
        (lambda: ABReLU(float("nan")), "finite left; got nan"),
        (lambda: LeakyReLU(float("inf")), "finite slope; got inf"),
        (lambda: Polynomial((1.0, float("nan"))), "coefficients with every entry a finite value; got"),
        (lambda: Monomial(-1), "whole number degree >= 0 and <= 100; got -1"),
        (lambda: Monomial(2.5), "whole number degree >= 0 and <= 100; got 2.5"),
        (lambda: Hermite(-2), "whole number degree >= 0 and <= 100; got -2"),
        (lambda: Hermite(1000), "<= 100; got 1000"),
        (lambda: Quadrature(torch.tanh, n_terms=0), "n_terms >= 2 and <= 8192; got 0"),
        (lambda: Quadrature(torch.tanh, tolerance=float("nan")), "finite tolerance > 0; got nan"),
        (lambda: Architecture("none", ()), "at least one layer"),
        (lambda: fcn(1).network((3,), width=0), "width >= 1"),
        (lambda: fcn(1).network((3,), parametrisation="mup"), "one of ntk, mean-field, standard; got 'mup'"),
        (lambda: fcn(1).network((3,), initialisation="zeros"), "one of gaussian, orthogonal, antisymmetric"),
        (lambda: fcn(1).ensemble((3,), seeds=[]), "at least one network"),
        (lambda: vec(1).network((3,)), r"needs inputs \(channels, length\)"),
        (lambda: vec(1, kernel_size=5, padding="valid").network((3, 4)), "at least kernel_size=5 pixels"),
        (lambda: AvgPool(5).output_shape((1, 4)), "at least 5 pixels"),
        (lambda: Architecture("open", (Conv(), Dense())).network((3, 4)), r"put Flatten\(\) or GlobalAvgPool\(\)"),
        (
            lambda: Architecture("r", (Residual(Dense()), Dense())).network((3,), width=5),
            "ParallelSum needs branches with one shape",
        ),
        (
            lambda: Architecture("p", (Product((R, Dense())), Dense())).network((3,), width=5),
            "Product needs branches with one shape",
        ),
        (lambda: reference_kernel(fcn(1), X, torch.ones(2, 3, 5, 5)), "same input shape"),
        (lambda: reference_kernel(fcn(1), X * float("nan")), "x1 holds NaN or infinite"),
        (lambda: reference_kernel(fcn(1), X[0, 0, 0]), r"got \(4,\)"),
        (lambda: reference_kernel(fcn(1), X, kinds=("rbf",)), "kinds must be some of"),
        (lambda: reference_kernel(Architecture("a", (Flatten(), R, Dense())), X), "Put a Dense or Conv layer before"),
        (
            lambda: reference_kernel(Architecture("a", (Flatten(), LayerNorm(), Dense())), X),
            "LayerNorm has a closed-form",
        ),
        (lambda: reference_kernel(Architecture("a", (Conv(), R, R, Flatten(), Dense())), X), "Gaussian channels"),
        (
            lambda: reference_kernel(Architecture("a", (Flatten(), Dense(), Residual(R), Dense())), X),
            r"uncorrelated.*2 branches do not \(Identity, Activation\)",
        ),
        (
            lambda: reference_kernel(
                Architecture("a", (Conv(), ParallelSum((Conv(), Conv(stride=2))), Flatten(), Dense())), X
            ),
            "branches with the same pixels",
        ),
    ],
)
def test_values_are_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: reference_kernel(gap(1), X.long()), "in floating point; got torch.int64"),
        (lambda: reference_kernel(gap(1), X.numpy()), "torch tensor; got ndarray"),
        (lambda: Sequential((torch.nn.Linear(2, 2),)), "got Linear.*from_module"),  # type: ignore[arg-type]
        (lambda: ParallelSum([Identity(), 3]), "needs one or more layers"),  # type: ignore[list-item,arg-type]
    ],
)
def test_types_are_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match=message):
        make()
