"""The flagship: profile any data with any model before training."""

from priorscope.profiles._candidates import Candidate
from priorscope.profiles._profile import profile
from priorscope.profiles._result import CandidateProfile, Profile

__all__ = ["Candidate", "CandidateProfile", "Profile", "profile"]
