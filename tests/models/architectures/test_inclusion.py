"""GAP ⊆ VEC ⊆ LCN ⊆ wide VEC: identical outputs."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import fcn, gap, gap_to_vec, lcn, lcn_to_vec, vec, vec_to_lcn

MAPS = {"gap": (gap, gap_to_vec), "vec": (vec, vec_to_lcn), "lcn": (lcn, lcn_to_vec)}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("padding", ["circular", "zeros", "valid"])
@pytest.mark.parametrize("shape", [(2, 5), (3, 4, 4)], ids=["1-D", "2-D"])
def test_outputs_are_identical(name: str, padding: str, shape: tuple[int, ...]) -> None:
    make, embed = MAPS[name]
    x = torch.randn(4, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for depth, parametrisation in ((2, "ntk"), (3, "standard")):
        arch = make(depth, kernel_size=2 if padding == "valid" else 3, padding=padding, bias_variance=0.2)
        small = arch.network(shape, 3, 2, parametrisation=parametrisation, dtype=torch.float64)
        large = embed(small, shape)
        torch.testing.assert_close(large(x), small(x), rtol=1e-12, atol=1e-12)
        with torch.no_grad():
            next(large.parameters()).mul_(1.01)
        assert (large(x) - small(x)).abs().max() > 1e-4  # the control: its weights are used


def test_wide_vec_has_a_channel_for_every_neuron_and_pixel() -> None:
    wide = lcn_to_vec(lcn(2).network((1, 6), 3), (1, 6))
    assert wide[2].weight.shape == (18, 18, 3)  # type: ignore[index]


def test_other_networks_are_refused() -> None:
    with pytest.raises(TypeError, match=r"made by priorscope.models.gap\("):
        gap_to_vec(vec(2).network((1, 6), 3), (1, 6))
    with pytest.raises(TypeError, match="got Antisymmetric"):
        vec_to_lcn(vec(2).network((1, 6), 3, initialisation="antisymmetric"), (1, 6))
    with pytest.raises(TypeError, match="lcn"):
        lcn_to_vec(fcn(2).network((6,), 3), (6,))


def test_a_changed_network_is_refused() -> None:
    class Doubled(torch.nn.Sequential):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(input)

    network = gap(depth=1).network((3, 4, 4), width=5, seed=0)
    with pytest.raises(TypeError, match="made by priorscope.models.gap"):
        gap_to_vec(Doubled(*network), (3, 4, 4))
    network[0].register_forward_hook(lambda module, inputs, output: 2 * output)
    with pytest.raises(TypeError, match="made by priorscope.models.gap"):
        gap_to_vec(network, (3, 4, 4))
