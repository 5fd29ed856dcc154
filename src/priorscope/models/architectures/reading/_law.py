"""Whether weights look as the kernel takes them: independent draws with mean zero and one variance."""

from __future__ import annotations

import warnings

import torch
from scipy.stats import chi2, norm
from torch import Tensor, nn

from priorscope.models.architectures.reading._refusal import NoLaw, RelatedWeights, refused
from priorscope.models.architectures.reading._signal import Part

__all__ = ["check_laws", "refuse_related"]

CHANCE = (
    1e-9  # probability at which Gaussian weights of one variance would be told wrongly, all tests of a matrix together
)
ENOUGH = 64  # weights from which the tests say something


def check_laws(parts: tuple[Part, ...]) -> None:
    """Refuse weights that are no draws (all alike, mostly zero); tell by a warning those whose mean or variances differ."""
    told: list[str] = []
    for part in _with_weights(parts):
        assert part.source is not None
        for local, value in part.source.named_parameters():
            name, w = f"{part.name}.{local}", value.detach()
            _refuse_fixed(name, w, local)
            told += _unlike(name, w.reshape(len(w), -1)) if w.numel() >= ENOUGH else []
    if told:
        warnings.warn(
            "the kernel is that of networks with weights drawn independently, with mean zero and the mean square of the "
            f"present ones; {'; '.join(told)}. Trained weights are like that. "
            "variances='torch' takes torch's initialisation instead.",
            stacklevel=4,
        )


def _with_weights(parts: tuple[Part, ...]) -> list[Part]:
    found = []
    for part in parts:
        if part.source is not None:
            found.append(part)
        for branch in part.branches:
            found += _with_weights(branch)
    return found


def _refuse_fixed(name: str, w: Tensor, local: str) -> None:
    """Refuse weights that are no random draw: all zero, all equal, or mostly zero."""
    zero = bool((w == 0).all())
    if zero and local == "bias":
        return
    if zero:
        raise refused(
            f"{name}, whose weights are all zero (their scale, and so their part in the tangent kernel, is not known)"
        )
    if w.numel() > 1 and bool((w == w.flatten()[0]).all()):
        raise refused(
            f"{name}, whose {w.numel()} numbers are all {float(w.flatten()[0]):.3g} (a fixed value, not a random one)"
        )
    if w.ndim > 1 and w.numel() >= ENOUGH and float((w == 0).double().mean()) > 0.5:
        raise refused(
            f"{name}, most of whose weights are zero (a mask, an identity or another pattern, not random numbers)"
        )


def _unlike(name: str, w: Tensor) -> list[str]:
    """What tells the entries from independent Gaussian ones of mean zero and one variance; uniform ones vary less."""
    square, n = float(w.square().mean()), w.numel()
    told = []
    deviations = float(w.mean()) / (square / n) ** 0.5
    if 2 * norm.sf(abs(deviations)) < CHANCE:
        told.append(f"{name} has a mean {abs(deviations):.0f} standard errors from zero")
    for axis, group in ((0, "inputs"), (1, "outputs")):
        count, groups = w.shape[axis], w.shape[1 - axis]
        if count < 4 or groups < 2:
            continue
        sums = w.square().sum(axis).numpy() / square
        chance = groups * float(min(chi2.sf(sums.max(), count), chi2.cdf(sums.min(), count)))
        if chance < CHANCE:
            low, high = sums.min() / count, sums.max() / count
            told.append(f"{name} has mean squares from {low:.2g} to {high:.2g} times the whole one over its {group}")
    return told


def _copied_by_torch(module: nn.Module) -> set[str]:
    """Weights of layers of an encoder or decoder that are still those of its first layer."""
    found = set()
    for prefix, stack in module.named_modules():
        if not isinstance(stack, nn.TransformerEncoder | nn.TransformerDecoder):
            continue
        first = dict(stack.layers[0].named_parameters())
        for i, layer in enumerate(stack.layers):
            for local, value in layer.named_parameters():
                if i and torch.equal(value, first[local]):
                    found.add(".".join(filter(None, (prefix, "layers", str(i), local))))
    return found


def refuse_related(module: nn.Module) -> None:
    """Refuse matrices that are copies of one another, transposed, negated or scaled ones too, wholly or in part.

    Layers that torch's encoders and decoders copy when they are made count as drawn by themselves: training tells them apart.
    """
    known: list[tuple[str, Tensor]] = []
    copied = _copied_by_torch(module)
    for name, parameter in module.named_parameters():
        if parameter.ndim < 2 or parameter.numel() < 2 or name in copied:
            continue
        value = parameter.detach().double()
        if not bool(value.any()):
            continue
        value = value / value.norm()
        for other, numbers in known:
            for candidate in (numbers, numbers.mT) if value.ndim == 2 else (numbers,):
                if candidate.shape != value.shape:
                    continue
                correlation = float((candidate * value).sum())
                limit = max(6 / value.numel() ** 0.5, 1e-9)
                if abs(correlation) > min(limit, 1 - 1e-9):
                    copied_by_hand = abs(correlation) > 1 - 1e-9
                    kind = NoLaw if copied_by_hand else RelatedWeights
                    raise kind(
                        f"from_module has no kernel for {other} and {name}, which hold the same numbers or related ones "
                        f"(correlation {correlation:.2g}): they were not drawn independently, and by which law is "
                        "not known. Draw one of them again"
                        + ("." if copied_by_hand else ", or take fallback='sampled': the kernel at these weights.")
                    )
        known.append((name, value))
