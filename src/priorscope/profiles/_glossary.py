"""What the words of a profile mean, in a sentence each; the page links every one of them where it is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup, escape

__all__ = ["GLOSSARY", "Linker"]

GLOSSARY = {
    "alignment": "How much of a kernel lies along the targets: the cosine between the kernel matrix and the one of the targets.",
    "architecture": "A network without its width: layers, filters, pooling. It has one kernel at infinite width.",
    "AUC": "The chance that a sample of a class gets a higher score than one of the others: 1 is perfect, 0.5 is guessing.",
    "balanced error": "The mean over classes of the share misclassified, so that rare classes count as much as common ones. "
    "A class wins where its probability, over its share in training, is largest.",
    "blind direction": "A direction of the input in which random networks of that kind hardly react: visibility below 0.1.",
    "classical model": "A model of scikit-learn that people try first: linear, support vectors, averaged or boosted trees.",
    "equivariant": "Nothing changes when all samples are moved alike: no position is preferred, but one may be learnt.",
    "feature learning": "Training in which the tangent kernel changes: a network may do better or worse than its kernel machine.",
    "floor": "The error that more rows do not lower any further: what a predictor falls to with endless rows.",
    "fold": "One division of the rows into those fitted to and those tested on; over all folds every row is tested on once.",
    "forecast": "The error at more rows than were measured: the measured curve carried on, with an interval.",
    "interval": "Where the value is expected in 90 of 100 cases.",
    "invariant": "The output does not change when the input is moved: good where the labels share the move, else fatal.",
    "kernel": "How similar two inputs are to a model; what it learns of one, it believes of the other in that measure.",
    "kernel machine": "Prediction with the kernel of an infinitely wide network: solved in closed form, ridge by leave-one-out.",
    "lazy": "Training in which the tangent kernel hardly changes: the network behaves like its kernel machine.",
    "level": "Within a tenth of the error of the first (a quarter of a point at least), with 90 % certainty.",
    "log-loss": "Minus the logarithm of the probability given to the right class, on average; in nats.",
    "mode": "A pattern over the samples that a kernel learns as one: an eigenvector. Large eigenvalues are learnt first.",
    "network": "A finite network, trained until the error on other samples stops falling.",
    "ridge": "How strongly a kernel machine is held back from following every sample.",
    "R²": "The share of the variance that is predicted: 1 is perfect, 0 is predicting the mean.",
    "spread": "How far the tangent kernel of a finite network lies from its limit at infinite width.",
    "squared error": "The mean square of what predictions miss; 1 for standardised numbers is that of predicting the mean.",
    "tangent kernel": "The kernel by which a network changes its outputs when it takes a small step of training.",
    "visibility": "The mean squared gradient along a direction of the input; 1 is typical, 0 is unseen.",
}  # fmt: skip

_FORMS = {"architectures": "architecture", "blind directions": "blind direction", "classical models": "classical model",
          "features are learnt": "feature learning", "forecasts": "forecast", "intervals": "interval",
          "kernel machines": "kernel machine",
          "kernels": "kernel", "lazily": "lazy", "modes": "mode", "networks": "network", "folds": "fold",
          "tangent kernels": "tangent kernel"}  # fmt: skip
_ALL = {**{term.lower(): term for term in GLOSSARY}, **_FORMS}
_PATTERN = re.compile(
    r"(?<![\w-])(" + "|".join(re.escape(word) for word in sorted(_ALL, key=len, reverse=True)) + r")(?![\w-])",
    re.IGNORECASE,
)
_SPAN = re.compile(r"\d[\d.,]*–\d[\d.,]*\d(?:&nbsp;%)?")  # an interval stays on one line


class Linker:
    """A filter for templates: text escaped, names kept on one line, the first use of each term in a part of the page linked.

    Example:
        >>> str(Linker()("The floor & its modes."))[:52]
        'The <a class="term" href="#term-floor" title="The er'
        >>> str(Linker(["fcn-1"]).named("fcn-1 < 5 %"))
        '<span class="name">fcn-1</span> &lt; 5&nbsp;%'
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = sorted(
            {name for name in names if name}, key=len, reverse=True
        )  # of predictors, which are no terms
        self.seen: set[str] = set()
        self.used: set[str] = set()
        alone = "|".join(re.escape(name) for name in self.names)
        self.pattern = re.compile(rf"(?<![\w-])({alone})(?![\w-])") if self.names else None

    def section(self) -> str:
        """A new part of the page begins: terms are linked again."""
        self.seen.clear()
        return ""

    def named(self, text: object) -> Markup:
        """Text escaped, names of predictors not broken over lines."""
        return self._walk(str(text), lambda piece: str(escape(piece)))

    def __call__(self, text: object) -> Markup:
        return self._walk(str(text), self._linked)

    def _walk(self, line: str, rest: Callable[[str], str]) -> Markup:
        parts, end = [], 0
        for match in self.pattern.finditer(line) if self.pattern else ():
            parts += [rest(line[end : match.start()]), f'<span class="name">{escape(match[1])}</span>']
            end = match.end()
        parts.append(rest(line[end:]))
        whole = "".join(parts).replace(" %", "&nbsp;%")
        return Markup(_SPAN.sub(r'<span class="name">\g<0></span>', whole))

    def _linked(self, piece: str) -> str:
        parts, end = [], 0
        for match in _PATTERN.finditer(piece):
            term, word = _ALL[match[1].lower()], str(escape(match[1]))
            parts += [str(escape(piece[end : match.start()])), word if term in self.seen else self._link(term, word)]
            self.seen.add(term)
            end = match.end()
        return "".join([*parts, str(escape(piece[end:]))])

    def _link(self, term: str, word: str) -> str:
        self.used.add(term)
        return f'<a class="term" href="#{anchor(term)}" title="{escape(GLOSSARY[term])}">{word}</a>'


def anchor(term: str) -> str:
    """The place of a term on the page.

    Example:
        >>> anchor("kernel machine"), anchor("R²")
        ('term-kernel-machine', 'term-r2')
    """
    return "term-" + term.lower().replace(" ", "-").replace("²", "2")
