"""Pictures of the docs, drawn by what they show: ``python tools/pictures.py [NAME …]`` writes docs/images/NAME.png."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import priorscope as ps

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"


def spectrum() -> Any:
    """Eigenvalues of a dense kernel on the digits, and where parity lies among its modes."""
    data = ps.data.digits(classes="parity").subset(400, seed=0)
    gram = ps.models.fcn(depth=2).kernel(data.inputs.flatten(1)).ntk
    return ps.probes.spectrum(gram, data.targets).chart()


def forecast() -> Any:
    """The forecast of the page's own example."""
    return ps.forecast(ps.data.digits("parity"), ps.models.fcn(depth=3), n=[400, 800, 1600], pilot=200).chart()


def geometry() -> Any:
    """What random LeNets see of an image: leading and trailing directions."""
    model = ps.models.lenet(activation="gelu")
    return ps.probes.average_geometry(model, (1, 16, 16), n_models=60, probe_std=1e-3).modes_picture()


def landscape() -> Any:
    """Spectra of the three Hessians of a small network on random patterns."""
    patterns = ps.probes.random_patterns(30, 3)
    return ps.probes.landscape(ps.probes.plain_network(3, 4, 2), patterns, "quadratic-hinge").chart()


def sphere_spectrum() -> Any:
    """Steps of the exact spectrum of a convolutional kernel on a product of spheres."""
    return ps.probes.sphere_spectrum(ps.models.vec(depth=1), d0=3, p=16, order=2).chart()


def empirical_ntk() -> Any:
    """Kernels of finite networks approach the limit like one over the root of the width."""
    import altair as alt

    x = ps.data.digits().subset(20, seed=0).inputs.flatten(1)
    arch = ps.models.fcn(depth=1)
    limit = arch.kernel(x, kinds=("ntk",)).ntk.double()
    rows = []
    for width in (16, 32, 64, 128, 256, 512):
        for seed in range(5):
            kernel = ps.probes.empirical_ntk(arch.network((64,), width=width, seed=seed), x).detach().double()
            rows.append({"width": width, "distance": float((kernel - limit).norm() / limit.norm())})
    table = pd.DataFrame(rows)
    first = float(table[table["width"] == 16]["distance"].mean())
    widths = np.array([16, 512])
    law = pd.DataFrame({"width": widths, "distance": first * (widths / 16.0) ** -0.5})
    x_axis = alt.X("width:Q", title="width").scale(type="log", base=2)
    y_axis = alt.Y("distance:Q", title="‖Θ_width − Θ_∞‖ / ‖Θ_∞‖").scale(type="log")
    points = alt.Chart(table).mark_point(filled=True).encode(x=x_axis, y=y_axis)
    return points + alt.Chart(law).mark_line(strokeDash=[4, 4]).encode(x=x_axis, y=y_axis)


def profile() -> Any:
    """Learning curves of the digits as a profile forecasts them, under its verdict."""
    import textwrap

    import altair as alt

    found = ps.profile(ps.data.digits(), deep=False)
    first, *rest = found.verdict()
    told = next(line for line in rest if line.startswith("Forecast"))
    title = alt.Title(textwrap.wrap(first, 92), subtitle=textwrap.wrap(told, 110), subtitleFontSize=12, offset=14)
    return found.charts()["curves"].properties(title=title, width=640, height=320)


PICTURES: dict[str, Callable[[], Any]] = {
    "spectrum": spectrum,
    "forecast": forecast,
    "geometry": geometry,
    "landscape": landscape,
    "sphere_spectrum": sphere_spectrum,
    "empirical_ntk": empirical_ntk,
    "profile": profile,
}


def write(name: str) -> Path:
    """Draw one picture, with few enough colours that it stays small."""
    from PIL import Image

    torch.manual_seed(0)
    file = ps.report.save_chart(PICTURES[name](), FOLDER / f"{name}.png", scale=1.5)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(200)
    small.save(file, optimize=True)
    return file


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        file = write(name)
        print(f"{file.name}: {file.stat().st_size / 1024:.0f} kB", flush=True)
