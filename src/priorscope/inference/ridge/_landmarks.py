"""Ridge regression on landmarks for any number of rows: normal equations summed block by block, left-out errors of some rows."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from priorscope.inference.ridge._blocks import block_rows, solve_blocks
from priorscope.inference.ridge._solution import LEAST, RidgeSolution
from priorscope.printing import printed

__all__ = ["Landmarks"]

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
SPECTRAL = 1500  # landmarks up to which all ridges come from one decomposition
SUMMED = 8000  # rows whose squares are summed in single precision before they are added in double precision
JITTER = 1e-7  # of the landmarks' own kernel, in units of its mean, in single precision


@printed
class Landmarks:
    r"""Functions :math:`f = b + \sum_j c_j K(\cdot, z_j)` of landmarks z: least :math:`\sum_i w_i(y_i - f(x_i))^2 + r\|f\|^2`.

    With m landmarks and :math:`K_{zz} = LL^\top` the features :math:`\phi(x) = L^{-1}K_z(x)` turn :math:`\|f\|^2` into the
    square of their coefficients (Nyström's method; Williams & Seeger 2001), and keep the digits that normal equations in c would
    lose. Blocks of rows of :math:`K(x, z)` come one by one (:meth:`add`) and are not kept: memory is that of a few (m, m)
    matrices, time :math:`n m^2`, once for all ridges. Sums are taken about the mean over the landmarks, so that little is lost
    when the mean over rows comes off them.

    Of the rows ``kept`` features stay, and :meth:`left_out` gives what the solution to all other rows predicts for each, exactly:
    :math:`(1 - H_{BB})^{-1}` times the residuals of the fit, with H the hat matrix.

    ``single`` sums in single precision, twice as fast, and adds the sums in double precision. Beside FALKON (Rudi, Carratino &
    Rosasco 2017, arXiv 1705.10958), which solves these equations by conjugate gradients and sees every block some fifteen times
    for each ridge, this sees it once for all ridges: cheaper on processors up to some ten thousand landmarks.

    Example:
        >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
        >>> all_rows = Landmarks(K, np.array([[0.0], [1.0], [5.0]]), np.ones(3))
        >>> for block in (K[:2], K[2:]):
        ...     all_rows.add(block)
        >>> found = all_rows.solve(1e-8)  # it interpolates
        >>> (K @ found.coefficients + found.offset).round(6).ravel().tolist()
        [0.0, 1.0, 5.0]
    """

    def __init__(
        self, inner: Array, targets: Array, weights: Array, *, kept: Ids | None = None, single: bool = False
    ) -> None:
        """``inner`` is the kernel (m, m) of the landmarks; ``kept`` are rows, in order, whose left-out errors are of interest."""
        self.targets, self.weights = targets, weights
        self.kept = np.empty(0, dtype=np.int64) if kept is None else kept
        self.dtype = np.float32 if single else np.float64
        m = len(inner)
        K = inner.copy()
        K[np.diag_indices_from(K)] += (JITTER if single else LEAST) * np.trace(inner) / m
        self.factor: Array = sla.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        self.shift: Array = sla.solve_triangular(self.factor, inner.mean(0), lower=True, check_finite=False)
        self.total = weights.sum()
        self.mean: Array = weights @ targets / self.total
        self.normal = np.zeros((m, m), order="F")
        self.right, self.sums = np.zeros((m, targets.shape[1])), np.zeros(m)
        self.features = np.empty((len(self.kept), m))
        self.seen = 0
        self._spectra: dict[int, tuple[Array, Array, Array]] = {}
        self._narrow = np.asfortranarray(self.factor.astype(self.dtype))
        self._part = np.zeros((m, m), dtype=self.dtype, order="F")
        self._summed = 0

    def __len__(self) -> int:
        return len(self.factor)

    def add(self, block: NDArray[np.floating]) -> None:
        """Take the next rows of the kernel with the landmarks (rows, m)."""
        strsm, ssyrk = sla.get_blas_funcs(("trsm", "syrk"), (self._narrow,))
        rows = slice(self.seen, self.seen + len(block))
        if rows.stop > len(self.targets):
            raise ValueError(f"there are {len(self.targets)} rows in all; got {rows.stop}.")
        self.seen = rows.stop
        root = np.sqrt(self.weights[rows])
        narrow = np.ascontiguousarray(block, dtype=self.dtype)
        phi = strsm(1.0, self._narrow, narrow.T, lower=1, overwrite_b=narrow is not block)  # (m, rows)
        phi -= self.shift.astype(self.dtype)[:, None]
        first, last = np.searchsorted(self.kept, [rows.start, rows.stop])
        self.features[first:last] = phi.T[self.kept[first:last] - rows.start]
        phi *= root.astype(self.dtype)
        self._part = ssyrk(1.0, phi, 1.0, self._part, lower=1, overwrite_c=1)  # below the diagonal
        self._summed += len(block)
        if self._summed >= SUMMED or self.seen == len(self.targets):
            self.normal += self._part
            self._part[:] = 0
            self._summed = 0
        both = np.column_stack([root[:, None] * (self.targets[rows] - self.mean), root])
        found = phi @ both.astype(self.dtype)
        self.right += found[:, :-1]
        self.sums += found[:, -1]
        if self.seen == len(self.targets):
            self.normal -= np.outer(self.sums, self.sums / self.total)

    @property
    def unit(self) -> float:
        """Mean eigenvalue of the centred kernel of all rows, as far as the landmarks carry it."""
        return max(float(np.trace(self.normal)) / max(len(self.targets) - 1, 1), 1e-300)

    def _inside(self, ridge: float, count: int) -> tuple[float, Array, Array]:
        """The ridge, the factor of the normal equations of the first ``count`` features, and the coefficients of these."""
        if self.seen != len(self.targets):
            raise ValueError(f"landmarks need blocks of {len(self.targets)} rows in all; got {self.seen}.")
        A = self.normal[:count, :count].copy(order="F")
        r = max(ridge, LEAST * float(np.trace(A)) / count)
        A[np.diag_indices_from(A)] += r
        factor, failed = sla.lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(
                f"normal equations of {count} landmarks with a ridge of {r:.3g} are not positive."
            )
        inside, _ = sla.lapack.dpotrs(factor, self.right[:count], lower=1)
        return r, factor, inside

    def _spectrum(self, count: int) -> tuple[Array, Array, Array]:
        """Eigenvalues of the normal equations of the first ``count`` features; right side and kept rows in their modes."""
        if count not in self._spectra:
            self._inside(1.0, 1)  # all rows are there
            lam, V = sla.eigh(self.normal[:count, :count], lower=True, driver="evd", check_finite=False)
            psi = self.features[:, :count] - self.sums[:count] / self.total
            least = LEAST * float(lam.sum()) / count
            self._spectra[count] = np.maximum(lam, 0.0) + least, V.T @ self.right[:count], psi @ V
        return self._spectra[count]

    def solve(self, ridge: float) -> RidgeSolution:
        """Coefficients (m, outputs) of the landmarks, and the intercept."""
        r, _, inside = self._inside(ridge, len(self))
        c = sla.solve_triangular(self.factor, inside, lower=True, trans="T", check_finite=False)
        return RidgeSolution(c, self.mean - (self.shift + self.sums / self.total) @ inside, r)

    def left_out(self, ridge: float, blocks: Ids | None = None, count: int | None = None) -> Array:
        """Predictions (kept, outputs) for left-out rows, with their block of ``blocks`` (kept,); by the first ``count``."""
        m = len(self) if count is None else count
        w = self.weights[self.kept]
        if m <= SPECTRAL:
            lam, right, psi = self._spectrum(m)
            fitted = psi @ (right / (lam + ridge)[:, None])
            half = (psi * np.sqrt(w)[:, None] / np.sqrt(lam + ridge)).T
        else:
            _, factor, inside = self._inside(ridge, m)
            psi = self.features[:, :m] - self.sums[:m] / self.total
            fitted = psi @ inside
            half = sla.blas.dtrsm(1.0, factor, (psi * np.sqrt(w)[:, None]).T, lower=1, overwrite_b=1)  # (m, kept)
        missed: Array = self.targets[self.kept] - self.mean - fitted
        if blocks is None:
            own = 1.0 - np.einsum("ij,ij->j", half, half) - w / self.total
            alone: Array = self.targets[self.kept] - missed / own[:, None]
            return alone
        found = np.empty_like(missed)
        for rows in block_rows(blocks):
            inside_block = half[:, rows].transpose(1, 0, 2)  # (blocks, m, size)
            v = np.sqrt(w[rows] / self.total)
            square = np.eye(rows.shape[1]) - inside_block.transpose(0, 2, 1) @ inside_block - v[:, :, None] * v[:, None]
            root = np.sqrt(w[rows])[:, :, None]
            found[rows] = self.targets[self.kept][rows] - solve_blocks(square, root * missed[rows]) / root
        return found

    def lost(self, diagonal: Array, count: int | None = None) -> float:
        """The share of the trace that landmarks leave out, from the kernel of the first ``count`` kept rows with themselves."""
        return max(1 - float(((self.features[:count] + self.shift) ** 2).sum()) / float(diagonal.sum()), 0.0)
