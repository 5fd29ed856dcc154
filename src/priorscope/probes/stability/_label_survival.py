"""Do labels survive a deformation, and does training on deformed images lower the error?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from priorscope.checks import NOT_NEGATIVE, SEED, number, whole
from priorscope.contracts import LabelledData, guarded
from priorscope.inference import GradientDescent
from priorscope.probes.stability._family import Transformation, as_family
from priorscope.probes.stability._pictures import pictures
from priorscope.probes.stability._response import average_of, sphere_noise
from priorscope.probes.symmetries import Shared, agreement_by_chance, neighbour_agreement, shared_by
from priorscope.statistics import Interval, seed_interval
from priorscope.system import System, check_system

if TYPE_CHECKING:
    import altair as alt

__all__ = ["AugmentationGain", "LabelSurvival", "augmentation_gain", "label_survival"]

WORDS = {"still": "as they are", "moved": "moved", "noisy": "with noise of the same size"}


@dataclass(frozen=True)
class LabelSurvival:
    """How often the nearest other image of an image has its label: as it is, moved, and with noise of the same size.

    ``chance`` is what a random neighbour would give, ``error`` the standard error of a share at chance. In a regression the
    shares are correlations with the neighbour's target.

    Example:
        >>> found = LabelSurvival("shifts by 1 pixel", still=0.9, moved=0.88, noisy=0.6, chance=0.1, error=0.01)
        >>> found.verdict, found.sentence
        ('yes', 'Labels survive shifts by 1 pixel: neighbours agree in 88 % of cases, 90 % without and 60 % under noise.')
    """

    family: str
    still: float
    moved: float
    noisy: float
    chance: float
    error: float
    radius: float = 0.0
    examples: Tensor | None = field(default=None, repr=False, compare=False)

    @property
    def kept(self) -> float:
        """The share of the agreement above chance that is left after the moves."""
        return (self.moved - self.chance) / max(self.still - self.chance, 1e-9)

    @property
    def shared(self) -> Shared:
        """Yes where nine tenths of the agreement are left, partly above a half: the rule of the moves of a profile."""
        return shared_by(self.moved, self.still, self.chance, self.error)

    @property
    def verdict(self) -> str:
        """The word for it: "yes", "partly", "no" or "cannot tell"."""
        return self.shared.value

    @property
    def sentence(self) -> str:
        """What the numbers say, in one sentence."""
        says = {
            Shared.YES: f"Labels survive {self.family}",
            Shared.PARTLY: f"Labels survive {self.family} in part",
            Shared.NO: f"Labels do not survive {self.family}",
            Shared.UNKNOWN: f"Whether labels survive {self.family} cannot be told",
        }
        shares = f"{self.moved:.0%} of cases, {self.still:.0%} without and {self.noisy:.0%} under noise"
        return f"{says[self.shared]}: neighbours agree in {shares.replace('%', ' %')}."

    def table(self) -> pd.DataFrame:
        """One row per kind of image."""
        rows = [{"images": words, "agreement": getattr(self, name)} for name, words in WORDS.items()]
        return pd.DataFrame(rows).assign(chance=self.chance, error=self.error)

    def chart(self) -> alt.TopLevelMixin:
        """Agreement of neighbours as bars, with chance as a dashed line."""
        import altair as alt

        table = self.table()
        y = alt.Y("images:N", sort=list(WORDS.values()), title=None, axis=alt.Axis(labelLimit=220))
        bars = alt.Chart(table).mark_bar().encode(alt.X("agreement:Q", title="nearest neighbour has the same label"), y)
        line = alt.Chart(table[:1]).mark_rule(strokeDash=[4, 4]).encode(x="chance:Q")
        chart: alt.TopLevelMixin = (bars + line).properties(width=320, height=90, title=self.family)
        return chart

    def pictures(self, limit: int = 3) -> alt.TopLevelMixin:
        """Some images as they are, moved, and with noise at the same distance."""
        if self.examples is None:
            raise ValueError("there are no pictures: the inputs are not images (channels, height, width).")
        return pictures(self.examples[:limit], self.radius)


@guarded(delta=NOT_NEGATIVE, cutoff=number(least=1), n_images=whole(2), seed=SEED)
def label_survival(
    data: LabelledData,
    transformation: Transformation = "deformation",
    *,
    delta: float = 1.0,
    cutoff: float = 3,
    n_images: int = 1000,
    seed: int = 0,
) -> LabelSurvival:
    """Whether labels survive small moves of the images, judged by the data alone, before any network is trained.

    Every one of ``n_images`` training images is moved (families as in :func:`stability`), and the nearest *other* image is looked
    up: where it has the same label nearly as often as without the move, the move keeps labels. Noise at the same average
    distance is the control. The idea that labels survive deformations: Mallat (2016); this measure is ours.

    Example:
        >>> import priorscope as ps
        >>> label_survival(ps.data.digits(), delta=0.7, cutoff=2, n_images=300).verdict  # 8×8 pixels: 0.7 is much
        'partly'
    """
    rows = torch.randperm(len(data.inputs), generator=torch.Generator().manual_seed(seed))[:n_images]
    x, targets = data.inputs[rows].float(), data.targets[rows]
    family = as_family(transformation, x, delta, cutoff)
    base, moved = family.rest(x), family.move(x, seed)
    radius = average_of((moved - base).flatten(1).norm(dim=1), "median")
    noisy = base + sphere_noise(base, radius, seed + 0x5EED)
    classes = data.task == "classification"
    labels = (targets.argmax(1) if targets.shape[1] > 1 else (targets[:, 0] > 0).long()) if classes else None
    still, after, control = (neighbour_agreement(base, z, targets, labels) for z in (base, moved, noisy))
    chance, error = agreement_by_chance(labels, len(x))
    examples = torch.stack([base[:3], moved[:3], noisy[:3]], 1) if x.ndim == 4 else None
    return LabelSurvival(family.name, still, after, control, chance, error, radius, examples)


@dataclass(frozen=True)
class AugmentationGain:
    """Test errors of the same networks trained on plain and on moved images, one pair per seed.

    Example:
        >>> found = AugmentationGain("shifts by 1 pixel", np.array([0.2, 0.22]), np.array([0.1, 0.12]))
        >>> found.gain.value, found.sentence
        (0.1, 'Training on shifts by 1 pixel lowers the error from 0.21 to 0.11.')
    """

    family: str
    plain: np.ndarray
    moved: np.ndarray

    @property
    def gain(self) -> Interval:
        """Error on plain minus error on moved images, mean over pairs with Student's interval."""
        found = seed_interval(self.plain - self.moved)
        return Interval(round(found.value, 12), found.low, found.high)

    @property
    def sentence(self) -> str:
        """What the numbers say, in one sentence."""
        gain, ends = self.gain, f"from {self.plain.mean():.3g} to {self.moved.mean():.3g}"
        if gain.low > 0:
            return f"Training on {self.family} lowers the error {ends}."
        if gain.high < 0:
            return f"Training on {self.family} raises the error {ends}."
        return f"Training on {self.family} changes the error {ends}, which is within its scatter over {len(self.plain)} seeds."

    def table(self) -> pd.DataFrame:
        """One row per seed."""
        return pd.DataFrame({"seed": range(len(self.plain)), "plain": self.plain, "moved": self.moved})

    def chart(self) -> alt.TopLevelMixin:
        """Pairs of errors, joined by lines."""
        import altair as alt

        long = self.table().melt("seed", var_name="images", value_name="error")
        x = alt.X("images:N", sort=["plain", "moved"], title="trained on images")
        lines = alt.Chart(long).mark_line(point=True).encode(x, alt.Y("error:Q", title="test error"), detail="seed:N")
        chart: alt.TopLevelMixin = lines.properties(width=180, height=220, title=self.family)
        return chart


