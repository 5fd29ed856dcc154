"""Learning curves: measured on a pilot, forecast beyond it."""
