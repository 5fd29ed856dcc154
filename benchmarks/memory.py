"""Value and gradient of a policy with finite memory: one factorisation and its transpose, beside the source's own way.

Run: python benchmarks/memory.py [--json PATH]

The peer is Algorithm 1 of Geiger, Eloy & Wyart (2021): the restarted transition matrix is squared until its rows agree, and torch
differentiates through it. Both give the mean reward and its gradient for ram(64) and memento(4), 256 states per hypothesis.
Runs alternate; CPU seconds of one thread, medians.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import time

import torch
from _results import row, write

from priorscope.memory import Bandit, Loop, Memory, memento, ram, random_start, two_hypotheses
from priorscope.statistics import fit_power_law

RESETS = (1e-4, 1e-8)  # of learning, and the least of Fig. 2


def ours(loop: Loop, logits: torch.Tensor, reset: float) -> tuple[float, torch.Tensor]:
    """The mean reward and its gradient in the logits."""
    policies = torch.softmax(logits, -1)
    reward, _, slope = loop.reward_and_gradient(policies, reset)
    return float(reward), (policies * (slope - (policies * slope).sum(-1, keepdim=True)))[0]


def squaring(memory: Memory, bandit: Bandit, logits: torch.Tensor, reset: float) -> tuple[float, torch.Tensor]:
    """The same by repeated squaring and reverse-mode differentiation."""
    leaf = logits[0].clone().requires_grad_()
    pi = torch.softmax(leaf, -1)
    total = torch.zeros((), dtype=torch.float64)
    rewards = torch.from_numpy(bandit.rewards[memory.plays[:, -1, 1]])
    for e in range(bandit.n_hypotheses):
        chain = torch.zeros(memory.n_states, memory.n_states, dtype=torch.float64)
        for c in range(bandit.n_outcomes):
            to = torch.from_numpy(memory.successors[:, :, c, 0].copy())
            chain = chain.scatter_add(1, to, pi * torch.from_numpy(bandit.laws[e, memory.arm, c]))
        whole = reset * torch.from_numpy(memory.restart(bandit)[e]) + (1 - reset) * chain
        for _ in range(math.ceil(math.log2(math.log(1e12) / reset))):
            whole = whole @ whole
            whole = whole / whole.sum(1, keepdim=True)
            if float((whole - whole[:1]).detach().abs().max()) < 1e-13:
                break
        total = total + bandit.prior[e] * (whole[0] @ rewards)
    total.backward()
    assert leaf.grad is not None
    return float(total.detach()), leaf.grad


def measure(memory: Memory, reset: float, repeats: int) -> tuple[float, float]:
    """Median CPU seconds of either, alternating, after checking that they agree."""
    world = two_hypotheses(0.1)
    loop, logits = Loop(memory, world), torch.from_numpy(random_start(memory, range(1)))
    (value, slope), (other, theirs) = ours(loop, logits, reset), squaring(memory, world, logits, reset)
    assert abs(value - other) < 1e-9, (value, other)
    assert float((slope - theirs).abs().max()) < 1e-6 * float(theirs.abs().max()), "gradients differ"
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        start = time.process_time()
        ours(loop, logits, reset)
        middle = time.process_time()
        squaring(memory, world, logits, reset)
        times[0].append(middle - start)
        times[1].append(time.process_time() - middle)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    """Print the ratios and the growth with the number of states."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for memory, reset in itertools.product((ram(64), memento(4)), RESETS):
        mine, theirs = measure(memory, reset, arguments.repeats)
        print(
            f"{memory.name}, r = {reset:g}: {1e3 * mine:.2f} ms, repeated squaring {1e3 * theirs:.1f} ms, "
            f"{theirs / mine:.0f} times"
        )
        rows.append(
            row(f"{memory.name}, value and gradient, r = {reset:g}", mine, theirs, "repeated squaring with autograd")
        )
    sizes, seconds = (16, 32, 64, 128), []
    for n in sizes:
        loop, logits = Loop(ram(n), two_hypotheses(0.1)), torch.from_numpy(random_start(ram(n), range(1)))
        runs = []
        for _ in range(arguments.repeats):
            start = time.process_time()
            ours(loop, logits, RESETS[0])
            runs.append(time.process_time() - start)
        seconds.append(statistics.median(runs))
    growth = fit_power_law([float(n) for n in sizes], seconds).exponent
    print(f"growth with the states M of a random access memory, {sizes[0]} to {sizes[-1]}: M^{growth:.2f}")
    rows.append(row("growth with memory states M (exponent)", growth, unit="", note="ram(16) to ram(128), one policy"))
    if arguments.json:
        write(arguments.json, "memory", rows)


if __name__ == "__main__":
    main()
