"""Functions of images have the symmetry they were made for."""

from __future__ import annotations

import pytest
import torch

from priorscope.data import hidden_pattern, local_products, neighbour_products
from priorscope.data.synthetic import _image_functions


def test_targets_have_the_symmetry_they_were_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def target(shift: int, make: object, **options: object) -> torch.Tensor:
        fixed = torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(5)).roll(shift, 2)
        monkeypatch.setattr(_image_functions, "_images", lambda *_: fixed)
        return make(20, torch.Generator().manual_seed(0), 8, **options)[1]  # type: ignore[operator]

    torch.testing.assert_close(target(3, local_products), target(0, local_products))
    for make, options in ((local_products, {"anywhere": False}), (neighbour_products, {})):
        moved, still = target(3, make, **options), target(0, make, **options)
        assert (moved - still).abs().mean() > 0.5 * still.std()


@pytest.mark.parametrize("make", [local_products, hidden_pattern])
def test_what_does_not_fit_into_the_image_is_refused(make):
    """A pattern larger than the image was cut off without a word."""
    with pytest.raises(ValueError, match="size 5 do not fit into images of side 4"):
        make(3, torch.Generator().manual_seed(0), side=4, size=5)
    assert make(3, torch.Generator().manual_seed(0), side=4, size=4)[0].shape == (3, 1, 4, 4)
