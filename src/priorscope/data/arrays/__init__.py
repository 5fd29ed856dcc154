"""Data sets from what a user has in memory: arrays, tensors, frames, torch data sets, scikit-learn bunches."""
