"""The flagship: profile any data with any model before training."""

from ._candidates import Candidate
from ._profile import profile
from ._result import CandidateProfile, Profile

__all__ = ["Candidate", "CandidateProfile", "Profile", "profile"]
