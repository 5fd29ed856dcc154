"""Convolution of features on points with learned radial functions and spherical harmonics."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from priorscope.checks import POSITIVE, checked, whole
from priorscope.models.equivariant._irreps import e3nn_o3

__all__ = ["PointConvolution"]


@checked(max_order=whole(0), cutoff=POSITIVE, neighbours=POSITIVE, radial=whole(), hidden=whole())
class PointConvolution(nn.Module):
    r"""Features on points, each gathered from its neighbours and added to a linear map of its own.

    .. math:: f'_a = \frac{1}{\sqrt z} \sum_{b \in N(a)} f_b \otimes_{w(|r_{ab}|)} Y\!\left(\frac{r_{ab}}{|r_{ab}|}\right) + W f_a

    (Thomas et al. 2018, eq. 7, in the form of e3nn.) The weights w of the tensor product come from a small network of the
    distance, seen through ``radial`` bumps up to ``cutoff``; z is ``neighbours``, about how many points lie within it. Irreps are
    written as e3nn writes them, "8x0e+4x1o"; with ``parity`` False harmonics count as even, so that mirrors are no symmetry.
    e3nn keeps its tables in torch's default precision: for symmetry beyond seven digits set that to double first.

    Holds: turning and shifting the points turns the features; with parity mirrors too.

    Example:
        >>> layer = PointConvolution("1x0e", "2x0e+1x1o", cutoff=2.0)
        >>> layer(torch.ones(3, 4, 1), torch.rand(3, 4, 3)).shape
        torch.Size([3, 4, 5])
    """

    def __init__(
        self,
        irreps_in: str,
        irreps_out: str,
        *,
        max_order: int = 2,
        cutoff: float = 2.0,
        neighbours: float = 3.0,
        parity: bool = True,
        radial: int = 6,
        hidden: int = 24,
    ) -> None:
        """The tensor product with its radial network, and the linear map of each point's own features."""
        super().__init__()
        o3 = e3nn_o3()
        self.harmonics = o3.Irreps([(1, (l, (-1) ** l if parity else 1)) for l in range(max_order + 1)])
        self.orders = list(range(max_order + 1))
        self.product = o3.FullyConnectedTensorProduct(
            irreps_in, self.harmonics, irreps_out, shared_weights=False, internal_weights=False
        )
        self.own = o3.Linear(irreps_in, irreps_out)
        self.cutoff, self.neighbours, self.radial = cutoff, neighbours, radial
        first, last = nn.Linear(radial, hidden), nn.Linear(hidden, self.product.weight_numel)
        nn.init.normal_(first.weight, std=radial**-0.5)
        nn.init.normal_(last.weight, std=hidden**-0.5)
        nn.init.zeros_(last.bias)
        self.weights = nn.Sequential(first, nn.SiLU(), last)

    def forward(self, features: Tensor, positions: Tensor, mask: Tensor | None = None) -> Tensor:
        """Features (n, N, channels) at positions (n, N, 3); points where ``mask`` (n, N) is False are not there."""
        n, N, _ = positions.shape
        own = torch.eye(N, dtype=torch.bool, device=positions.device)
        step = positions[:, None] - positions[:, :, None]  # from a to b: (n, a, b, 3)
        step = torch.where(own[..., None], step.new_tensor([1.0, 0.0, 0.0]), step)  # no direction, and masked below
        near = ~own if mask is None else ~own & mask[:, None] & mask[:, :, None]
        length = step.norm(dim=-1)  # (n, N, N)
        o3 = e3nn_o3()
        Y = o3.spherical_harmonics(self.orders, step, normalize=True, normalization="component")
        weights = self.weights(self._bumps(length))
        sent = features[:, None].expand(n, N, N, features.shape[-1])
        weight = (near & (length < self.cutoff)).to(features)[..., None]
        gathered = (self.product(sent, Y, weights) * weight).sum(2) / self.neighbours**0.5
        found: Tensor = gathered + self.own(features)
        return found

    def _bumps(self, length: Tensor) -> Tensor:
        """Squared cosines along the distance (…, radial), zero from the cutoff on."""
        step = self.cutoff / (self.radial + 1)
        centres = step * torch.arange(1, self.radial + 1, device=length.device)
        off = ((length[..., None] - centres) / step).clamp(-1, 1)
        return 2 * (off * torch.pi / 2).cos().square()
