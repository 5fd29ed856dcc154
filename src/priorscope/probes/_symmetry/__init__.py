"""Symmetries of learning systems: kernel invariance, exact coupling, two-sample test."""

from priorscope.probes._symmetry._assert import assert_invariant
from priorscope.probes._symmetry._coupling import Coupling, couple
from priorscope.probes._symmetry._energy import TwoSample, energy_test
from priorscope.probes._symmetry._symmetry import Symmetry, symmetry

__all__ = ["Coupling", "Symmetry", "TwoSample", "assert_invariant", "couple", "energy_test", "symmetry"]
