"""Layers: each with its finite module and its step of the infinite-width kernel."""
