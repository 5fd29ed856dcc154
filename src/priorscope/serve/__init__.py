"""A local, read-only page over the store of runs."""

from priorscope.serve._app import application, serve

__all__ = ["application", "serve"]
