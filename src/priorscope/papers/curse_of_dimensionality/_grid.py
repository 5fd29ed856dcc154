"""The points of the three papers on symmetry: exact parts, accuracies on two sets of images, interventions."""

from __future__ import annotations

from priorscope.lab import Point
from priorscope.papers.curse_of_dimensionality._systems import GROUPS, VARIANTS

ROTATIONS = ("O(c)⊗I", "O(c)^d", "O(cd)")
PLAIN_AND_ROTATED = ("identity", *ROTATIONS)
SYSTEMS = ("fcn", "lcn", "vec", "gap", "lap")

TINY: Point = {"data": "local", "size": 4, "n": 16, "n_test": 32, "width": 4, "steps": 10}
CIFAR: Point = {"data": "cifar10", "size": 8, "n": 2000, "n_test": 2000, "width": 24, "steps": 400}
LOCAL: Point = {"data": "local", "size": 6, "n": 1000, "n_test": 1000, "width": 16, "steps": 300}
PUBLISHED: Point = {"data": "cifar10", "size": 32, "n": 50000, "n_test": 10000, "width": 512, "steps": 40000}


def exact_grid(scale: str) -> list[Point]:
    """The exact parts: kernels, coupled networks, inclusions."""
    sizes = {"tiny": TINY, "small": CIFAR, "paper": {**PUBLISHED, "size": 8}}[scale]
    few = {**sizes, "n": 64, "n_test": 32, "width": 16, "steps": 100, "seed": 0}
    return _exact(
        {**few, "n": 16, "width": 3} if scale == "tiny" else few, ROTATIONS if scale == "tiny" else GROUPS[1:]
    )


def accuracy_grid(scale: str) -> list[Point]:
    """Accuracies: system × group × variant × draw."""
    if scale == "tiny":
        return [p for name in ("fcn", "vec", "gap") for v in ("ntk", "nn+") for p in _cells(name, v, TINY, range(1))]
    if scale == "paper":
        return [
            p
            for sizes in (PUBLISHED, LOCAL)
            for name in SYSTEMS
            for v in VARIANTS
            for p in _cells(name, v, sizes, range(5), GROUPS)
        ]
    return _small_kernels() + _small_networks()


def intervention_grid(scale: str) -> list[Point]:
    """VEC under O(c)⊗I and O(c)^d and GAP under O(c)⊗I as NN+, both under O(c)⊗I with MixUp, many draws each."""
    shapes = {
        "tiny": [(TINY, 2)],
        "small": [(CIFAR, 4), ({**LOCAL, "steps": 3000}, 6)],  # 300 steps are too few for MixUp
        "paper": [(PUBLISHED, 5), ({**LOCAL, "steps": 3000}, 10)],
    }[scale]
    points: list[Point] = []
    if scale == "small":  # at 2,000 images the two do not come apart; rates and decay by which networks fit
        far: Point = {**CIFAR, "n": 20_000, "steps": 5000, "rate": 0.1, "decay": 5e-4}
        points += _cells("vec", "nn+", far, range(4), ("O(c)⊗I", "O(c)^d"))
    for sizes, draws in shapes:
        seeds = range(draws)
        points += _cells("vec", "nn+", sizes, seeds, ("O(c)⊗I", "O(c)^d"))
        points += _cells("gap", "nn+", sizes, seeds, ("O(c)⊗I",))
        for name in ("vec", "gap"):
            points += _cells(name, "nn++", sizes, seeds, ("O(c)⊗I",))
    return points


def _cells(
    system: str, variant: str, sizes: Point, seeds: range, groups: tuple[str, ...] = PLAIN_AND_ROTATED
) -> list[Point]:
    cell = {"part": "accuracy", "system": system, "variant": variant, **sizes}
    return [{**cell, "group": g, "seed": seed} for seed in seeds for g in groups]


def _exact(few: Point, groups: tuple[str, ...]) -> list[Point]:
    """Kernels and coupled networks under groups inside and outside; the inclusions."""
    points: list[Point] = []
    for name in ("fcn", "lcn", "vec", "gap", "linear"):
        points += [{"part": "kernel", "system": name, "group": g, "variant": "ntk", **few} for g in groups]
    for name in ("fcn", "lcn", "vec", "gap"):
        points += [{"part": "coupling", "system": name, "group": g, "variant": "nn+", **few} for g in ROTATIONS]
    for depth in (2, 3):
        points.append({"part": "inclusion", "system": "all", "group": "identity", "variant": f"depth {depth}", **few})
    return points


def _small_kernels() -> list[Point]:
    """Pooled kernels cost d² per pair of images: all five systems at a size they allow, FCN, LCN and VEC at 2,000 too."""
    shared = {**CIFAR, "n": 400, "n_test": 500}
    local = {**LOCAL, "n": 500, "n_test": 500}
    points: list[Point] = []
    for name in ("fcn", "lcn", "vec", "gap"):
        points += _cells(name, "ntk", shared, range(2)) + _cells(name, "ntk", local, range(2))
        points += _cells(name, "ntk", shared, range(1), ("P(c)^d", "P(cd)"))
    points += _cells("lap", "ntk", shared, range(1)) + _cells("lap", "ntk", local, range(1))
    large = {**CIFAR, "n_test": 1000}
    points += _cells("fcn", "ntk", large, range(2), GROUPS) + _cells("vec", "ntk", large, range(1), GROUPS)
    points += _cells("vec", "ntk", large, range(1, 2))
    return points + _cells("lcn", "ntk", large, range(2), ("identity", "O(c)^d", "O(cd)"))


def _small_networks() -> list[Point]:
    """NN, NN+ and NN++; LCN (d times the filters) mostly as the system that O(c)^d leads to."""
    points: list[Point] = []
    for sizes, draws in ((CIFAR, {"nn": 1, "nn+": 2, "nn++": 1}), (LOCAL, {"nn": 3, "nn+": 3, "nn++": 3})):
        for variant, n_draws in draws.items():
            slow = {**sizes, "steps": 2 * sizes["steps"]} if variant == "nn" else sizes  # its rate is small
            for name in ("fcn", "vec", "gap"):
                points += _cells(name, variant, slow, range(n_draws))
            points += _cells("lcn", variant, slow, range(n_draws), ("identity",))
        points += _cells("lcn", "nn+", sizes, range(1), ("O(c)^d", "O(cd)"))
        points += _cells("lap", "nn+", sizes, range(1))
    for name in ("fcn", "vec", "gap"):
        points += _cells(name, "nn+", LOCAL, range(1), ("P(c)⊗I", "P(c)^d", "P(cd)"))
    return points
