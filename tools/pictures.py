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


def memory_graph() -> Any:
    """A column of confidence as a graph, under the hypothesis that A is better."""
    from priorscope.memory import column_of_confidence, policy_graph, ram, two_hypotheses

    return policy_graph(column_of_confidence(4, 0.05), ram(4), two_hypotheses(0.2), reset=1e-3).chart()


def landscape() -> Any:
    """Spectra of the three Hessians of a small network on random patterns."""
    patterns = ps.data.random_patterns(30, 3)
    return ps.probes.landscape(ps.models.plain_network(3, 4, 2), patterns, "quadratic-hinge").chart()


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


def profile() -> bytes:
    """The first screen of the page of a profile of the digits, in a browser."""
    return first_screen(ps.profile("digits"))


def first_screen(found: Any) -> bytes:
    """What a reader of the page sees before scrolling, as a PNG; needs Chromium and playwright."""
    import shutil
    import tempfile

    from playwright.sync_api import sync_playwright

    file = Path(tempfile.mkdtemp()) / "index.html"
    found.to_html(file)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 1100}, device_scale_factor=1.5)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-drawn=yes]", timeout=60000)
        box = page.locator(".answer").bounding_box()
        clip = {"x": 60, "y": 15, "width": 1120, "height": box["y"] + box["height"]}
        picture: bytes = page.screenshot(clip=clip)
        browser.close()
    return picture


def spectral_bias() -> Any:
    """Measured decay of the components of the residual, and what theory says; degrees 1 and 3, which an odd network learns."""
    target = lambda x: x[:, 0] + 0.4 * x[:, 1] + (4 * x**3 - 3 * x) @ torch.tensor([1.0, 0.3])  # noqa: E731
    data = ps.data.from_function(lambda n, seed: ps.data.sphere(n, 2, seed=seed), target, n_train=256, n_test=1000)
    flow = ps.inference.GradientFlow()
    system = ps.System(data, ps.models.fcn(1, "erf"), flow, width=256, initialisation="antisymmetric")
    return ps.probes.spectral_bias(system, k=4).chart()


def jamming_point() -> Any:
    """Part of the seeds whose networks fit random patterns, against their number of weights."""
    network = lambda h, seed: ps.models.plain_network(5, h, 1, seed=seed)  # noqa: E731
    return ps.probes.jamming_point(network, ps.data.random_patterns(60, 5), range(1, 25), seeds=10).chart()


def regime() -> Any:
    """Lazy or feature learning of a small network, with its place on the phase diagram."""
    flow = ps.inference.GradientFlow
    data = ps.data.digits(classes="parity").subset(20, seed=0, n_test=50)
    system = ps.System(data, ps.models.fcn(1, activation="erf"), flow(), width=32)
    scales = (0.01, 0.1, 1.0, 10.0, 100.0)
    return ps.probes.regime(system, scales, seeds=2, flow=flow(time=30.0, max_turn=1e-2)).chart()


def fluctuations() -> Any:
    """Averaging networks takes their fluctuation away, member by member."""
    outputs = 1 + 2 * np.random.default_rng(0).standard_normal((64, 1000))
    return ps.probes.fluctuations(outputs, np.ones(1000), sizes=(1, 2, 4, 8, 16)).chart()


def groups() -> Any:
    """One image on its way to a rotation of its pixels."""
    import altair as alt

    data = ps.data.digits().subset(20, seed=0)
    g = ps.data.groups.orthogonal(data.input_shape).sample_haar(seed=0, special=True)
    rows = []
    for part in (0.0, 0.05, 0.1, 0.2, 1.0):
        image = g.path(part)(data.inputs[:1])[0, 0]
        rows += [
            {"part": f"g^{part:g}", "i": i, "j": j, "value": v}
            for i, row in enumerate(image.tolist())
            for j, v in enumerate(row)
        ]
    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_rect()
        .encode(
            x=alt.X("j:O", axis=None),
            y=alt.Y("i:O", axis=None),
            color=alt.Color("value:Q", legend=None).scale(scheme="greys"),
            facet=alt.Facet("part:N", columns=5, title=None, sort=None),
        )
        .properties(width=90, height=90)
    )


def stability() -> Any:
    """LeNet at initialisation and after 100 steps on MNIST, layer by layer, and what it was shown."""
    import altair as alt

    data = ps.data.mnist(n_train=5_000, n_test=500).standardised()
    fresh = [ps.models.lenet().network(data.input_shape, outputs=10, seed=s) for s in range(3)]
    descent = ps.inference.GradientDescent(1e-3, 100, batch_size=128, optimiser="adam", loss="logistic", record=1)
    trained = [descent.fit(network, data, seed=s).network() for s, network in enumerate(fresh)]
    parts = [
        ps.probes.stability(nets, data, layers=True, name=name).long_table().assign(when=name)
        for name, nets in (("at initialisation", fresh), ("after training", trained))
    ]
    table = pd.concat(parts)
    table = table[table["of"].str.startswith("relative")]
    x = alt.X("depth:Q", title="depth (0 first layer, 1 output)")
    colour = alt.Color(
        "when:N", title=None, sort=["at initialisation", "after training"], legend=alt.Legend(orient="top")
    )
    log = alt.Scale(type="log")
    base = alt.Chart(table)
    one = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(strokeDash=[4, 4]).encode(y="value:Q")
    lines = base.mark_line(point=True).encode(x, alt.Y("value:Q", title="relative stability R", scale=log), colour)
    ends = base.mark_rule().encode(x, alt.Y("low:Q", scale=log), alt.Y2("high:Q"), colour)
    left = (one + ends + lines).properties(width=330, height=290)
    right = ps.probes.stability(fresh[0], data, n_seeds=1).pictures()
    return alt.hconcat(left, right).resolve_scale(color="independent")


PICTURES: dict[str, Callable[[], Any]] = {
    "spectrum": spectrum,
    "forecast": forecast,
    "geometry": geometry,
    "landscape": landscape,
    "sphere_spectrum": sphere_spectrum,
    "empirical_ntk": empirical_ntk,
    "profile": profile,
    "spectral_bias": spectral_bias,
    "jamming_point": jamming_point,
    "regime": regime,
    "fluctuations": fluctuations,
    "groups": groups,
    "memory_graph": memory_graph,
    "stability": stability,
}


def write(name: str) -> Path:
    """Draw one picture, with few enough colours that it stays small."""
    from PIL import Image

    torch.manual_seed(0)
    drawn, file = PICTURES[name](), FOLDER / f"{name}.png"
    if isinstance(drawn, bytes):
        file.write_bytes(drawn)
    else:
        ps.report.save_chart(drawn, file, scale=1.5)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(200)
    small.save(file, optimize=True)
    return file


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        file = write(name)
        print(f"{file.name}: {file.stat().st_size / 1024:.0f} kB", flush=True)
