"""Estimates of wrong labels held against labels flipped by us."""
