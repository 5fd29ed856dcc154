"""Inputs and labels that are drawn, not measured."""