@guarded(n_seeds=whole(2), delta=NOT_NEGATIVE, cutoff=number(least=1), seed=SEED)
def augmentation_gain(
    system: System,
    transformation: Transformation = "deformation",
    *,
    delta: float = 1.0,
    cutoff: float = 3,
    n_seeds: int = 4,
    seed: int = 0,
) -> AugmentationGain:
    """Whether moving the training images at random at every step lowers the test error, by paired runs of the same seeds.

    The inference must be a :class:`~priorscope.inference.GradientDescent`; the error is the misclassification rate, or the mean
    squared error of a regression. Petrini et al. (2021), Fig. 12, train on deformed images.

    Example:
        >>> import priorscope as ps
        >>> descent = ps.inference.GradientDescent(1e-2, 30, batch_size=32, optimiser="adam", loss="logistic")
        >>> system = ps.System(ps.data.digits().subset(100, n_test=200), ps.models.dense(1), descent, width=32)
        >>> len(augmentation_gain(system, delta=0.7, cutoff=2, n_seeds=2).plain)
        2
    """
    check_system("augmentation_gain", system)
    if not isinstance(system.inference, GradientDescent):
        raise ValueError(
            f"augmentation_gain trains by GradientDescent; got {type(system.inference).__name__}. Kernels have no batches."
        )
    if not len(system.data.test.inputs):
        raise ValueError("augmentation_gain compares test errors; the data have no test samples. Hold some out.")
    family = as_family(transformation, system.data.inputs, delta, cutoff)

    def augment(x: Tensor) -> Tensor:
        return family.move(x, int(torch.randint(2**31, (1,))))

    errors = []
    for inference in (system.inference, replace(system.inference, augment=augment)):
        outcomes = [replace(system, inference=inference).run(seed + s) for s in range(n_seeds)]
        errors.append([o.test_error if o.misclassification is None else o.misclassification for o in outcomes])
    return AugmentationGain(family.name, np.array(errors[0]), np.array(errors[1]))
