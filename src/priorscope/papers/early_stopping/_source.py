"""The talk both papers take their claims from."""

__all__ = ["SOURCE"]

SOURCE = "Soltanolkotabi, Demystifying generalization and early stopping (2019)"
