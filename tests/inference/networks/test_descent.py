"""The loop of discrete training by hand, and its batches."""

from __future__ import annotations

import torch

from priorscope.inference.networks._descent import Batches, descend


def test_steps_are_looked_at_before_each_and_after_the_last():
    seen: list[tuple[float, int]] = []

    def look(w: float, done: int) -> bool:
        seen.append((w, done))
        return False

    found = descend(8.0, lambda w, done: w, lambda w, g, done: w - g / 2**done, 3, look)
    assert seen == [(8.0, 0), (0.0, 1), (0.0, 2), (0.0, 3)]
    seen.clear()
    found = descend(8.0, lambda w, done: w + done, lambda w, g, done: w - g / 2, 3, look)
    assert seen == [(8.0, 0), (4.0, 1), (1.5, 2), (-0.25, 3)]
    assert found == (seen[-1][0], 3)


def test_whoever_looks_can_end_it_before_a_gradient_is_taken():
    asked = []
    found = descend(2.0, lambda w, done: asked.append(done), lambda w, g, done: w - 1, 9, lambda w, done: w <= 0)
    assert found == (0.0, 2)
    assert asked == [0, 1]
    assert descend(2.0, lambda w, done: 1 / 0, lambda w, g, done: w, 0, lambda w, done: False) == (2.0, 0)


def test_an_epoch_sees_every_row_once_in_an_order_of_its_own():
    batches = Batches(7, 3, torch.Generator().manual_seed(0))
    epochs = [[batches(3 * e + part) for part in range(3)] for e in range(2)]
    assert [len(rows) for rows in epochs[0]] == [3, 3, 1]
    orders = [torch.cat(epoch) for epoch in epochs]
    assert all(order.sort().values.tolist() == list(range(7)) for order in orders)
    assert orders[0].tolist() != orders[1].tolist()
    again = torch.randperm(7, generator=torch.Generator().manual_seed(0))  # the oracle: torch's own shuffle
    assert orders[0].tolist() == again.tolist()
