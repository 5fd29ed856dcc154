"""What else is measured, beside the errors: architectures, symmetries, sections. Each may fail alone, in one line."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import torch
from sklearn.pipeline import Pipeline

from priorscope.contracts import KernelModel
from priorscope.models import Scaling, UserNetwork
from priorscope.probes import label_moves
from priorscope.profiles._architecture import ArchitectureProfile, deepened, measure_architecture
from priorscope.profiles._candidates import Candidate, is_kernel_family
from priorscope.profiles._contender import Contender, undecided
from priorscope.profiles._kind import Kind
from priorscope.profiles._scene import Scene
from priorscope.profiles._user_model import user_candidate
from priorscope.profiles.sections import SECTIONS, Finding
from priorscope.sklearn import TrainedNetwork

if TYPE_CHECKING:
    from priorscope.probes import LabelMove
    from priorscope.profiles._progress import Progress
    from priorscope.profiles._result import Profile

__all__ = ["Beside", "beside"]

T = TypeVar("T")
_ROWS = ((6.0, 300), (2.0, 150), (0.0, 80))  # of the sample, by the seconds that there are
_LEADING = 3  # architectures looked at closely, beside networks of the user
_MOVES = 0.3  # seconds of 300 rows, about, that the symmetries of the labels take
_DEEPER = 1.0  # the same of blind spots and regime of an architecture
_SHARE = 0.4  # of what is left, that the kernel of one architecture may take


@dataclass
class Beside:
    """Architectures, symmetries of the labels, findings by section, and notes on what could not be measured."""

    candidates: tuple[ArchitectureProfile, ...] = ()
    symmetries: tuple[LabelMove, ...] = ()
    findings: dict[str, Finding] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass
class _Pieces:
    """Runs one piece after another within the seconds; one that fails leaves a line."""

    end: float
    total: float
    steps: Progress
    notes: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    @property
    def left(self) -> float:
        return self.end - clock.process_time()

    def do(self, what: str, work: float, piece: Callable[[], T]) -> T | None:
        """What the piece gives; None where it does not fit into what is left, or fails."""
        if work > self.left:
            self.late.append(what)
            return None
        self.steps.tell(what, 1 - max(self.left, 0.0) / self.total, max(self.left, 0.0))
        try:
            return piece()
        except Exception as error:  # what stands beside the errors may not end the answer
            reason = str(error).split("\n")[0][:200]
            self.notes.append(f"{what}: not measured ({reason or type(error).__name__})")
            return None


def beside(result: Profile, seconds: float, steps: Progress) -> Beside:
    """Measure the symmetries of the labels, the leading architectures and all sections, as far as the seconds reach."""
    if seconds <= 0:
        return Beside()
    most = next(n for least, n in _ROWS if seconds >= least)
    pieces = _Pieces(clock.process_time() + seconds, seconds, steps)
    made = Beside()
    try:
        _measure(result, most, pieces, made)
    except KeyboardInterrupt:
        pieces.notes.append("what else is measured was stopped")
    if pieces.late:
        pieces.notes.append(f"left out for want of time: {', '.join(pieces.late)}; a larger budget measures them")
    made.notes = (*(note for c in made.candidates for note in c.notes), *pieces.notes)
    return made


def _measure(result: Profile, most: int, pieces: _Pieces, made: Beside) -> None:
    """Symmetries of the labels, architectures, sections: each a piece of its own."""
    resize = result.setting.resize
    scene = pieces.do("a sample to look at closely", 0.0, lambda: Scene.of(result.race, result.rows, most, resize))
    if scene is None:
        return
    share = len(scene.index) / 300
    pilot = scene.pilot
    found = pieces.do(
        "symmetries of the labels",
        _MOVES * share**2,
        lambda: label_moves(pilot.inputs, pilot.targets, pilot.labels).found,
    )
    if found is not None:
        made.symmetries = found
        scene = replace(scene, symmetries=found)
    scene = _deeper(_architectures(scene, pieces), pieces, 0, 1)
    made.candidates = scene.measured
    for section in SECTIONS.values():
        ready = replace(scene, seconds=pieces.left)
        if not section.fits(ready):
            continue
        name, work = section.name.replace("_", " "), section.work * share
        one = pieces.do(name, work, lambda s=section, r=ready: s.measure(r))  # type: ignore[misc]
        if one is not None:
            made.findings[section.name] = one
    made.candidates = _deeper(scene, pieces, 1, len(scene.measured)).measured


def _architectures(scene: Scene, pieces: _Pieces) -> Scene:
    """The scene with kernels of the leading architectures and of the user's networks, those of them that fit."""
    for name, candidate, known in _candidates(scene, pieces):
        record = scene.records[name]
        rung = min(record.rungs, key=lambda r: abs(scene.race.ladder.sizes[r] - len(scene.index)))
        own = isinstance(candidate.model, UserNetwork)
        work = 0.1 if own or known is not None else record.cost(rung, scene.race.ladder)
        if work > _SHARE * pieces.left:
            pieces.late.append(f"kernel of {candidate.name}")
            continue
        one = pieces.do(
            f"kernel of {candidate.name}", work,
            lambda c=candidate, s=scene, k=known: measure_architecture(c, s, _SHARE * pieces.left, k),  # type: ignore[misc]
        )  # fmt: skip
        if one is not None:
            grams = scene.grams if own else {**scene.grams, candidate.name: one[1]}
            scene = replace(scene, measured=(*scene.measured, one[0]), grams=grams)
    return scene


