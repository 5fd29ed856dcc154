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
