"""Any nn.Module has a tangent kernel: forecast your own network's learning curve beside its infinitely wide cousin."""

import torch

import priorscope as ps

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
data = ps.data.digits("parity")
for name, model in (("own network", network), ("fcn, infinite width", ps.models.fcn(1))):
    curve = ps.probes.learning_curve(data, model, pilot=120)
    print(f"{name}: {curve.error[-1]:.3f} at {curve.sizes[-1]} samples")
