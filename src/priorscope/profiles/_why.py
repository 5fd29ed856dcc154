"""Why an architecture stands where it does: its symmetries beside those of the labels, and its leading modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from priorscope.probes import Kept, LabelMove, Shared

if TYPE_CHECKING:
    from priorscope.profiles._architecture import ArchitectureProfile

__all__ = ["augmentation", "reasons"]

_GAIN = 1.02  # of the alignment: less is not worth a sentence


def reasons(c: ArchitectureProfile, found: Sequence[LabelMove]) -> tuple[str, ...]:
    """Sentences on an architecture: its prior, symmetries of the labels that it has or lacks, and its spectrum."""
    said = [c.candidate.words]
    held = {s.move: s.shared for s in found}
    own = [m for m, kind in c.symmetries.items() if kind is Kept.INVARIANT]
    right = [m for m in own if held.get(m) is Shared.YES]
    wrong = [m for m in own if held.get(m) is Shared.NO]
    if right:
        said.append(f"{c.name} has a symmetry the labels share ({', '.join(right)})")
    if wrong:
        said.append(f"{c.name} is blind to moves after which nearest neighbours have other labels ({', '.join(wrong)})")
    if c.spectrum.cumulative_power is not None:
        ahead = float(c.spectrum.cumulative_power[min(9, len(c.spectrum.cumulative_power) - 1)])
        said.append(f"the 10 leading modes of its kernel hold {100 * ahead:.0f} % of the target")
    return tuple(said)


def augmentation(found: Sequence[LabelMove], best: ArchitectureProfile | None) -> tuple[str, ...]:
    """What the symmetries of the labels advise: the move with the largest gain that the first architecture lacks."""
    own = set() if best is None else {m for m, kind in best.symmetries.items() if kind is Kept.INVARIANT}
    useful = [s for s in found if s.shared is Shared.YES and s.gain > _GAIN and s.move not in own]
    if not useful:
        return ()
    top = max(useful, key=lambda s: s.gain)
    return (
        f"labels seem not to change under the move “{top.move}”: averaging a kernel over it raises its alignment with them by "
        f"{100 * (top.gain - 1):.0f} %; add moved copies of the samples, or use a model that has this symmetry",
    )
