"""How samples are handed to a user's network: what is tried, in which order."""

import torch
from torch import nn

from priorscope.models.architectures._hand_over import Scaling, ways


def test_images_are_only_ever_enlarged():
    """An image of 8 by 40 pixels is offered at sides above 40, for a smaller square would lose columns."""
    found = [way.side for way in ways((1, 8, 40), nn.Linear(1, 1), None, torch.zeros(2, 1, 8, 40)) if way.side]
    assert found
    assert min(found) > 40
    upright = [way.side for way in ways((1, 40, 8), nn.Linear(1, 1), None, torch.zeros(2, 1, 40, 8)) if way.side]
    assert upright == found


def test_tokens_in_one_row_are_flattened_first_and_those_in_several_are_not():
    plain = Scaling(torch.zeros(1), torch.ones(1))
    for shape, flat in (((1, 7), True), ((7,), False), ((2, 1), False)):
        tokens = torch.ones(3, *shape)
        first = next(ways(shape, nn.Embedding(4, 2), plain, tokens))
        assert first.tokens is plain
        assert first.flat is flat
        assert first(tokens).shape == (3, 7) if flat else tokens.shape


def test_standardising_is_undone_number_by_number():
    source = torch.Generator().manual_seed(0)
    x = 5 + 3 * torch.randn(8, 2, 3, generator=source)
    x[:, 0, 0] = 7.0  # constant: one of it is one
    z = (x - x[:4].mean(0)) / torch.tensor([2.0, 0.5, 4.0])  # its mean is not zero, for it is that of fewer rows
    torch.testing.assert_close(Scaling.between(x, z).undone(z), x)
