"""How much outputs change when inputs are moved: the equivariance error of networks of every architecture, and of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn

from priorscope.contracts import is_network_family
from priorscope.data.groups import Move
from priorscope.models import UserNetwork
from priorscope.probes import equivariance
from priorscope.profiles._candidates import Candidate
from priorscope.profiles._network import fresh_network, operations_per_sample
from priorscope.profiles._scene import Scene
from priorscope.profiles.sections._section import Finding, Section

if TYPE_CHECKING:
    from priorscope.profiles._page_folded import Folded, Table
    from priorscope.profiles._page_sections import Figures

__all__ = ["EQUIVARIANCE", "Moved", "MovedOutputs"]

WIDTH = 16  # of networks of named architectures
DRAWS = (3, 1)  # of their weights: the first that is affordable
IMAGES = 16
ROUNDING = 1e-10  # of the probe, in double precision
WORK = 1e10  # floating-point operations per model: a fraction of a second


@dataclass(frozen=True)
class Moved:
    """Errors Δ of one model by move, the mean over ``draws`` networks with fresh weights; 0 draws: a module as it came.

    Example:
        >>> one = Moved("gap-1", {Move.SHIFT: 1e-16, Move.MIRROR: 0.25}, draws=3)
        >>> one.blind, one.cell(Move.SHIFT), one.cell(Move.MIRROR)
        (['shift by 1'], 'invariant', '0.25')
    """

    name: str
    errors: dict[Move, float]
    draws: int

    @property
    def blind(self) -> list[str]:
        """The moves that leave the outputs as they are, but for rounding."""
        return [str(move) for move, error in self.errors.items() if error <= ROUNDING]

    def cell(self, move: Move) -> str:
        """The error in a table; a dash where the move was not tried."""
        if move not in self.errors:
            return "–"
        error = self.errors[move]
        return "invariant" if error <= ROUNDING else f"{error:.2g}"

    def sentence(self, n: int) -> str:
        """What the numbers say, in one sentence."""
        drawn = "a network" if self.draws == 1 else f"{self.draws} networks"
        whose = f"{drawn} of {self.name} with fresh weights" if self.draws else f"{self.name} as it came"
        seen = {move: error for move, error in self.errors.items() if error > ROUNDING}
        kept = f"do not change under {', '.join(self.blind)}" if self.blind else ""
        if not seen:
            return f"On {n} samples the outputs of {whose} {kept}."
        worst, least = max(seen, key=lambda m: seen[m]), min(seen, key=lambda m: seen[m])
        most = f"change most under {worst} (Δ = {seen[worst]:.2g})"
        if least != worst:
            most += f" and least under {least} (Δ = {seen[least]:.2g})"
        return f"On {n} samples the outputs of {whose} {kept + '; they ' if kept else ''}{most}."


@dataclass(frozen=True)
class MovedOutputs(Finding):
    """Errors Δ of all models that have networks; ``n`` samples were moved.

    Example:
        >>> found = MovedOutputs((Moved("mine", {Move.MIRROR: 0.25}, draws=0),), n=16)
        >>> found.own
        ['On 16 samples the outputs of mine as it came change most under mirror (Δ = 0.25).']
    """

    models: tuple[Moved, ...]
    n: int
    notes: tuple[str, ...] = ()

    @property
    def moves(self) -> list[Move]:
        """All moves that were tried."""
        return list(dict.fromkeys(move for one in self.models for move in one.errors))

    def sentences(self) -> list[str]:
        """One sentence per model, and why some are missing."""
        return [*(one.sentence(self.n) for one in self.models), *(f"{note}." for note in self.notes)]

    @property
    def own(self) -> list[str]:
        """The sentences on modules of the user, and why some models are missing; the table says the rest."""
        return [*(one.sentence(self.n) for one in self.models if not one.draws), *(f"{note}." for note in self.notes)]

    def plain(self) -> dict[str, object]:
        """Errors by model and move."""
        rows = [
            {"model": one.name, "draws": one.draws, "errors": {str(move): error for move, error in one.errors.items()}}
            for one in self.models
        ]
        return {"samples": self.n, "models": rows, "sentences": self.sentences()}

    def table(self) -> Table:
        """One row per model, one column per move; it stands in the section on symmetries."""
        from priorscope.profiles._page_folded import Table
        from priorscope.profiles._page_sections import row_of

        caption = (
            f"Equivariance error Δ of the outputs: how much they change when an input is moved, over their deviation; {self.n} "
            f"samples, named architectures by up to {DRAWS[0]} networks of width {WIDTH} with fresh weights, your "
            "modules as they came. “invariant”: rounding alone. A kernel speaks of the mean over all weights and can be blind to "
            "a move that single networks see"
        )
        rows = [row_of([one.name, *(one.cell(move) for move in self.moves)]) for one in self.models]
        return Table(caption, ["network", *(str(move) for move in self.moves)], rows)

    def page(self, figure: Figures) -> Folded | None:
        """Nothing of its own: the table joins that of the symmetries."""
        return None


def moved_outputs(candidate: Candidate, x: Tensor, moves: list[Move], outputs: int, seed: int) -> Moved | str:
    """Errors of a candidate's networks under each move, by the probe ``equivariance``; a note where it cannot be done."""
    model, shape = candidate.model, tuple(x.shape[1:])
    own = isinstance(model, UserNetwork)
    if isinstance(model, UserNetwork) and model.takes_tokens:
        return ""  # a moved token is another word
    if not own and not is_network_family(model):
        return ""  # a kernel without networks
    networks: list[nn.Module] = [model] if isinstance(model, UserNetwork) else []
    if not own:
        networks = [fresh_network(candidate, shape, outputs, WIDTH, seed + k) for k in range(DRAWS[0])]
    passes = len(x) * (1 + len(moves)) * operations_per_sample(networks[0], x)
    afford = [n for n in DRAWS if passes * min(n, len(networks)) <= WORK]
    if not afford:
        return (
            f"{candidate.name}: how its outputs change under moves was not measured, a pass through it takes too long"
        )
    networks = networks[: afford[0]]
    errors = {}
    try:
        for move in moves:
            found = [
                equivariance(network, move, x, representations="invariant", dtypes=("float64",)) for network in networks
            ]
            errors[move] = float(np.mean([one.error for one in found]))
    except ValueError as error:
        return f"{candidate.name}: how its outputs change under moves was not measured ({error})"
    return Moved(candidate.name, errors, 0 if own else len(networks))


def _measure(scene: Scene) -> MovedOutputs | None:
    """Every architecture under the moves of the symmetry table; None where no move is listed or no model has networks."""
    x = scene.native.inputs[:IMAGES]
    shape = tuple(x.shape[1:])
    moves = [s.move for s in scene.symmetries if s.move.fits(shape)]
    outputs = scene.native.n_outputs
    found = [moved_outputs(c.candidate, x, moves, outputs, scene.seed) for c in scene.measured] if moves else []
    models = tuple(one for one in found if isinstance(one, Moved))
    if not models:
        return None
    return MovedOutputs(models, len(x), tuple(one for one in found if isinstance(one, str) and one))


EQUIVARIANCE = Section("equivariance", _measure, work=1.0)
