"""Tensors with symmetric indices, taken apart into irreducible pieces."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from priorscope.models.equivariant._irreps import e3nn_o3
from priorscope.printing import printed

__all__ = ["TensorDecomposition", "decompose_tensor"]


@printed
@dataclass(frozen=True)
class TensorDecomposition:
    """The irreps of a tensor, and the orthonormal basis (dimension, *shape of the tensor) that takes it apart.

    Example:
        >>> import torch
        >>> parts = decompose_tensor("ij=ji", i="1o")
        >>> strain = torch.eye(3).double()
        >>> parts.apart(strain).abs().round(decimals=3).tolist()  # a multiple of the identity has a scalar alone
        [1.732, 0.0, 0.0, 0.0, 0.0, 0.0]
        >>> bool(torch.allclose(parts.together(parts.apart(strain)), strain, atol=1e-6))
        True
    """

    irreps: str
    basis: Tensor

    def apart(self, tensor: Tensor) -> Tensor:
        """Components (…, dimension) of tensors (…, *shape)."""
        rank = self.basis.ndim - 1
        if tensor.shape[-rank:] != self.basis.shape[1:]:
            raise ValueError(
                f"wanted tensors (…, {', '.join(map(str, self.basis.shape[1:]))}); got {tuple(tensor.shape)}."
            )
        return tensor.flatten(-rank) @ self.basis.flatten(1).T.to(tensor)

    def together(self, components: Tensor) -> Tensor:
        """The tensors (…, *shape) of these components."""
        found: Tensor = (components @ self.basis.flatten(1).to(components)).unflatten(-1, self.basis.shape[1:])
        return found


def decompose_tensor(formula: str, **indices: str) -> TensorDecomposition:
    """The irreducible pieces of a tensor whose indices have these symmetries, such as "ij=ji" or "ijkl=jikl=klij".

    Each index names its irreps; a vector is "1o". Stiffness has 21 numbers: two scalars, two of order 2, one of order 4.

    Example:
        >>> decompose_tensor("ijkl=jikl=klij", i="1o").irreps
        '2x0e+2x2e+1x4e'
    """
    if not indices:
        raise ValueError(f"say what the indices of {formula!r} are: decompose_tensor({formula!r}, i='1o').")
    try:
        found = e3nn_o3().ReducedTensorProducts(formula, **indices)
    except (RuntimeError, AssertionError, ValueError, KeyError, IndexError) as error:
        raise ValueError(
            f"{formula!r} with {indices} is no tensor: wanted permutations of one word, as in 'ij=-ji', and irreps of its "
            f"indices, as in i='1o' ({error})."
        ) from error
    return TensorDecomposition(str(found.irreps_out), found.change_of_basis)
