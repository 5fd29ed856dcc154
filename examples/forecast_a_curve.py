"""How many samples until the error is halved? A forecast from 150 digits, checked against 600."""

import priorscope as ps

data = ps.data.digits("parity")
arch = ps.models.fcn(depth=1)
result = ps.forecast(data, arch, n=[300, 600], pilot=150, ridge=0.0, standardise=False)
print(result.table().to_string(index=False))
outcome = ps.System(data.subset(600), arch, ps.inference.KernelRegression()).run()
print(f"measured at 600: {outcome.test_error:.3f}, forecast {result.at(600)}")
print(result.samples_needed(result.curve.error[-1] / 2))
