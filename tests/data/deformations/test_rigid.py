"""Shifts, turns and zooms: their mean displacement, where pixels go, and what is refused."""

from __future__ import annotations

import pytest
import torch

from priorscope.data.deformations import Shift, Turn, Zoom


@pytest.mark.parametrize("move", [Shift(1.3), Turn(1.3), Zoom(1.3)])
def test_pixels_move_by_delta_in_the_root_mean_square(move):
    d = move.displacement(torch.rand(20, dtype=torch.float64), 15)
    assert d.square().sum(1).mean((1, 2)).sqrt().tolist() == pytest.approx([1.3] * 20)


def test_a_half_turn_and_a_whole_shift_by_hand():
    x = torch.randn(2, 1, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    half = Turn(2 * (24 / 6) ** 0.5)  # the largest displacement: 180 degrees
    torch.testing.assert_close(half(x, seed=0), x.flip(-1, -2), rtol=0, atol=1e-12)

    class Right(Shift):
        def displacement(self, random, size):
            return super().displacement(torch.zeros_like(random), size)

    assert torch.equal(Right(1.0)(x)[..., 1:], x[..., :-1])
    with pytest.raises(ValueError, match="a turn moves pixels of a 5 × 5 image by 4 at most; got 9"):
        Turn(9.0)(x)


def test_a_zoom_keeps_the_centre_and_both_ways_occur():
    x = torch.zeros(40, 1, 9, 9)
    x[:, :, 4, 4] = 1
    moved = Zoom(1.0)(x, seed=0)
    assert (moved[:, 0, 4, 4] == 1).all()
    assert len({round(float(s), 4) for s in moved.sum((1, 2, 3))}) == 2


def test_images_draw_their_own_moves_and_bad_ones_are_refused():
    x = torch.randn(1, 1, 9, 9, generator=torch.Generator().manual_seed(0)).expand(6, 1, 9, 9)
    for move in (Shift(1.0), Turn(1.0), Zoom(1.0)):
        assert torch.equal(move(x, seed=1), move(x, seed=1))
        assert (move(x, seed=1)[0] - x[0]).abs().max() > 0.1
        assert torch.equal(type(move)(0.0)(x), x)
        with pytest.raises(ValueError, match="square images"):
            move(x[..., :5])
        with pytest.raises(ValueError, match="floating-point images"):
            move(x.to(torch.uint8))
    assert len(torch.unique(Shift(1.0)(x, seed=1)[:, 0, 4, 4])) == 6
    with pytest.raises(ValueError, match="finite delta >= 0"):
        Shift(-1.0)
