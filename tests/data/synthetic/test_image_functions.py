"""Functions of images have the symmetry they were made for."""

from __future__ import annotations

import pytest
import torch

from priorscope.data import hidden_pattern, local_products, neighbour_products, random_polynomial
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


def test_functions_of_images_by_hand():
    """Each target again, pixel by pixel, from filters and weights drawn as the docstrings say: first those, then images."""
    g = torch.Generator().manual_seed(3)
    w = torch.randn(2, 3, 2, 2, generator=g)
    x, y = local_products(4, torch.Generator().manual_seed(3), 5, channels=3, smooth=False)
    white = torch.randn(4, 3, 5, 5, generator=g)
    torch.testing.assert_close(x, white / white.std())
    value = torch.zeros(4)
    for a in range(5):
        for b in range(5):
            patch = x[:, :, [a, (a + 1) % 5]][:, :, :, [b, (b + 1) % 5]]
            value += (patch * w[0]).sum((1, 2, 3)) * (patch * w[1]).sum((1, 2, 3)) / 25
    torch.testing.assert_close(y, value, rtol=1e-4, atol=1e-5)
    smooth = local_products(4, torch.Generator().manual_seed(3), 5, channels=3)[0]
    summed = white + white.roll(1, 2) + white.roll(1, 3) + white.roll(1, 2).roll(1, 3)
    torch.testing.assert_close(smooth, summed / summed.std())

    g = torch.Generator().manual_seed(3)
    weight, order = torch.randn(25, generator=g), torch.randperm(25, generator=g)
    x, y = neighbour_products(4, torch.Generator().manual_seed(3), 5, sites=3, smooth=False)
    white = torch.randn(4, 1, 5, 5, generator=g)
    torch.testing.assert_close(x, white / white.std())
    value = sum(weight[k] * x[:, 0, k // 5, k % 5] * x[:, 0, k // 5, (k % 5 - 1) % 5] for k in order[:3].tolist())
    torch.testing.assert_close(y, value)
    assert not torch.equal(neighbour_products(4, torch.Generator().manual_seed(3), 5, sites=3)[0], x)

    g = torch.Generator().manual_seed(3)
    w = torch.randn(2, 25, generator=g)
    x, y = random_polynomial(4, torch.Generator().manual_seed(3), 5, directions=2, quadratic=0.3)
    white = torch.randn(4, 1, 5, 5, generator=g)
    torch.testing.assert_close(x, white / white.std())
    u = [x.flatten(1) @ v / float(v @ v) ** 0.5 for v in w]
    torch.testing.assert_close(y, sum(t + 0.3 * (t**2 - 1) for t in u))


def test_a_hidden_pattern_has_the_norm_that_was_asked_and_stands_anywhere():
    noise, _ = hidden_pattern(200, torch.Generator().manual_seed(1), 6, amplitude=0.0)
    x, label = hidden_pattern(200, torch.Generator().manual_seed(1), 6, amplitude=2.5)
    added = x - noise
    torch.testing.assert_close(added.flatten(1).norm(dim=1), torch.full((200,), 2.5))
    assert ((added != 0).sum((1, 2, 3)) == 9).all()
    assert (added[:, 0] != 0).any(0).all()  # every place is met
    kinds = [added[label == k].flatten(1).sort(1).values for k in (0, 1)]
    for kind in kinds:
        torch.testing.assert_close(kind, kind[:1].expand_as(kind), atol=1e-5, rtol=1e-5)
    assert (kinds[0][0] - kinds[1][0]).abs().max() > 0.1
