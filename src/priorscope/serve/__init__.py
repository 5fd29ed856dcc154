"""A local, read-only page over the store of runs."""

from ._app import application, serve

__all__ = ["application", "serve"]
