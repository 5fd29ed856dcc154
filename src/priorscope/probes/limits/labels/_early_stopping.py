"""When to stop training, from the kernel: left-out errors of kernel gradient flow along time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, sem

from priorscope.checks import FRACTION, POSITIVE, SEED, check, whole
from priorscope.contracts import guarded
from priorscope.printing import printed
from priorscope.statistics import Interval

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

__all__ = ["EarlyStopping", "early_stopping"]

Array = NDArray[np.float64]
PER_DECADE = 12  # times looked at
ROUNDING = 1e-13  # of the largest eigenvalue: below, an eigenvalue is taken for zero
END = 0.01  # of the first training loss: where training ends, unless all labels are met before


@printed
@dataclass(frozen=True, eq=False)
class EarlyStopping:
    """Left-out loss of gradient flow along time, and the time at which it is lowest.

    ``loss`` (T,) is the mean squared error of left-out samples, ``train_loss`` that of the training samples, ``fitted`` the
    share of training labels that the largest output meets (None for numbers). ``time`` comes with the
    range of times that are not told apart from the best one (paired differences of the samples); ``harm`` is by how much the loss
    at the end of training, where all labels are met or the training loss is 1 % of its
    first value, is above the lowest one, relative to it. ``n_train`` samples were trained on in each fold.

    Example:
        >>> found = early_stopping(np.eye(40) + 1, np.repeat([1.0, -1.0], 20)[:, None])
        >>> len(found.loss) == len(found.times)
        True
    """

    times: Array
    loss: Array
    train_loss: Array
    fitted: Array | None
    time: Interval
    harm: Interval
    n_train: int

    @property
    def worth_it(self) -> bool:
        """Whether training until all labels are fitted surely does harm."""
        return self.harm.low > 0

    @property
    def met(self) -> float | None:
        """The share of training labels met when it is time to stop; None for numbers."""
        return None if self.fitted is None else self._at(self.fitted)

    def _at(self, curve: Array) -> float:
        return float(curve[int(np.abs(self.times - self.time.value).argmin())])  # one of the times looked at

    def steps(self, learning_rate: float) -> Interval:
        """Steps of gradient descent on half the mean squared error: time over learning rate.

        Example:
            >>> times = np.array([1.0, 2.0])
            >>> EarlyStopping(times, times, times, None, Interval(2.0, 1.0, 2.0), Interval(0.0, 0.0, 0.0), 4).steps(0.1)
            Interval(value=20.0, low=10.0, high=20.0)
        """
        check("steps", "learning_rate", learning_rate, POSITIVE)
        return Interval(*(t / learning_rate for t in (self.time.value, self.time.low, self.time.high)))

    def sentence(self) -> str:
        """When to stop and what it saves, in one sentence."""
        if not self.worth_it:
            return (
                f"Training until all labels are fitted does no measurable harm with {self.n_train:,} training samples: "
                "no need to stop early."
            )
        seen = (
            f"when the training loss is {100 * self._at(self.train_loss) / self.train_loss[0]:.0f} % of its first value"
            if self.met is None
            else f"when about {100 * self.met:.0f} % of the training labels and no more are met"
        )
        return (
            f"Stop training early, {seen}: fitting the rest raises the squared error on new samples by "
            f"{100 * self.harm.value:.0f} % ({100 * self.harm.low:.0f} to {100 * self.harm.high:.0f} %), measured by gradient "
            f"flow of the kernel with {self.n_train:,} training samples."
        )

    def table(self) -> pd.DataFrame:
        """One row per time."""
        import pandas as pd

        columns = {"time": self.times, "left_out": self.loss, "train": self.train_loss}
        return pd.DataFrame(columns if self.fitted is None else {**columns, "fitted": self.fitted})

    def chart(self) -> alt.TopLevelMixin:
        """Training and left-out loss against time; the rule is where to stop, the band its interval."""
        import altair as alt
        import pandas as pd

        long = self.table().melt("time", ["left_out", "train"], var_name="samples", value_name="loss")
        long["samples"] = long["samples"].map({"left_out": "left out", "train": "training"})
        x = alt.X("time:Q", title="time of gradient flow").scale(type="log")
        lines = alt.Chart(long).mark_line().encode(
            x=x, y=alt.Y("loss:Q", title="squared error"), color=alt.Color("samples:N", title=None)
        )  # fmt: skip
        where = pd.DataFrame({"time": [self.time.value], "low": [self.time.low], "high": [self.time.high]})
        rule = alt.Chart(where).mark_rule(strokeDash=[4, 4]).encode(x="time:Q")
        band = alt.Chart(where).mark_rect(opacity=0.12).encode(x="low:Q", x2="high:Q")
        return alt.layer(band, lines, rule)


def _flow(K: Array, targets: Array, cross: Array, times: Array, outputs: int = 1) -> tuple[Array, Array]:
    """Outputs (T, …) of gradient flow on the training rows and on the ``cross`` rows, ``outputs`` rows per sample."""
    n = len(K) // outputs
    lam, U = np.linalg.eigh(K)
    noise = max(ROUNDING * float(lam[-1]), -2 * float(lam[0]))  # a negative eigenvalue is a rounding error
    inside = (U.T @ targets) * (lam > noise)[:, None]  # what is not told apart from rounding is never learnt
    lam = np.maximum(lam, max(noise, 1e-300))
    done = -np.expm1(-times[:, None] * lam / n)  # (T, n)
    train = np.einsum("ij,tj,jc->tic", U, done, inside, optimize=True)
    apart = np.einsum("ij,tj,jc->tic", cross @ U, done / lam, inside, optimize=True)
    return train, apart


@guarded(folds=whole(2), level=FRACTION, seed=SEED)
def early_stopping(
    gram: ArrayLike, targets: ArrayLike, *, folds: int = 5, level: float = 0.9, seed: int = 0
) -> EarlyStopping:
    r"""The time at which gradient flow :math:`\dot f = -K(f-y)/n` from zero predicts left-out samples best.

    With :math:`K = U\Lambda U^\top` on the training rows, :math:`f_t(x) = K(x,X)\,U\,\frac{1-e^{-t\Lambda/n}}{\Lambda}\,U^\top
    y`: components of large eigenvalue are learnt first, wrong labels are spread over all and are learnt last (Li,
    Soltanolkotabi & Oymak 2020, arXiv 1903.11680). ``gram`` is the kernel of each output (n, n), the same for all, or the
    tangent kernel between all outputs (n, n, outputs, outputs) as ``empirical_ntk(net, x, outputs="full")`` gives it; of a
    network take :func:`network_stopping`. ``targets`` (n, outputs); their training mean is taken off. Left-out
    samples have noisy labels too: outputs are compared with what the labels are on average.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(120, 2))
        >>> y = np.sign(x[:, :1]) * np.where(rng.random((120, 1)) < 0.3, -1, 1)  # three in ten labels wrong
        >>> K = np.exp(-((x[:, None] - x) ** 2).sum(-1) * 4)
        >>> early_stopping(K, y).worth_it
        True
    """
    K, y = np.asarray(gram, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    y = y.reshape(len(y), -1)
    n, C = y.shape
    shapes = ((n, n), (n, n, C, C))
    if K.shape not in shapes or not np.isfinite(K).all() or not np.isfinite(y).all():
        raise ValueError(
            f"early_stopping needs a finite kernel ({n}, {n}) for {n} targets, or ({n}, {n}, {C}, {C}) between all outputs; "
            f"got {K.shape}, or NaN in it."
        )
    if n < 2 * folds:
        raise ValueError(f"early_stopping with {folds} folds needs at least {2 * folds} samples; got {n}.")
    per = 1 if K.ndim == 2 else C  # rows of the kernel per sample
    K = K if K.ndim == 2 else K.transpose(0, 2, 1, 3).reshape(n * C, n * C)
    lam = np.linalg.eigvalsh(K)
    if lam[-1] <= 0:
        raise ValueError("early_stopping needs a kernel with a positive eigenvalue; this one vanishes.")
    decades = float(np.log10(lam[-1] / max(float(np.median(lam)), 1e-9 * lam[-1]))) + 3.0
    times = n / lam[-1] * 10.0 ** np.linspace(-1, decades, round(PER_DECADE * (decades + 1)))
    parts = np.array_split(np.random.default_rng(seed).permutation(n), folds)
    each, train, met = np.empty((len(times), n)), np.zeros(len(times)), np.zeros(len(times))
    for part in parts:
        rest = np.setdiff1d(np.arange(n), part)
        mean = y[rest].mean(0)
        a, b = (((rows[:, None] * per) + np.arange(per)).reshape(-1) for rows in (rest, part))
        start = (y[rest] - mean).reshape(len(a), -1)
        seen, apart = _flow(K[np.ix_(a, a)], start, K[np.ix_(b, a)], times, per)
        seen, apart = seen.reshape(len(times), len(rest), C), apart.reshape(len(times), len(part), C)
        each[:, part] = ((apart + mean - y[part]) ** 2).sum(2)
        train += ((seen + mean - y[rest]) ** 2).sum(2).mean(1) / folds
        met += _met(seen + mean, y[rest]).mean(1) / folds
    loss = each.mean(1)
    best = int(loss.argmin())
    done = (train <= END * train[0]) | ((met >= 1 - 1 / n) & _classes(y))
    end = int(np.argmax(done)) if done.any() else len(times) - 1
    apart = each - each[best]  # paired, sample by sample
    error = sem(apart, axis=1)
    width = float(norm.ppf((1 + level) / 2))
    as_good = times[apart.mean(1) <= width * error]
    ahead = max(end, best)
    harm, spread = float(loss[ahead] / loss[best] - 1), width * float(error[ahead]) / float(loss[best])
    return EarlyStopping(
        times,
        loss,
        train,
        met if _classes(y) else None,
        Interval(float(times[best]), float(as_good.min()), float(as_good.max())),
        Interval(harm, harm - spread, harm + spread),
        n - len(parts[0]),
    )


def _classes(y: Array) -> bool:
    """Whether targets are signs, or rows with one value for the class and one for all others (one-hot, centred or not)."""
    if y.shape[1] == 1:
        return bool((np.abs(y) == 1).all())
    low, high = float(y.min()), float(y.max())
    top = np.isclose(y, high)
    return bool(high > low and (top.sum(1) == 1).all() and np.isclose(y[~top], low).all())


def _met(outputs: Array, y: Array) -> Array:
    """Whether the largest output, or the sign, is that of the target, (T, n)."""
    if y.shape[1] == 1:
        found: Array = (outputs[..., 0] * y[:, 0] > 0).astype(np.float64)
        return found
    same: Array = (outputs.argmax(2) == y.argmax(1)).astype(np.float64)
    return same
