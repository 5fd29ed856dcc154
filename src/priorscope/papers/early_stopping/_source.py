"""The talk both papers take their claims from."""

SOURCE = "Soltanolkotabi, Demystifying generalization and early stopping (2019)"
