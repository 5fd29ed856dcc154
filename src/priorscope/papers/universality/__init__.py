"""Abbe & Sandon (2018): what gradient descent cannot learn, and stochastic gradient descent can."""
