"""Arrays as users and files bring them: the dtype is not known before it is looked at."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

__all__ = ["AnyArray"]

AnyArray: TypeAlias = NDArray[Any]
