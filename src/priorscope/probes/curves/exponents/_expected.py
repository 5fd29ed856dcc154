"""What exponent each candidate should reach on these data, and why, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from priorscope.contracts import Samples, guarded
from priorscope.probes.curves.exponents._dimension import EffectiveDimension, effective_dimension
from priorscope.probes.curves.exponents._kernel_pca import KernelPCAExponent, kernel_pca_exponent

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ExpectedExponents", "expected_exponents"]


@dataclass(frozen=True)
class ExpectedExponents:
    """The dimension of the data and, for every candidate, the exponent of its learning curve with what limits it.

    Example:
        >>> import priorscope as ps
        >>> data = ps.data.digits(classes="parity").subset(300)
        >>> grams = {"laplace": ps.models.laplace().kernel(data.inputs).ntk}
        >>> found = expected_exponents(data.inputs, data.targets, grams)
        >>> print(found.sentences()[1][:40])
        laplace: the error should fall about lik
    """

    dimension: EffectiveDimension
    found: dict[str, KernelPCAExponent]

    def table(self) -> pd.DataFrame:
        """One row per candidate: β with its bracket, the most that smoothness allows, what limits, the smoothness index."""
        rows = []
        for name, pca in self.found.items():
            low, high = pca.bracket
            allowed = 2 * pca.decay
            middle = float(np.median(list(pca.estimates.values())))
            rows.append(
                {
                    "candidate": name,
                    "beta": min(middle, allowed),
                    "low": min(low, allowed),
                    "high": min(high, allowed),
                    "allowed": allowed,
                    "limited_by": "target" if middle < allowed else "kernel",
                    "smoothness": min(middle, allowed) * self.dimension.overlay / 2,
                }
            )
        return pd.DataFrame(rows)

    def sentences(self) -> list[str]:
        """The dimension of the data first, then one sentence per candidate."""
        said = [self.dimension.sentence()]
        for row in self.table().itertuples():
            why = (
                f"that is how the target's power falls along its modes; its smoothness would allow n^-{row.allowed:.1f}"
                if row.limited_by == "target"
                else "its own smoothness allows no more, the target would"
            )
            said.append(
                f"{row.candidate}: the error should fall about like n^-{row.beta:.2f} (estimates {row.low:.2f} to "
                f"{row.high:.2f}): {why}."
            )
        return said

    def chart(self) -> alt.TopLevelMixin:
        """The exponent of each candidate with the range of its three estimates."""
        import altair as alt

        base = alt.Chart(self.table(), title="exponent each candidate should reach").encode(
            y=alt.Y("candidate:N", title=None, sort="-x")
        )
        return alt.layer(
            base.mark_rule().encode(x=alt.X("low:Q", title="β of n^-β"), x2="high:Q"),
            base.mark_point(filled=True, size=60).encode(x="beta:Q"),
        )


@guarded()
def expected_exponents(
    inputs: Samples | ArrayLike,
    targets: ArrayLike,
    grams: Mapping[str, ArrayLike],
    *,
    dimension: EffectiveDimension | None = None,
) -> ExpectedExponents:
    r"""The exponent that each candidate's learning curve should reach, from its Gram matrix and the targets.

    .. math:: \beta = \min(a - 1,\ 2\,\alpha_S/d)

    with a the decay of the target's power along the kernel's modes (median of :func:`kernel_pca_exponent`'s three
    estimates, their range as bracket) and :math:`\alpha_S/d` that of the eigenvalues (Spigler, Geiger & Wyart 2020,
    eqs. 1, 12 and 57). The smoothness index is :math:`s = \beta d/2` with the effective dimension d. ``grams`` maps names of
    candidates to matrices over the same samples.

    Example:
        >>> import priorscope as ps
        >>> x = ps.data.sphere(200, 3, seed=0)
        >>> grams = {"fcn": ps.models.fcn(2).kernel(x).ntk, "laplace": ps.models.laplace(1.0).kernel(x).ntk}
        >>> expected_exponents(x, x[:, 0] * x[:, 1], grams).table().candidate.tolist()
        ['fcn', 'laplace']
    """
    seen = effective_dimension(inputs) if dimension is None else dimension
    return ExpectedExponents(seen, {name: kernel_pca_exponent(gram, targets) for name, gram in grams.items()})
