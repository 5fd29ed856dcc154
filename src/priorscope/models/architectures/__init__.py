"""Architectures by name, from layers, from torch modules, and the zoo of published networks."""
