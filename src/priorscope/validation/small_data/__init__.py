"""The kernel machine beside other predictors on small data."""