def _deeper(scene: Scene, pieces: _Pieces, first: int, end: int) -> Scene:
    """The scene with blind spots and distances from their kernels of some architectures; the best dense one is placed."""
    dense = next((c.name for c in scene.measured if c.candidate.family == "fcn"), None)
    found = list(scene.measured)
    for k in range(first, min(end, len(found))):
        c = found[k]
        if not isinstance(c.candidate.model, UserNetwork) and not is_kernel_family(c.candidate.model):
            continue  # a kernel without networks
        more = pieces.do(
            f"blind spots and regime of {c.name}", _DEEPER,
            lambda c=c: deepened(c, scene, 0.5 * pieces.left, place=c.name == dense),  # type: ignore[misc]
        )  # fmt: skip
        found[k] = more or c
    return replace(scene, measured=tuple(found))


def _candidates(scene: Scene, pieces: _Pieces) -> list[tuple[str, Candidate, KernelModel | None]]:
    """Row, architecture and remembered kernel of the leading rows, each architecture once, and the networks of the user."""
    found: dict[str, tuple[str, Candidate, KernelModel | None]] = {}
    leading = 0
    for row in scene.rows:
        contender = scene.records[row.name].contender
        if contender.candidate is not None and leading < _LEADING and contender.candidate.name not in found:
            found[contender.candidate.name] = (row.name, contender.candidate, _remembered(contender))
            leading += not contender.offered
        elif contender.kind is Kind.NETWORK and contender.offered:
            own = pieces.do(row.name, 0.1, lambda c=contender: _own(c, scene))  # type: ignore[misc]
            if own is not None:
                found[row.name] = (row.name, own, None)
    return list(found.values())


def _remembered(contender: Contender) -> KernelModel | None:
    """The kernel of a contender where it remembers what the race computed."""
    estimator = undecided(contender.estimator)
    if contender.here and isinstance(estimator, Pipeline):
        model: KernelModel = estimator[-1].get_params(deep=False)["arch"]
        return model
    return None


def _own(contender: Contender, scene: Scene) -> Candidate | None:
    """The network of the user as a candidate."""
    estimator = undecided(contender.estimator)
    if not isinstance(estimator, TrainedNetwork) or isinstance(estimator.model, str):
        return None
    native = scene.native
    came = scene.problem.data.inputs[torch.as_tensor(scene.index)]
    scaling = Scaling.between(came, native.inputs)
    made = user_candidate(estimator.model, contender.name, native.input_shape, native.n_outputs, native.inputs, scaling)
    return made
