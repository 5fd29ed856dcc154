"""Which architecture fits my data? Labels here depend on a pattern, not on where it stands."""

import torch

import priorscope as ps

generator = torch.Generator().manual_seed(0)
images = 0.2 * torch.randn(200, 1, 8, 8, generator=generator)
labels = torch.arange(200) % 2
for i, (row, column) in enumerate(torch.randint(0, 6, (200, 2), generator=generator).tolist()):
    stroke = torch.eye(3)
    images[i, 0, row : row + 3, column : column + 3] += stroke if labels[i] else stroke.flip(0)

data = ps.data.from_arrays(images, labels, classes="parity", name="strokes")
report = ps.profile(data, candidates=[ps.models.fcn(1), ps.models.vec(1), ps.models.gap(1)], budget=8, deep=False)
print(report.table().to_string(index=False))
print(report.verdict()[0])
