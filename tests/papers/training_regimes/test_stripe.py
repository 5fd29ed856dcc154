"""The stripe's labels, members with points of their own against one alone, the kernel against a Jacobian, and judges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from priorscope.papers.lazy_feature._networks import SCALE, SHARPNESS, TracedRectifier, phi_slope
from priorscope.papers.training_regimes._stripe import PAPER
from priorscope.papers.training_regimes._stripe_networks import StripeStack, stripe

CLAIMS = {claim.id: claim for claim in PAPER.claims}


def test_half_of_the_points_lie_in_the_stripe():
    x, y = stripe(40_000, 2, seed=0)
    assert abs(float(y.mean())) < 4 / 200  # four standard errors of 40,000 signs
    assert set(y.tolist()) == {1.0, -1.0}
    assert float(y[x[:, 0] > 1.2].max()) == -1


def test_members_see_their_own_points_and_the_kernel_is_that_of_the_jacobian():
    sets = [stripe(6, 3, s) for s in range(2)]
    x, y = torch.stack([a for a, _ in sets]), torch.stack([b for _, b in sets])
    stack = StripeStack(x, y, 5, [4, 7])
    signs = torch.tensor([[1.0], [-1.0]] * 3).double()
    out = stack.call(stack.stacked, signs)
    one = {name: t[1:] for name, t in stack.stacked.items()}
    torch.testing.assert_close(out[1, :, 0] * signs[:, 0], y[1] * stack.outputs(one, x[1])[0])
    params = {name: one[name][0].clone().requires_grad_() for name in ("w", "b", "c")}

    def f(i):
        return StripeStack.outputs({n: p[None] for n, p in params.items()}, x[1])[0, i]

    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(f(i), list(params.values()))]) for i in range(6)]
    jacobian = torch.stack(rows)
    torch.testing.assert_close(StripeStack.gram(one, x[1], x[1])[0], jacobian @ jacobian.mT)
    leaves = {name: t.clone().requires_grad_() for name, t in stack.stacked.items()}
    moved = torch.autograd.grad(stack.call(leaves, signs).sum(), list(leaves.values()), allow_unused=True)
    assert dict(zip(leaves, moved))["x"] is None  # points are not trained
    assert dict(zip(leaves, moved))["w"] is not None


def known(power: float = 0.5, gain: float = 0.5, done: float = 1.0) -> pd.DataFrame:
    noise = 1 + 0.03 * np.arange(8)
    rows = []
    for n in (16, 32, 64, 128, 256):
        lazy = 0.8 * n**-0.4 * noise
        rows.append(
            {"n_train": n, "lazy": lazy, "feature": gain * lazy, "squeezed": 0.9 * gain * lazy}
            | {"compression": n**power * noise, "finished": np.full(8, done if n < 256 else 0.0)}
        )
    return pd.DataFrame(rows)


def test_the_traced_rectifier_is_a_scaled_softplus_with_its_slope():
    x = torch.linspace(-300, 300, 401).double().requires_grad_()
    exact = SCALE / SHARPNESS * torch.logaddexp(SHARPNESS * x, torch.zeros_like(x))  # torch's softplus is cut at 20
    torch.testing.assert_close(TracedRectifier.apply(x), exact, rtol=1e-12, atol=1e-15)
    (slope,) = torch.autograd.grad(TracedRectifier.apply(x).sum(), x)
    torch.testing.assert_close(slope, phi_slope(x.detach()), rtol=1e-12, atol=1e-15)


def test_judges_know_the_papers_table_and_its_opposites():
    found = CLAIMS["L.14"].judge(known())
    assert found.verdict == "holds"
    assert abs(found.measured - 0.5) < 1e-6
    assert "compression fitted to P = 32, 64, 128" in found.note  # networks that did not finish are left out
    assert CLAIMS["L.14b"].judge(known()).verdict == "holds"
    assert CLAIMS["L.14"].judge(known(power=0.0)).verdict == "fails"
    assert CLAIMS["L.14"].judge(known(gain=1.2)).verdict == "fails"
    assert CLAIMS["L.14"].judge(known(done=0.5)).verdict == "not shown"
    table = known()
    assert CLAIMS["L.14b"].judge(table.assign(squeezed=table.lazy)).verdict == "fails"


def test_tiny_runs_judge_and_draw():
    table = pd.DataFrame([{**point, **PAPER.run(point)} for point in PAPER.points("tiny")])
    assert {claim.judge(table).verdict for claim in PAPER.claims} == {"not shown"}
    for start, end in table.neurons:
        assert np.abs(end - start).max() > 1  # weights of size one moved by more: features are learnt
    assert PAPER.chart is not None
    assert "hconcat" in PAPER.chart(table).to_dict()
