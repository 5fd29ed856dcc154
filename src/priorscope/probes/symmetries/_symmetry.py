"""Is a learning system invariant under a group? Three independent tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor, nn

from priorscope.checks import FRACTION, POSITIVE, SEED, whole
from priorscope.contracts import (
    KernelModel,
    MovableData,
    guarded,
    is_kernel_model,
    is_network_family,
    is_network_stack,
    kernel_matrices,
    needs_of,
    require,
    settled,
)
from priorscope.data.groups import Element, Group, Rotation
from priorscope.probes.symmetries._coupling import couple
from priorscope.probes.symmetries._elements import moving_elements
from priorscope.probes.symmetries._energy import energy_test
from priorscope.probes.symmetries._kernel_moves import relative_change
from priorscope.system import System, check_system

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Symmetry", "symmetry"]

TESTS = ("kernel", "coupling", "black box")


@dataclass(frozen=True)
class Symmetry:
    """The answer for one system and one group.

    ``change`` is the change of the kernel over its spread (‖K − K'‖/‖K − mean K‖), the relative change of the coupled
    predictions, or (black box) the energy distance over the spread of the predictions; ``p_value`` belongs to the black box;
    ``residual`` says how well the first layer absorbs the element (coupling only).

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(20, seed=0, n_test=20)
        >>> system = ps.System(data, ps.models.fcn(depth=1), ps.inference.KernelRegression())
        >>> result = ps.probes.symmetry(system, ps.data.groups.orthogonal(data.input_shape))
        >>> result.invariant, result.test
        (True, 'kernel')
    """

    group: str
    test: str
    invariant: bool
    change: float
    p_value: float | None = None
    residual: float | None = None
    n_elements: int = 1
    note: str = ""

    @property
    def answer(self) -> str:
        """ "yes", "no", or "not refuted": seeds and a p-value can refute a symmetry, and never prove it."""
        if not self.invariant:
            return "no"
        return "yes" if self.p_value is None else "not refuted"

    def table(self) -> pd.DataFrame:
        """One row."""
        return pd.DataFrame([{key: getattr(self, key) for key in self.__dataclass_fields__}])

    def chart(self) -> alt.TopLevelMixin:
        """The size of the change on a log axis, coloured by the answer."""
        import altair as alt

        table = self.table().assign(change=lambda t: t.change.clip(lower=1e-17), invariant=self.answer)
        chart: alt.TopLevelMixin = (
            alt.Chart(table)
            .mark_bar()
            .encode(
                x=alt.X("change:Q", scale=alt.Scale(type="log"), title="relative change"),
                y=alt.Y("group:N", title="group"),
                color=alt.Color("invariant:N", title="invariant"),
            )
        )
        return chart


@guarded(n_elements=whole(), n_inputs=whole(), n_seeds=whole(2), tolerance=POSITIVE, level=FRACTION, seed=SEED)
def symmetry(
    system: System,
    group: Group,
    *,
    test: str = "auto",
    n_elements: int = 2,
    n_inputs: int = 16,
    n_seeds: int = 8,
    tolerance: float = 1e-5,
    level: float = 0.01,
    seed: int = 0,
) -> Symmetry:
    r"""Whether training on g·D and predicting on g·X* gives what training on D gives on X*, for all g of a group.

    A property of the system (data, model, inference), not of a function. Three tests:

    - ``kernel``: :math:`K(gX, gX') = K(X, X')` on ``n_inputs`` inputs, in float64, for ``n_elements`` Haar draws.
    - ``coupling``: networks. The first layer's weights W are replaced by W' with :math:`L_{W'}(gx) = L_W(x)`; both runs are
      trained with the same seed, and their predictions must agree to round-off. Where no such W' exists, W' = W is tried too.
    - ``black box``: any trainable system. ``n_seeds`` runs on each side, with seeds of their own, and a permutation test of the
      energy distance between the two samples of test predictions, at ``level``.

    ``exact`` takes the kernel test for kernels and coupling for networks. ``auto`` does the same, and goes on to the black
    box where coupling finds nothing: only that can refute a symmetry that sits deeper than the first layer.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(20, seed=0, n_test=20)
        >>> system = ps.System(data, ps.models.gap(depth=1), ps.inference.KernelRegression())
        >>> ps.probes.symmetry(system, ps.data.groups.permutation(data.input_shape)).invariant
        False
    """
    check_system("symmetry", system)
    if group.input_shape != tuple(system.data.input_shape):
        raise ValueError(
            f"the group acts on inputs of shape {group.input_shape}, the data have {tuple(system.data.input_shape)}. "
            "Make the group for data.input_shape."
        )
    is_kernel = needs_of(system.inference) == "kernel"
    if test not in ("auto", "exact", *TESTS):
        raise ValueError(f"test must be 'auto', 'exact' or one of {', '.join(TESTS)}; got {test!r}.")
    if test == "kernel":
        require(system.model, KernelModel, "a model with a kernel for the kernel test", "Leave test='auto'.")
    if test == "coupling" and is_kernel:
        raise ValueError("coupling is a test of networks; this system is a kernel. Use test='kernel'.")
    elements = moving_elements(group, n_elements, seed)
    if test == "kernel" or (test in ("auto", "exact") and is_kernel):
        return _kernel(system, group, elements, n_inputs, tolerance)
    if test != "black box":
        found = _coupled(system, group, elements, tolerance, seed)
        if found.invariant or test != "auto":
            return found
    return _black_box(system, group, elements[0], n_seeds, level, seed)


def _kernel(system: System, group: Group, elements: Sequence[Element], n: int, tolerance: float) -> Symmetry:
    x = system.data.inputs[:n].double()
    kinds = ("nngp", "ntk")
    model = require(system.model, KernelModel, "a model with a kernel", "Test networks by coupling.")
    model = settled(model, x)
    plain = kernel_matrices(model, x, kinds=kinds)
    change = 0.0
    for g in elements:
        moved = kernel_matrices(model, g(x), kinds=kinds)
        for kind, a in plain.items():
            change = max(change, relative_change(a, moved[kind], centred=True))
    return Symmetry(group.name, "kernel", change <= tolerance, change, n_elements=len(elements))


def _movable(system: System) -> MovableData:
    wanted = "data that can be moved, with methods transformed and subset"
    return require(system.data, MovableData, wanted, "Make a dataset with priorscope.data.from_arrays(x, y).")


def _test_inputs(system: System) -> Tensor:
    test = system.data.test.inputs
    return test if len(test) else system.data.inputs


def _coupled(system: System, group: Group, elements: Sequence[Element], tolerance: float, seed: int) -> Symmetry:
    """Both runs in float64, with the same seed for batches and MixUp."""
    network = replace(system, members=1).network(seed)
    if not isinstance(network, nn.Module) or is_network_stack(network):
        return Symmetry(group.name, "coupling", False, float("inf"), note="the model is not a single network")
    network = network.double()
    data = _movable(system).transformed(lambda x: x.double())
    x_test = _test_inputs(replace(system, data=data))
    plain = system.inference.fit(network, data, seed=seed).predict(x_test)
    spread = plain.square().mean().sqrt().clamp_min(1e-300)
    change, residual, note = 0.0, 0.0, ""
    for g in elements:
        coupling = couple(network, g, tuple(data.input_shape))
        residual = max(residual, coupling.residual)
        absorbs = coupling.residual < 1e-8
        other = coupling.network if absorbs else network
        moved = system.inference.fit(other, data.transformed(g), seed=seed).predict(g(x_test))
        if not (torch.isfinite(plain).all() and torch.isfinite(moved).all()):
            raise ValueError("training diverged: predictions are not finite. Lower the learning rate and test again.")
        change = max(change, float((moved - plain).abs().max() / spread))
        if absorbs and isinstance(g, Rotation) and not coupling.gaussian:
            note = "first-layer weights are not Gaussian: their law changes under rotations, however little"
    if residual >= 1e-8:
        note = "the first layer cannot absorb the group" + (
            "" if change > tolerance else "; predictions agree with the same weights"
        )
    return Symmetry(group.name, "coupling", change <= tolerance, change, None, residual, len(elements), note)


def _black_box(system: System, group: Group, g: Element, n_seeds: int, level: float, seed: int) -> Symmetry:
    """Compare predictions after training on plain and on moved data: directly for kernels, else by a two-sample test."""
    data = _movable(system)
    x_test = _test_inputs(system)
    if needs_of(system.inference) == "kernel":
        plain = system.run(seed).predict(x_test)
        moved = replace(system, data=data.transformed(g)).run(seed).predict(g(x_test))
        change = float((moved - plain).norm() / plain.norm())
        return Symmetry(group.name, "black box", change <= 1e-3, change, note="deterministic: predictions compared")
    first = _predictions(system, x_test, n_seeds, 2 * seed)
    second = _predictions(replace(system, data=data.transformed(g)), g(x_test), n_seeds, 2 * seed + 1)
    found = energy_test(first, second, seed=seed)
    spread = float(torch.pdist(first.flatten(1).double()).mean())
    return Symmetry(
        group.name,
        "black box",
        found.p_value > level,
        found.distance / max(spread, 1e-300),
        found.p_value,
        n_elements=1,
    )


def _predictions(system: System, x: Tensor, n_seeds: int, block: int) -> Tensor:
    """Predictions (n_seeds, n, outputs) with the seeds of one block; an architecture trains all at once.

    Other models (BatchNorm cannot be stacked) train one after another.
    """
    if is_network_family(system.model) and is_kernel_model(system.model):
        return replace(system, members=n_seeds).run(block).predict(x)
    if isinstance(system.model, nn.Module):
        raise ValueError(
            "a network with fixed weights has no law of predictions; pass a factory seed -> nn.Module or an architecture."
        )
    runs = [system.run(block * n_seeds + k).predict(x) for k in range(n_seeds)]
    return torch.stack([r[0] if r.ndim == 3 else r for r in runs])
