"""The residual of the margin problem of any homogeneous network: is it a max-margin classifier to first order?"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from priorscope.checks import POSITIVE, whole
from priorscope.contracts import guarded
from priorscope.probes.limits.implicit import hard_margin
from priorscope.probes.limits.margins._constraints import Constraints
from priorscope.probes.limits.margins._homogeneity import Homogeneity, chosen, homogeneity, last_layer
from priorscope.probes.limits.margins._result import Margin

__all__ = ["margin"]

Array = NDArray[np.float64]
ROUNDS = 20  # of growing the working set
EULER = 1e-6  # by how much gradients may miss Euler's identity


def _classes(targets: Tensor, n: int, outputs: int) -> Tensor:
    """Signs for one output, class numbers for several; from signs, numbers of classes or (centred) one-hot rows."""
    found = targets.detach()
    if len(found) != n:
        raise ValueError(f"margin needs one target per input; got {len(found)} for {n}.")
    if outputs == 1:
        signs = found.reshape(n, -1).double()
        if signs.shape[1] != 1 or not bool((signs.abs() == 1).all()):
            raise ValueError(
                "margin of a network with one output needs targets of -1 and 1, one per input. Use the 'parity' label scheme."
            )
        return signs[:, 0]
    if found.ndim == 2 and found.shape[1] == outputs:
        top = found.amax(1, keepdim=True)
        if not bool(((found == top).sum(1) == 1).all()):
            raise ValueError("margin needs one class per input; some rows of the targets have no single largest entry.")
        return found.argmax(1)
    found = found.reshape(n, -1)
    whole_numbers = bool((found == found.round()).all()) and bool((found >= 0).all() and (found < outputs).all())
    if found.shape[1] != 1 or not whole_numbers:
        raise ValueError(
            f"margin of a network with {outputs} outputs needs classes 0 to {outputs - 1} or one-hot rows; got shape "
            f"{tuple(targets.shape)}."
        )
    return found[:, 0].long()


def _refuse(found: Homogeneity, network: nn.Module, inputs: Tensor, parameters: Sequence[str] | None) -> None:
    """Say that a network is not homogeneous, and in which of its weights it is."""
    last = last_layer(network)
    way = ""
    if parameters is None and homogeneity(network, inputs, parameters=last).holds:
        way = (
            f" It is homogeneous in its last layer: pass parameters={last} for the margin problem of that layer alone."
        )
    raise ValueError(
        f"margin needs a network whose outputs are homogeneous in the weights, f(cw) = c^D f(w); here they are off by "
        f"{found.off:.2g} of their size (degree about {found.degree:.3g}). Leave out biases after the first layer, use ReLU or "
        f"linear layers, no stored statistics of batch normalisation.{way}"
    )


@guarded(block=whole(), working=whole(2), tolerance=POSITIVE)
def margin(
    network: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    *,
    parameters: Sequence[str] | None = None,
    block: int = 1024,
    working: int = 200,
    tolerance: float = 1e-6,
) -> Margin:
    r"""How close a trained network is to a classifier of largest margin, for any ``nn.Module`` homogeneous in its weights.

    The margin problem is :math:`\min\frac12\|w\|^2` subject to :math:`q_i(w) \ge 1`, with :math:`q_i = y_if(x_i)` or, for several
    classes, the output of the class minus every other. Descent on losses with an exponential tail (logistic, cross-entropy)
    tends to its KKT points (Lyu & Li 2020, Theorem 4.4). Scaled so that :math:`\min_i q_i = 1`, w is feasible for

    .. math:: \min_v \tfrac12\|v\|^2 \quad\text{subject to}\quad \langle\nabla q_i(w), v\rangle \ge D

    by Euler's identity :math:`\langle\nabla q_i, w\rangle = D q_i`, and it is a KKT point exactly if it solves it (derived here):
    a hard-margin machine on the network's own gradients. Its solution v gives ``ratio`` :math:`= \|v\|/\|w\|` and the best
    multipliers. The machine is solved on the ``working`` margins that are smallest, and grows by those it violates by more than
    ``tolerance``.

    Homogeneity is measured (:func:`homogeneity`) and a network without it refused; ``parameters`` names the weights that count,
    others are held (such as the last layer, in which every network with a linear readout is homogeneous). Samples that are
    not classified rightly have no margin: such networks are refused too. In float64, on a copy.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> x = torch.randn(20, 2)
        >>> net = nn.Sequential(nn.Linear(2, 8, bias=False), nn.ReLU(), nn.Linear(8, 1, bias=False))
        >>> found = margin(net, x, net(x).sign())  # labels of its own: it separates them, by chance and not by margin
        >>> found.degree, found.ratio < 0.9
        (2.0, True)
    """
    if len(inputs) < 2 or not bool(torch.isfinite(inputs).all()):
        raise ValueError(f"margin needs at least two finite inputs; got {len(inputs)}, or NaN among them.")
    held = copy.deepcopy(network).double().eval()
    found = homogeneity(network, inputs[:256], parameters=parameters)
    if not found.holds:
        _refuse(found, network, inputs[:256], parameters)
    if not found.degree > 1e-6:
        raise ValueError(
            "margin: the outputs do not change with the size of the weights (degree 0); the margin has no scale."
        )
    weights = chosen(held, parameters)
    held.requires_grad_(False)
    x = inputs.double() if inputs.is_floating_point() else inputs
    with torch.no_grad():
        outputs = held(x[:1]).reshape(1, -1).shape[1]
    q = Constraints(held, weights, x, _classes(targets, len(x), outputs), block)
    least = float(q.values.min())
    if not least > 0:
        wrong = len(q.rows[q.values <= 0].unique())
        turned = q.single and bool((q.values < 0).all())
        advice = "Are the signs of the labels reversed?" if turned else "Train longer, or leave those samples out."
        raise ValueError(
            f"margin needs a network that classifies every sample rightly; {wrong} of {len(x)} are wrong. {advice}"
        )
    return _solve(q, found, least, working, tolerance)


def _solve(q: Constraints, found: Homogeneity, least: float, working: int, tolerance: float) -> Margin:
    """Solve the linearised problem on a growing set of margins, and read off ratio, residuals and multipliers."""
    D, notes = found.degree, []
    flat = torch.cat([w.reshape(-1) for w in q.weights.values()])
    # at weights scaled to least margin 1, gradients scale like c^(D-1): all is told in units of the weights as they are
    c = least ** (-1 / D)
    norm = c * float(flat.norm())
    margins = q.values / least
    euler = float((q.along(flat) - D * q.values).abs().max()) / (D * float(q.values.abs().max()))
    if euler > EULER:
        raise ValueError(
            f"margin: gradients miss Euler's identity by {euler:.2g}, so that the network is not homogeneous near its weights "
            "(custom backward passes, or a kink just there)."
        )
    order = margins.argsort()
    inside = order[: min(working, len(order))]
    v, lam, G = torch.zeros_like(flat), np.zeros(0), flat.new_zeros(0, len(flat))
    for _ in range(ROUNDS):
        fresh = inside[len(G) :]
        G = torch.cat([G, c ** (D - 1) * q.gradients(fresh)])
        lam = _multipliers(G, D)
        v = torch.from_numpy(lam) @ G
        ahead = c ** (D - 1) * q.along(v)
        outside = torch.ones(len(margins), dtype=torch.bool)
        outside[inside] = False
        broken = torch.nonzero(outside & (ahead < D * (1 - tolerance))).flatten()
        if not len(broken):
            break
        inside = torch.cat([inside, broken[ahead[broken].argsort()][:working]])
    else:
        notes.append(
            f"{len(broken)} margins outside the working set of {len(inside)} are still violated: the ratio is a lower bound; "
            "pass a larger working="
        )
    ratio = min(float(v.norm()) / norm, 1.0)
    away = float((c * flat - v).norm()) / norm
    slack = D * float(np.sum(lam * (margins[inside].numpy() - 1))) / norm**2
    per_sample = np.zeros(len(q.x))
    np.add.at(per_sample, q.rows[inside].numpy(), lam)
    smallest = torch.full((len(q.x),), torch.inf, dtype=torch.float64).scatter_reduce(0, q.rows, margins, "amin")
    held = [name for name, _ in q.network.named_parameters() if name not in q.weights]
    if held:
        notes.append(f"of {', '.join(q.weights)} alone; {len(held)} other weight tensors are held as they are")
    return Margin(
        D,
        least / float(flat.norm()) ** D,
        ratio,
        away,
        max(slack, 0.0),
        smallest.numpy(),
        per_sample,
        float(flat.norm()),
        found.parameters,
        tuple(notes),
    )


def _multipliers(G: Tensor, D: float) -> Array:
    """Multipliers of the shortest v with Gv ≥ D, from the smaller of features and Gram matrix."""
    rows = G.numpy()
    if rows.shape[1] > rows.shape[0]:  # the same Gram matrix in fewer numbers
        values, vectors = np.linalg.eigh(rows @ rows.T)
        keep = values > 1e-14 * values[-1]
        rows = vectors[:, keep] * np.sqrt(values[keep])
    solved = hard_margin(rows, np.full(len(rows), D))
    assert solved is not None  # w itself is feasible
    return solved[1]
