"""Where the labels lie in the spectrum of a network's Jacobian: information is learnt fast and generalises, nuisance is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from priorscope.checks import POSITIVE, SEED, optional, whole
from priorscope.contracts import guarded
from priorscope.printing import printed
from priorscope.probes.limits.information._gap import gap_dimension
from priorscope.probes.tangent._apart import check_takes
from priorscope.probes.tangent._ntk_operator import NTKOperator, ntk_operator

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["InformationPath", "InformationSplit", "information_path", "information_split"]

Array = NDArray[np.float64]
PRODUCTS = 8  # with random signs, for the energy outside the information space
SPARE = 1  # singular values beyond the information space, for the gap at its end


@printed
@dataclass(frozen=True, eq=False)
class InformationSplit:
    r"""The leading singular values of a Jacobian and the parts of some vectors in their span.

    ``information`` and ``nuisance`` are :math:`\|\Pi_I v\|/\|v\|` and :math:`\|\Pi_N v\|/\|v\|` by name of v (their squares
    sum to one), ``effort`` is :math:`\|J_I^+ v\|/\|v\|`, how far the weights move to fit the part in I. ``gap`` is the ratio
    of the last singular value of I to the next one, NaN where there is none. Definitions of Oymak et al. (2019). ``energy``
    is the share of :math:`\|J\|_F^2` in I, near one where J has low rank. ``shuffled``
    is the root mean square of the labels' part in I over all orders of the same labels: what is there without any signal.

    Example:
        >>> split = information_split(nn.Linear(3, 1, bias=False), torch.diag(torch.tensor([3.0, 0.2, 0.1])), torch.eye(3)[:, :1])
        >>> split.dimension, round(split.information["labels"], 4)
        (1, 1.0)
    """

    singular_values: Array
    dimension: int
    gap: float
    information: dict[str, float]
    nuisance: dict[str, float]
    effort: dict[str, float]
    size: int  # samples times outputs
    energy: float
    shuffled: float
    vectors: Array = field(repr=False)

    @property
    def chance(self) -> float:
        """What a random direction has in the information space, the root of its share of dimensions."""
        return float(np.sqrt(self.dimension / self.size))

    def project(self, values: Tensor) -> tuple[float, float]:
        r"""The norms :math:`\|\Pi_I v\|` and :math:`\|\Pi_N v\|` of any other vector (n, outputs), such as a later residual.

        Example:
            >>> x = torch.diag(torch.tensor([3.0, 0.2, 0.1]))
            >>> split = information_split(nn.Linear(3, 1, bias=False), x, torch.ones(3, 1), dimension=1)
            >>> [round(v, 3) for v in split.project(torch.tensor([[3.0], [4.0], [0.0]]))]
            [3.0, 4.0]
        """
        v = values.detach().double().reshape(-1).cpu().numpy()
        if v.shape != (self.size,) or not np.isfinite(v).all():
            raise ValueError(
                f"project needs {self.size} finite numbers (samples × outputs); got {tuple(values.shape)}."
            )
        inside = float(np.linalg.norm(self.vectors.T @ v))
        return inside, float(np.sqrt(max(v @ v - inside**2, 0.0)))

    def sentence(self) -> str:
        """The share of the label signal in the information space, in one sentence."""
        share = 100 * self.information["labels"] ** 2
        return (
            f"{share:.0f} % of the label signal lies in the {self.dimension} leading directions of the Jacobian, which are "
            f"learnt first (the same labels in random order: {100 * self.shuffled**2:.0f} %)."
        )

    def table(self) -> pd.DataFrame:
        """One row per vector: its parts, the effort, and what a random direction has."""
        import pandas as pd

        rows = [
            {
                "of": name,
                "information": self.information[name],
                "nuisance": self.nuisance[name],
                "effort": self.effort[name],
            }
            for name in self.information
        ]
        return pd.DataFrame(rows).assign(chance=self.chance, dimension=self.dimension)

    def chart(self) -> alt.TopLevelMixin:
        """Singular values by rank; the dashed rule is the end of the information space."""
        import altair as alt
        import pandas as pd

        table = pd.DataFrame({"rank": np.arange(1, len(self.singular_values) + 1), "value": self.singular_values})
        table = table[table["value"] > 0]
        dots = (
            alt.Chart(table)
            .mark_circle()
            .encode(x=alt.X("rank:Q"), y=alt.Y("value:Q", title="singular value of the Jacobian").scale(type="log"))
        )
        end = alt.Chart(pd.DataFrame({"rank": [self.dimension + 0.5]})).mark_rule(strokeDash=[4, 4]).encode(x="rank:Q")
        return alt.layer(dots, end)


def _columns(values: Tensor, n: int, outputs: int, name: str) -> Array:
    """A vector (n × outputs) from targets (n, outputs), or from labels (n,) as one-hot rows."""
    found = values.detach()
    if found.ndim == 1 and outputs > 1 and not found.is_floating_point():
        found = torch.nn.functional.one_hot(found.long(), outputs)
    found = found.reshape(len(found), -1).double()
    if found.shape != (n, outputs) or not bool(torch.isfinite(found).all()):
        raise ValueError(
            f"information_split needs {name} of shape ({n}, {outputs}), finite, as the network gives; got {tuple(values.shape)}. "
            "Integer labels (n,) become one-hot rows."
        )
    flat: Array = found.reshape(-1).cpu().numpy()
    if not np.any(flat):
        raise ValueError(f"information_split cannot project {name}: all of it is zero.")
    return flat


def _left_over(operator: NTKOperator, U: Array, seed: int) -> float:
    r"""The trace of :math:`JJ^\top` outside the span of U, from products with random signs (Hutchinson 1990)."""
    z = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], size=(PRODUCTS, len(U)))
    z -= z @ U @ U.T
    return float(np.mean([v @ np.asarray(operator @ v.astype(operator.dtype), dtype=np.float64) for v in z]))


def _mean_over_orders(U: Array, labels: Array) -> float:
    r"""The mean of :math:`\|U^\top y\|^2` over all orders of the samples' labels (n, outputs) (derived here).

    The mean label stays in every order. What is left has covariance :math:`S\,(\delta_{ij} - 1/n)` between samples i and j,
    S that of the outputs.
    """
    n, outputs = labels.shape
    modes = U.reshape(n, outputs, -1)
    mean = labels.mean(0)
    S = (labels - mean).T @ (labels - mean) / (n - 1)
    total = modes.sum(0)
    spread = np.einsum("ick,cd,idk->", modes, S, modes, optimize=True) - np.einsum("ck,cd,dk->", total, S, total) / n
    return float(((mean @ total) ** 2).sum() + spread)


@guarded(dimension=optional(whole()), most=whole(2), block=optional(whole()), tolerance=POSITIVE, seed=SEED)
def information_split(
    network: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    *,
    others: Mapping[str, Tensor] | None = None,
    dimension: int | None = None,
    most: int = 60,
    block: int | None = None,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> InformationSplit:
    r"""The Jacobian :math:`J = \partial f/\partial w` (nC, p) of any module on these inputs, split where its spectrum falls off.

    Information space :math:`I = \mathrm{span}\{u_s : \lambda_s \ge \alpha\}` of the left singular vectors, nuisance space N its
    complement (Oymak, Fabian, Li & Soltanolkotabi 2019, arXiv 1906.05392): what lies in I is learnt in few steps and generalises,
    what lies in N needs many and overfits. ``dimension`` is that of I; by default the widest gap among the ``most``
    leading values (:func:`gap_dimension`). Parts are told of the labels, of the residual f − y, and of ``others`` by name, such
    as labels that were corrupted on purpose. No Jacobian is formed: Lanczos iteration on its products
    (:func:`priorscope.probes.ntk_operator`); memory is that of one batch of ``block`` inputs and a few vectors.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        >>> x = torch.randn(50, 4)
        >>> split = information_split(net, x, x[:, :1], others={"noise": torch.randn(50, 1)}, dimension=5)
        >>> split.information["labels"] > 0.95, split.information["noise"] < 0.7
        (True, True)
    """
    if others is not None and not isinstance(others, Mapping):
        raise TypeError(
            f"information_split needs others as a dictionary of names and labels; got {type(others).__name__}."
        )
    for name, given in {"targets": targets, **(others or {})}.items():
        if not isinstance(given, Tensor):
            raise TypeError(f"information_split needs {name} as a tensor; got {type(given).__name__}.")
    check_takes(network, inputs[:1], "information_split")
    operator = ntk_operator(network, inputs, block=block)
    n, outputs = len(inputs), operator.n_outputs
    size = n * outputs
    wanted = min((dimension or most) + SPARE, size - 1)
    if dimension is not None and dimension > size - 1:
        raise ValueError(f"information_split needs dimension < samples × outputs = {size}; got {dimension}.")
    if size < 3:
        raise ValueError(f"information_split needs at least three outputs of samples; got {size}.")
    values, vectors = operator.top(wanted, tolerance=tolerance, seed=seed)
    lam = np.sqrt(np.maximum(np.asarray(values, dtype=np.float64) * n, 0.0))
    if lam[0] <= 0:
        raise ValueError("information_split found no direction in which the outputs move with the weights.")
    if dimension is None:
        k, gap = gap_dimension(lam)
    else:
        k, gap = dimension, float("nan")
        if len(lam) > dimension:
            gap = gap_dimension(lam, least=dimension, most=dimension)[1]
    U = np.asarray(vectors[:, :k], dtype=np.float64)
    with torch.no_grad():
        outcome = torch.cat([network(part).reshape(len(part), -1) for part in inputs.split(block or 1024)])
    labels = _columns(targets, n, outputs, "targets")
    told = {"labels": labels, "residual": outcome.double().reshape(-1).cpu().numpy() - labels}
    told |= {name: _columns(v, n, outputs, name) for name, v in (others or {}).items()}
    parts = {name: U.T @ v / np.linalg.norm(v) for name, v in told.items() if np.any(v)}
    inside = {name: min(float(np.linalg.norm(p)), 1.0) for name, p in parts.items()}
    return InformationSplit(
        lam,
        k,
        gap,
        inside,
        {name: float(np.sqrt(1 - v**2)) for name, v in inside.items()},
        {name: float(np.linalg.norm(p / lam[:k])) for name, p in parts.items()},
        size,
        float((lam[:k] ** 2).sum() / ((lam[:k] ** 2).sum() + _left_over(operator, U, seed))),
        float(np.sqrt(_mean_over_orders(U, labels.reshape(n, outputs)) / (labels @ labels))),
        U,
    )


@dataclass(frozen=True, eq=False)
class InformationPath:
    """Splits along training, by name of the moment.

    Example:
        >>> net = nn.Linear(3, 1)
        >>> path = information_path({"start": net}, torch.eye(3), torch.eye(3)[:, :1], dimension=1)
        >>> path.table()["when"].unique().tolist()
        ['start']
    """

    splits: dict[str, InformationSplit]

    def table(self) -> pd.DataFrame:
        """One row per moment and vector."""
        import pandas as pd

        return pd.concat([split.table().assign(when=when) for when, split in self.splits.items()], ignore_index=True)

    def chart(self) -> alt.TopLevelMixin:
        """The part in the information space of each vector against the moments."""
        import altair as alt

        lines: alt.Chart = (
            alt.Chart(self.table())
            .mark_line(point=True)
            .encode(
                x=alt.X("when:N", sort=None, title=None),
                y=alt.Y("information:Q", title="part in the information space").scale(domain=[0, 1]),
                color=alt.Color("of:N", title=None),
            )
        )
        return lines


@guarded(dimension=whole(), block=optional(whole()), seed=SEED)
def information_path(
    networks: Mapping[str, nn.Module],
    inputs: Tensor,
    targets: Tensor,
    *,
    others: Mapping[str, Tensor] | None = None,
    dimension: int = 50,
    block: int | None = None,
    seed: int = 0,
) -> InformationPath:
    """:func:`information_split` of one network at several moments (copies of it by name), all of the same ``dimension``.

    Default 50, that of the published tables for three classes (Oymak et al. 2019). Labels move into the information space while a
    network learns features, labels at random stay outside.

    Example:
        >>> import copy
        >>> net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        >>> later = copy.deepcopy(net)
        >>> _ = nn.init.ones_(later[0].weight)
        >>> information_path({"start": net, "end": later}, torch.eye(3), torch.eye(3)[:, :1], dimension=1).table().shape
        (4, 7)
    """
    if not networks:
        raise ValueError("information_path needs at least one network by the name of its moment.")
    return InformationPath(
        {
            when: information_split(
                network, inputs, targets, others=others, dimension=dimension, block=block, seed=seed
            )
            for when, network in networks.items()
        }
    )
