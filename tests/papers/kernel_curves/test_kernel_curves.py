"""Made-up tables of known exponents and their opposites; tiny runs give what the claims read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.lab import judge_claim
from priorscope.papers.kernel_curves import _effective_dimension, _kernel_exponents, _teacher_student

CLAIMS = {
    claim.id: claim
    for module in (_teacher_student, _kernel_exponents, _effective_dimension)
    for claim in module.PAPER.claims
}


def verdict(id_: str, rows: list[dict]) -> str:
    return judge_claim(CLAIMS[id_], pd.DataFrame(rows)).verdict


def spheres(laplace=lambda d: 1 / d, gaussian=lambda d: 2 + 2 / d, wide=1.0, seeds=6) -> list[dict]:
    rng = np.random.default_rng(0)
    n = np.array([128, 256, 512, 1024, 2048])
    rows = []
    off = rng.standard_normal((10, 5))
    for seed in range(seeds):
        off = (
            -off if seed % 2 else rng.standard_normal((10, 5))
        )  # in pairs, so that the law itself lies in the interval
        for k, d in enumerate((1, 2, 3, 4, 6)):
            for j, (teacher, law) in enumerate((("laplace", laplace), ("gaussian", gaussian))):
                noise = np.exp(0.01 * off[2 * k + j])
                rows.append(
                    {
                        "part": "sphere",
                        "teacher": teacher,
                        "dim": d,
                        "bandwidth": d,
                        "n": n,
                        "error": n ** -law(d) * noise,
                    }
                )
        for d in (1, 2):
            error = n ** (-wide * laplace(d)) * np.exp(0.01 * rng.standard_normal(5))
            rows.append({"part": "sphere", "teacher": "laplace", "dim": d, "bandwidth": 10, "n": n, "error": error})
    return [{**row, "seed": i} for i, row in enumerate(rows)]


def test_exponents_on_spheres():
    assert verdict("K.1", spheres()) == "holds"
    assert verdict("K.2", spheres()) == "holds"
    assert verdict("K.4", spheres()) == "holds"
    assert verdict("K.1", spheres(laplace=lambda d: 0.5)) == "fails"
    assert verdict("K.2", spheres(gaussian=lambda d: 2.0)) == "fails"
    assert verdict("K.4", spheres(wide=0.6)) == "fails"
    assert verdict("K.1", spheres(seeds=1)) == "not shown"


def test_lattices_and_the_circle():
    good = [{"part": part, "slope": -1.001, "theory": -1.0} for part in ("lattice", "circle", "gaussian lattice")]
    assert verdict("K.3", good) == verdict("K.5b", good) == "holds"
    bad = [{**row, "slope": -1.2} for row in good]
    assert verdict("K.3", bad) == verdict("K.5b", bad) == "fails"


def digits(beta6: float, beta2: float, gaussian) -> list[dict]:
    n = np.array([25, 50, 100, 200])
    rows = []
    for seed in range(6):
        for dim, beta in ((6, beta6), (2, beta2)):
            error = n**-beta * (1 + 0.01 * seed)
            rows.append({"part": "digits", "teacher": "laplace", "dim": dim, "n": n, "error": error, "seed": seed})
        rows.append(
            {
                "part": "digits",
                "teacher": "gaussian",
                "dim": 6,
                "n": n,
                "error": gaussian(n) * (1 + 0.01 * seed),
                "seed": seed,
            }
        )
    return rows


def test_gaussian_students():
    fast = lambda n: np.exp(-3.0 * n ** (1 / 3))  # noqa: E731
    assert verdict("K.5", digits(1 / 6, 0.5, fast)) == "holds"
    assert verdict("K.5", digits(-0.5, 0.5, fast)) == "fails"
    assert verdict("K.6", digits(1 / 6, 0.5, fast)) == "holds"
    assert verdict("K.6", digits(1 / 6, 0.5, lambda n: n**-3.0)) == "fails"


def test_theory_from_spectra():
    row = {
        "part": "spectral",
        "slope": -1.0,
        "error": np.ones(4),
        "beyond": np.full(4, 0.4),
        "measured": np.full(3, 1.2),
    }
    rows = [{**row, "teacher": "laplace"}, {**row, "teacher": "gaussian", "slope": -4.0}]
    assert verdict("K.7", rows) == "holds"
    assert verdict("K.8", rows) == "holds"
    rows[1]["beyond"] = np.full(4, 1e-9)  # of a Gaussian teacher the student is the limit
    assert verdict("K.8", rows) == "holds"
    rows[0]["beyond"] = np.full(4, 1e-9)
    assert verdict("K.8", rows) == "fails"
    rows[1]["slope"] = -3.0
    assert verdict("K.7", rows) == "fails"


def images(mnist=0.4, cifar=0.1, svm=None, kernel_gap=0.0, width_gap=0.0, head=(0.36, 0.07)) -> list[dict]:
    rng = np.random.default_rng(1)
    n = np.array([125, 250, 500, 1000, 2000, 4000])
    rows = []
    law = lambda beta: n**-beta * np.exp(0.003 * rng.standard_normal(6))  # noqa: E731
    for seed in range(5):
        for data, beta in (("mnist", mnist), ("cifar10", cifar)):
            for kernel, gap in (("laplace", 0.0), ("gaussian", kernel_gap)):
                rows.append(
                    {
                        "part": "curve",
                        "data": data,
                        "kernel": kernel,
                        "bandwidth": 1000.0,
                        "n": n,
                        "mse": law(beta + gap),
                        "seed": seed,
                    }
                    | {"svm_wrong": law(beta if svm is None else svm)[:5]}
                )
        for width in (10.0, 100.0, 1000.0, 10000.0):
            rows.append(
                {
                    "part": "width",
                    "data": "mnist",
                    "kernel": "laplace",
                    "bandwidth": width,
                    "n": n,
                    "mse": law(mnist + width_gap * (width != 1000)),
                }
                | {"seed": seed, "svm_wrong": np.array([])}
            )
    for data, value, theta in (("mnist", head[0], 1.94), ("cifar10", head[1], 1.97)):
        for seed in range(2):
            rows.append(
                {
                    "part": "modes",
                    "data": data,
                    "seed": seed,
                    "beta_head": value + 1e-3 * seed,
                    "beta_modes": value,
                    "beta_tail": value,
                }
                | {"theta": theta + 1e-3 * seed, "worst_ratio": 0.05 + 1e-3 * seed}
            )
    return rows


def test_exponents_of_images():
    assert {verdict(f"K.{i}", images()).removesuffix(" with changes") for i in range(9, 14)} == {"holds"}
    assert verdict("K.14", images()).startswith("holds")
    assert verdict("K.9", images(mnist=0.7)) == "fails"
    assert verdict("K.10", images(svm=0.8)) == "fails"
    assert verdict("K.11", images(kernel_gap=0.3)) == "fails"
    assert verdict("K.12", images(width_gap=0.2)) == "fails"
    assert verdict("K.13", images(head=(0.6, 0.3))) == "fails"
    worse = [{**row, "worst_ratio": 0.5 + 0.001 * row["seed"]} for row in images()]
    assert verdict("K.14", worse) == "fails"


def test_dimensions():
    def rows(mnist, cifar, error):
        found = []
        for seed in range(3):
            found += [
                {"data": name, "overlay": d + 0.1 * seed, "slope": d, "last_local": d, "residual": 0.01, "seed": seed}
                for name, d in (("mnist", mnist), ("cifar10", cifar))
            ]
            found += [
                {"data": f"sphere {d}", "overlay": d * (1 + error + 1e-4 * seed), "seed": seed}
                | {"slope": d * (0.7 if d > 5 else 1 + error) + 1e-4 * seed, "last_local": d, "residual": 0.0}
                for d in (1, 2, 3, 5, 15, 35)
            ]
        return found

    assert verdict("K.15", rows(15, 35, 0.0)) == verdict("K.16", rows(15, 35, 0.01)) == "holds"
    assert verdict("K.15", rows(9, 35, 0.0)) == "fails"
    assert verdict("K.16", rows(15, 35, 0.2)) == "fails"


@pytest.mark.parametrize("module", [_teacher_student, _kernel_exponents, _effective_dimension])
def test_one_tiny_point_of_every_part(module, as_recorded):
    paper = module.PAPER
    seen, rows = set(), []
    for point in paper.points("tiny"):
        kind = (point.get("part"), point.get("teacher"), str(point.get("data")).partition(" ")[0], point.get("kernel"))
        if kind not in seen:
            seen.add(kind)
            rows.append({**point, **paper.run(point)})
    paper.chart(pd.DataFrame(rows)).to_dict()
    assert len(rows) >= 2
    as_recorded(paper, rows)


def test_images_that_are_there_twice_are_counted_once(monkeypatch):
    x = torch.randn(320, 6, generator=torch.Generator().manual_seed(0)).double()
    x[300:] = x[:20]
    monkeypatch.setattr(_effective_dimension, "two_classes", lambda name, n, *rest: (x[:n], None, None, None))
    found = _effective_dimension.run({"data": "anything", "n": 320, "seed": 0})
    assert found["n_subset"][-1] == 300
    assert np.isfinite(found["overlay"])
