"""Geiger, Eloy & Wyart (2021): how memory architecture affects learning in a simple problem of reinforcement learning."""
