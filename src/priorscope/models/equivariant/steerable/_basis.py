"""The kernels between two fields that commute with rotations, sampled on a cube of voxels."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from priorscope.checks import POSITIVE, checked, whole
from priorscope.models.equivariant._irreps import real_harmonics, real_wigner

__all__ = ["CUTOFFS", "intertwiner", "kernel_basis"]

CUTOFFS: dict[str, tuple[int, int, int]] = {
    # highest frequency J of the shell m: the first at m = 0, the second at m = 1, then this much more per shell
    "conservative": (0, 2, 2),
    "compromise": (0, 3, 2),
    "generous": (0, 4, 2),
}
"""Lists of the highest angular frequency per shell; "compromise" gives the published counts of weights.

Example:
    >>> sorted(CUTOFFS)
    ['compromise', 'conservative', 'generous']
"""


@cache
def intertwiner(output: int, input: int, J: int) -> Tensor | None:
    r"""The matrix Q ((2j+1)(2l+1), 2J+1) with :math:`(D^j \otimes D^l)(R)\,Q = Q\,D^J(R)`, of norm √(2J+1), or None.

    Found as the null space of that equation at random rotations, as Weiler et al. (2018), section 4.2, propose; one-dimensional
    where \|j-l\| ≤ J ≤ j+l, else empty. The sign makes its first large entry positive.

    Example:
        >>> bool(torch.allclose(intertwiner(1, 1, 0).reshape(3, 3) * 3**0.5, torch.eye(3).double()))  # the trace
        True
        >>> intertwiner(1, 1, 3) is None
        True
    """
    rows, columns = (2 * output + 1) * (2 * input + 1), 2 * J + 1
    normal = torch.zeros(rows * columns, rows * columns, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        R, _ = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64))
        R = R * torch.linalg.det(R)
        outer = torch.kron(real_wigner(output, R), real_wigner(input, R))
        # in row-major order of Q: (A kron 1 - 1 kron D^T) vec(Q)
        difference = torch.kron(outer, torch.eye(columns, dtype=torch.float64)) - torch.kron(
            torch.eye(rows, dtype=torch.float64), real_wigner(J, R).T.contiguous()
        )
        normal += difference.T @ difference
    values, vectors = torch.linalg.eigh(normal)
    size = int((values < 1e-9).sum())
    if size == 0:
        return None
    assert size == 1, f"{size} solutions for j={output}, l={input}, J={J}"
    Q = vectors[:, 0] * columns**0.5
    first = Q[int((Q.abs() > 0.1 * Q.abs().max()).nonzero()[0])]
    found: Tensor = (Q * first.sign()).reshape(rows, columns)
    return found


@checked(output=whole(0), input=whole(0), size=whole(), spread=POSITIVE)
def kernel_basis(
    output: int, input: int, size: int, *, cutoff: str | None = "compromise", spread: float = 0.6
) -> Tensor:
    r"""All kernels from fields of order ``input`` l to order ``output`` j: (B, 2j+1, 2l+1, s, s, s), each of norm 1, float64.

    .. math:: \kappa^{Jm}(x) = \mathrm{unvec}\big(Q_J\,Y^J(x/|x|)\big)\, e^{-(|x|-m)^2/2\sigma^2},\quad |j-l| \le J \le J_{max}^m

    (Weiler et al. 2018, eqs. 12 to 16; shells m = 0 … s//2, σ = ``spread``, default 0.6 of section 4.2.) The frequency J is cut
    per shell, since small shells cannot hold high ones: ``cutoff`` names a list of CUTOFFS, which the paper does not print,
    or None.

    Holds: κ(Rx) = D^j(R) κ(x) D^l(R)⁻¹ exactly for the 24 rotations of the cube (odd s).

    Example:
        >>> kernel_basis(0, 0, 5).shape, kernel_basis(1, 1, 5, cutoff=None).shape
        (torch.Size([3, 1, 1, 5, 5, 5]), torch.Size([9, 3, 3, 5, 5, 5]))
    """
    if size % 2 == 0:
        raise ValueError(f"a kernel that turns about its centre has an odd size; got {size}.")
    if cutoff is not None and cutoff not in CUTOFFS:
        raise ValueError(f"cutoff is one of {', '.join(CUTOFFS)}, or None; got {cutoff!r}.")
    return _sampled(output, input, size, cutoff, spread)


@cache
def _sampled(output: int, input: int, size: int, cutoff: str | None, spread: float) -> Tensor:
    """The basis, computed once: shells times harmonics times intertwiners, each scaled to norm 1."""
    side = torch.arange(size, dtype=torch.float64) - size // 2
    x = torch.stack(torch.meshgrid(side, side, side, indexing="ij"), -1)  # (s, s, s, 3)
    radius = x.norm(dim=-1)
    kernels = []
    for m in range(size // 2 + 1):
        shell = (-(radius - m).square() / (2 * spread**2)).exp()
        for J in range(abs(output - input), output + input + 1):
            if cutoff is not None and _highest(cutoff, m) < J:
                continue
            Q = intertwiner(output, input, J)
            assert Q is not None
            values = real_harmonics(J, x) @ Q.T * shell[..., None]  # (s, s, s, (2j+1)(2l+1))
            if float(values.norm()) < 1e-12:
                continue  # the shell has no voxel besides the origin
            kernel = values.permute(3, 0, 1, 2).reshape(2 * output + 1, 2 * input + 1, size, size, size)
            kernels.append(kernel / kernel.norm())
    if not kernels:
        return torch.zeros(0, 2 * output + 1, 2 * input + 1, size, size, size, dtype=torch.float64)
    return torch.stack(kernels)


def _highest(cutoff: str, shell: int) -> int:
    start, second, step = CUTOFFS[cutoff]
    return start if shell == 0 else second + step * (shell - 1)
