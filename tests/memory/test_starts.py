"""Where learning starts: which jumps and arms each kind allows, and known policies behind their ripple."""

import numpy as np
import pytest

from priorscope.memory import (
    column_of_confidence,
    memento,
    memento_start,
    necklace_policy,
    ram,
    ram_start,
    random_start,
)


def chances(logits):
    return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)


def test_random_logits_are_normal_and_of_their_seed():
    found = random_start(ram(4), range(200), scale=3.0)
    assert abs(found.mean()) < 5 * 3 / found.size**0.5
    assert abs(found.std() / 3 - 1) < 5 / (2 * found.size) ** 0.5
    assert (random_start(ram(4), range(5, 6))[0] == random_start(ram(4), range(6))[5]).all()
    np.testing.assert_allclose(random_start(ram(4), range(1)), found[:1] / 3)
    assert (random_start(memento(3), range(2)) == memento_start(3, "random", range(2))).all()


@pytest.mark.parametrize("kind", ["random", "linear", "columns"])
def test_rows_allow_the_jumps_that_the_source_says(kind):
    n = 4
    logits = ram_start(n, kind, range(2)).reshape(2, n, 2, 2, n, 2)  # memory, arm, reward to memory, arm
    for i in range(n):
        for arm in range(2):
            for to in range(n):
                for play in range(2):
                    near = kind == "random" or abs(i - to) <= 1
                    same = kind != "columns" or play == arm or i == 0
                    assert (np.isfinite(logits[:, i, arm, :, to, play]) == (near and same)).all()


def test_known_policies_are_mixed_with_a_ripple():
    for found, policy in (
        (ram_start(3, "ccp", range(3), exit_rate=0.05), column_of_confidence(3, 0.05)),
        (memento_start(3, "necklace", range(3), rates=(0.03, 0.4)), necklace_policy(3, 0.03, 0.4)),
    ):
        assert found.shape == (3, *policy.shape)
        actions = policy.shape[-1]
        mixed = chances(found) * (1 + 1e-4 * actions)  # 1e-4 was added to each, up to a tenth of it more or less
        added = mixed - policy
        assert np.abs(added - 1e-4).max() < 1e-5 * (1 + actions)  # their sum differs by as much
        assert np.abs(added - 1e-4)[:, policy == 0].max() < 1.1e-5
        assert np.ptp(added, axis=0).max() > 1e-6  # seeds differ


def test_cycles_play_the_oldest_arm_unless_every_reward_spoke_for_one():
    m = 3
    memory = memento(m)
    found = chances(memento_start(m, "cycles", range(4)))
    for state, plays in enumerate(memory.plays):
        arms, paid = plays[:, 0], plays[:, 1]
        for_one = len({arm if reward else 1 - arm for arm, reward in zip(arms, paid)}) == 1
        if for_one:
            assert np.ptp(found[:, state, 0]) > 1e-3  # free: by the seed
        else:
            assert (found[:, state, arms[0]] > 0.999).all()
