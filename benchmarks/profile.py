"""Time to a profile's verdict on the digits, against the time to train every candidate at 5 sizes with 3 seeds each.

What a user would do without a profile: for each candidate architecture, train networks on growing parts of the data and look
at their test errors. Training is plain torch: standard parametrisation, Adam at 1e-3, batches of 32, squared loss, until the loss
of an epoch is below 1 % of that of predicting zero, at most 200 epochs; 256 neurons or 64 channels a layer. Both sides run in one
process with the same number of threads; seconds are processor seconds, which other work on the machine does not change much.

``--seeds 1`` trains one network a candidate and size and multiplies by three. ``--quick`` trains one per candidate, at the second
size, and multiplies by 15, as if as many *steps* were needed at each size: too few for the three larger ones, so the ratio is
rather too small. As many *epochs* would be 46.5 times the time (networks with global pooling need all 200 they may have); a full
run lies between the two, most of an hour.
"""

from __future__ import annotations

import sys

if (
    __name__ != "__main__"
):  # cProfile asks for the standard library's module of this name and finds this file beside a script
    import importlib.util
    import sysconfig
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("profile", Path(sysconfig.get_path("stdlib")) / "profile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[__name__] = module
else:
    import argparse
    import time
    from typing import Any

    import torch
    from _results import row, write

    import priorscope as ps

SIZES = (75, 150, 300, 600, 1200)  # the last is the profile's horizon: four times its pilot of 300
QUICK = 150
SEEDS = 3
CONVERGED = 0.01
EPOCHS = 200
BATCH = 32


def train(network: Any, x: Any, y: Any, seed: int) -> tuple[int, float]:
    """Epochs until converged, and the training loss there over that of predicting zero."""
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    null = float(y.square().mean())
    epoch, share = 0, 1.0
    while epoch < EPOCHS and share >= CONVERGED:
        epoch, total = epoch + 1, 0.0
        for rows in torch.randperm(len(x), generator=generator).split(BATCH):
            optimiser.zero_grad(set_to_none=True)
            loss = (network(x[rows]) - y[rows]).square().mean()
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(rows)
        share = total / len(x) / null
    return epoch, share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"train at {QUICK} samples with one seed, and extrapolate")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"networks per size; the time is that of {SEEDS}")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", help="file for the rows of the performance page")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = ps.data.digits()
    before, wall = time.process_time(), time.perf_counter()
    report = ps.profile(data)
    ours, ours_wall = time.process_time() - before, time.perf_counter() - wall
    print(f"profile of the digits: {len(report.candidates)} candidates, {ours:.1f} s of processor ({ours_wall:.1f} s)")
    data = data.standardised()
    sizes, seeds = ((QUICK,), 1) if options.quick else (SIZES, options.seeds)
    factor = len(SIZES) * SEEDS / (len(sizes) * seeds)
    print(f"{'candidate':>14} {'epochs':>7} {'loss left':>10} {'seconds':>9}")
    total = 0.0
    for found in sorted(report.candidates, key=lambda c: c.name):
        width = options.width if found.candidate.family == "fcn" else options.channels
        before = time.process_time()
        epochs, shares = [], []
        for n in sizes:
            part = data.subset(n, seed=0)
            for seed in range(seeds):
                network = found.candidate.model.network(
                    data.input_shape, width=width, outputs=data.n_outputs, seed=seed, parametrisation="standard"
                )
                epoch, share = train(network, part.inputs, part.targets, seed)
                epochs.append(epoch)
                shares.append(share)
        seconds = (time.process_time() - before) * factor
        total += seconds
        print(f"{found.name:>14} {sum(epochs) / len(epochs):7.0f} {max(shares):10.3f} {seconds:9.1f}", flush=True)
    how = f", {len(SIZES) * SEEDS} times the time at {QUICK} samples" if options.quick else ""
    if not options.quick and seeds != SEEDS:
        how = f", {SEEDS / seeds:g} times the time of {seeds} a size"
    print(f"training all of them at {len(SIZES)} sizes with {SEEDS} seeds: {total:.0f} s of processor{how}")
    print(f"ratio {total / ours:.0f}")
    if options.quick:
        epochs_alike = total * sum(SIZES) / QUICK / len(SIZES)
        print(f"with as many epochs at each size as at {QUICK}: {epochs_alike:.0f} s, ratio {epochs_alike / ours:.0f}")
    if options.json:
        case = f"verdict on the digits, {len(report.candidates)} candidates"
        peer = f"training them at {len(SIZES)} sizes with {SEEDS} seeds"
        note = f"processor seconds; {options.width} neurons or {options.channels} channels a layer{how}"
        write(options.json, "profile", [row(case, ours, total, peer, note=note)])


if __name__ == "__main__":
    main()
