"""How networks are trained: gradient descent, gradient flow, losses and stop rules."""
