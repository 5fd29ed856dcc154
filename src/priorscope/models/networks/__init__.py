"""Finite networks: how their weights are drawn and scaled, and many of them at once."""
