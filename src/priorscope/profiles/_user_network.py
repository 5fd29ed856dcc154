"""A network of the user between the data and the outputs that are wanted of it: see :mod:`priorscope.models`."""

from priorscope.models import UserNetwork

__all__ = ["UserNetwork"]
