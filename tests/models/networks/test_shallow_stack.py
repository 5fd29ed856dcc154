"""Members with points of their own against one alone, and the kernel against a Jacobian."""

from __future__ import annotations

import torch

from priorscope.data import stripe
from priorscope.models import ShallowStack


def test_members_see_their_own_points_and_the_kernel_is_that_of_the_jacobian():
    sets = [stripe(6, 3, s) for s in range(2)]
    x, y = torch.stack([s.inputs for s in sets]), torch.stack([s.targets[:, 0] for s in sets])
    stack = ShallowStack(x, y, 5, [4, 7])
    signs = torch.tensor([[1.0], [-1.0]] * 3).double()
    out = stack.call(stack.stacked, signs)
    one = {name: t[1:] for name, t in stack.stacked.items()}
    torch.testing.assert_close(out[1, :, 0] * signs[:, 0], y[1] * stack.outputs(one, x[1])[0])
    params = {name: one[name][0].clone().requires_grad_() for name in ("w", "b", "c")}

    def f(i):
        return ShallowStack.outputs({n: p[None] for n, p in params.items()}, x[1])[0, i]

    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(f(i), list(params.values()))]) for i in range(6)]
    jacobian = torch.stack(rows)
    torch.testing.assert_close(ShallowStack.gram(one, x[1], x[1])[0], jacobian @ jacobian.mT)
    leaves = {name: t.clone().requires_grad_() for name, t in stack.stacked.items()}
    moved = torch.autograd.grad(stack.call(leaves, signs).sum(), list(leaves.values()), allow_unused=True)
    assert dict(zip(leaves, moved))["x"] is None  # points are not trained
    assert dict(zip(leaves, moved))["w"] is not None
    torch.testing.assert_close(stack.member(1)(signs), out[1:])
    assert len(stack) == 2
