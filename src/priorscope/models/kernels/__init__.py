"""Infinite-width kernels: the torch reference, the fused code, and the engine that chooses between them."""
