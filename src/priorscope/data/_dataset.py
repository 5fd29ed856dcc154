"""The data of a learning system: a training split, a test split, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from priorscope.checks import SEED, checked, optional, whole
from priorscope.contracts import Fields
from priorscope.data._checks import check_enough, check_finite, check_rows, check_varied
from priorscope.data.rows import Structure
from priorscope.printing import printed

__all__ = ["Dataset", "Split"]


@printed
@dataclass(frozen=True)
class Split:
    """Inputs (n, *input_shape) and targets (n, outputs), both real; images are (n, channels, height, width).

    Targets of shape (n,) become (n, 1). NaN, infinities and unequal lengths raise.

    Example:
        >>> split = Split(torch.zeros(3, 2), torch.arange(3.0))
        >>> len(split), tuple(split.targets.shape)
        (3, (3, 1))
    """

    inputs: Tensor
    targets: Tensor

    def __post_init__(self) -> None:
        targets = self.targets[:, None] if self.targets.ndim == 1 else self.targets
        if targets.ndim != 2:
            raise ValueError(f"targets must have shape (n,) or (n, outputs); got {tuple(self.targets.shape)}.")
        object.__setattr__(self, "targets", targets)
        check_rows(self.inputs, targets)
        if not (self.inputs.is_floating_point() and targets.is_floating_point()):
            raise ValueError(
                f"a Split holds floating-point tensors; got {self.inputs.dtype} inputs and {targets.dtype} targets. "
                "Use from_arrays, which converts images and labels."
            )
        check_finite(self.inputs, "inputs")
        check_finite(targets, "targets")

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, index: Tensor) -> Split:
        """The rows ``index``, in that order."""
        return Split(self.inputs[index], self.targets[index])


@dataclass(frozen=True)
class Dataset:
    """A training and a test split with a name, class names and integer labels where there are classes.

    ``task`` is "classification" where ``classes`` or labels are given or all targets are ±1, else "regression".
    The test split may be empty. ``columns`` names the numbers of flat inputs where they came from a table. ``groups`` and
    ``time`` number the group and the time of each training row where they are known (:attr:`structure`). ``fields`` says
    which named parts (tokens, their mask) lie one after the other in flat inputs.

    Example:
        >>> data = Dataset(Split(torch.eye(4), torch.arange(4.0)), Split(torch.eye(4), torch.arange(4.0)), name="tiny")
        >>> data.input_shape, data.n_outputs, data.task, len(data.subset(2, seed=0).train)
        ((4,), 1, 'regression', 2)
    """

    train: Split
    test: Split
    name: str = "data"
    classes: tuple[str, ...] | None = None
    train_labels: Tensor | None = None
    test_labels: Tensor | None = None
    task: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    columns: tuple[str, ...] = field(default=(), compare=False)
    groups: Tensor | None = field(default=None, compare=False)
    time: Tensor | None = field(default=None, compare=False)
    fields: Fields | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse splits that do not fit together, and say the task where it was not given."""
        check_enough(len(self.train))
        if self.train.inputs.shape[1:] != self.test.inputs.shape[1:] or (
            self.train.targets.shape[1] != self.test.targets.shape[1]
        ):
            raise ValueError(
                "train and test must have the same input shape and number of outputs; got "
                f"{tuple(self.train.inputs.shape[1:])} -> {self.train.targets.shape[1]} and "
                f"{tuple(self.test.inputs.shape[1:])} -> {self.test.targets.shape[1]}."
            )
        check_varied(self.train.targets)
        for values, split, which in (
            (self.train_labels, self.train, "train_labels"),
            (self.test_labels, self.test, "test_labels"),
            (self.groups, self.train, "groups"),
            (self.time, self.train, "time"),
        ):
            if values is not None and values.shape != (len(split),):
                raise ValueError(f"{which} must have shape ({len(split)},); got {tuple(values.shape)}.")
        if not self.task:
            signs = bool((self.train.targets.abs() == 1).all())
            known = self.classes is not None or self.train_labels is not None
            object.__setattr__(self, "task", "classification" if known or signs else "regression")
        if self.task not in ("classification", "regression"):
            raise ValueError(f"task must be 'classification' or 'regression'; got {self.task!r}.")

    @property
    def inputs(self) -> Tensor:
        """Training inputs (n, *input_shape)."""
        return self.train.inputs

    @property
    def targets(self) -> Tensor:
        """Training targets (n, outputs)."""
        return self.train.targets

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input; images are (channels, height, width)."""
        return tuple(self.train.inputs.shape[1:])

    @property
    def n_outputs(self) -> int:
        """Number of target columns."""
        return int(self.train.targets.shape[1])

    @cached_property
    def structure(self) -> Structure:
        """Which training rows belong together, by groups and because they repeat each other; their strata and times.

        Example:
            >>> tiny = Split(torch.eye(4), torch.arange(4.0))
            >>> Dataset(tiny, tiny, groups=torch.tensor([0, 0, 1, 1])).subset(3, seed=0).structure.n_blocks
            2
        """
        labels = self.train_labels
        if labels is None and self.task == "classification":
            targets = self.train.targets
            labels = targets[:, 0] > 0 if targets.shape[1] == 1 else targets.argmax(1)
        targets = self.train.targets if labels is None else labels
        found = Structure.of(self.train.inputs, targets, groups=self.groups, time=self.time)
        if labels is None or self.classes is None or found.names != tuple(map(str, range(len(self.classes)))):
            return found
        return replace(found, names=self.classes)

    def __len__(self) -> int:
        return len(self.train)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, train={len(self.train)}, test={len(self.test)}, input_shape={self.input_shape}, "
            f"n_outputs={self.n_outputs}, task={self.task!r})"
        )

    def take(self, train: Tensor, test: Tensor | None = None) -> Dataset:
        """The data set with the given rows of each split (all test rows where ``test`` is None)."""
        return replace(
            self,
            train=self.train.take(train),
            test=self.test if test is None else self.test.take(test),
            train_labels=None if self.train_labels is None else self.train_labels[train],
            test_labels=self.test_labels if test is None or self.test_labels is None else self.test_labels[test],
            groups=None if self.groups is None else self.groups[train],
            time=None if self.time is None else self.time[train],
        )

    def noted(self, *notes: str) -> Dataset:
        """The data set with these notes before its own."""
        return replace(self, notes=(*notes, *self.notes)) if notes else self

    @checked(n=whole(2), seed=SEED, n_test=optional(whole(0)))
    def subset(self, n: int, seed: int = 0, n_test: int | None = None) -> Dataset:
        """``n`` random training samples (and ``n_test`` test samples; all when None).

        Holds: subsets of one seed are nested, so that learning curves grow by adding samples.
        """
        if not 2 <= n <= len(self.train):
            raise ValueError(f"subset needs 2 <= n <= {len(self.train)} training samples; got n = {n}.")
        if n_test is not None and not 0 <= n_test <= len(self.test):
            raise ValueError(f"subset needs 0 <= n_test <= {len(self.test)}; got n_test = {n_test}.")
        generator = torch.Generator().manual_seed(seed)
        train = torch.randperm(len(self.train), generator=generator)[:n]
        test = None if n_test is None else torch.randperm(len(self.test), generator=generator)[:n_test]
        return self.take(train, test)

    def standardised(self, per: str = "auto") -> Dataset:
        """Inputs with mean 0 and variance 1 over the training split; the test split gets the same map.

        ``per`` is "feature" (each number alone), "channel" (one mean and deviation per channel), "all", or "auto":
        channel for images (three axes), feature for vectors. What is constant in training is only centred.
        """
        if per not in ("auto", "feature", "channel", "all"):
            raise ValueError(f"per must be 'auto', 'feature', 'channel' or 'all'; got {per!r}.")
        x = self.train.inputs
        if per == "auto":
            per = "channel" if x.ndim >= 3 else "feature"
        axes = {"feature": (0,), "channel": (0, *range(2, x.ndim)), "all": tuple(range(x.ndim))}[per]
        mean = x.mean(axes, keepdim=True)
        std = x.std(axes, correction=0, keepdim=True)
        std = torch.where(std > 1e-6 * x.abs().amax(axes, keepdim=True).clamp(min=1e-30), std, torch.ones_like(std))
        return self.transformed(lambda batch: (batch - mean) / std)

    def transformed(self, g: Callable[[Tensor], Tensor]) -> Dataset:
        """The data set with ``g`` (a function of a batch of inputs) applied to the inputs of both splits."""
        return replace(
            self,
            train=Split(g(self.train.inputs), self.train.targets),
            test=Split(g(self.test.inputs), self.test.targets),
        )

    def with_targets(self, fn: Callable[[Tensor], Tensor], name: str | None = None) -> Dataset:
        """The same inputs with targets ``fn(inputs)``, (n,) or (n, outputs); the old labels are dropped."""
        return Dataset(
            Split(self.train.inputs, fn(self.train.inputs).to(self.train.inputs.dtype)),
            Split(self.test.inputs, fn(self.test.inputs).to(self.test.inputs.dtype)),
            name=name or self.name,
            groups=self.groups,
            time=self.time,
            fields=self.fields,
        )

    def to(self, dtype: torch.dtype) -> Dataset:
        """The data set in another floating-point type."""
        return replace(
            self,
            train=Split(self.train.inputs.to(dtype), self.train.targets.to(dtype)),
            test=Split(self.test.inputs.to(dtype), self.test.targets.to(dtype)),
        )
