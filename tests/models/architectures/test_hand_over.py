"""How samples are handed to a user's network: what is tried, in which order."""

import torch
from torch import nn

from priorscope.models.architectures._hand_over import ways


def test_images_are_only_ever_enlarged():
    """An image of 8 by 40 pixels is offered at sides above 40, for a smaller square would lose columns."""
    found = [way.side for way in ways((1, 8, 40), nn.Linear(1, 1), None, torch.zeros(2, 1, 8, 40)) if way.side]
    assert found
    assert min(found) > 40
    upright = [way.side for way in ways((1, 40, 8), nn.Linear(1, 1), None, torch.zeros(2, 1, 40, 8)) if way.side]
    assert upright == found
