"""
DNA: which signal finds a splice site
=====================================

Kernels on strings stand beside one another as columns do. Each looks at the sequence
in its own way: which letters stand where, which words occur anywhere, how the helix
twists.
"""

# %%
# Sequences with a motif at a place that varies
# ---------------------------------------------

import numpy as np

from multikernel import SpicyMKLClassifier
from multikernel.display import KernelWeightsDisplay
from multikernel.kernels.sequence import (
    ProfileKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
)

rng = np.random.default_rng(0)
letters = rng.choice(list("ACGT"), size=(300, 60))
y = rng.random(300) < 0.5
for sample in np.flatnonzero(y):
    place = 30 + rng.integers(-2, 3)
    letters[sample, place : place + 6] = list("TTTCAG")
sequences = ["".join(row) for row in letters]

# %%
# One model over five kernels
# ---------------------------

kernels = [
    WeightedDegreeKernel(degree=8),
    WeightedDegreeKernel(degree=8, shift=4),
    SpectrumKernel(k=3),
    SpectrumKernel(k=6),
    ProfileKernel("twist"),
]
train, test = slice(0, 200), slice(200, 300)
model = SpicyMKLClassifier(kernels, alpha=0.02).fit(sequences[train], y[train])
print(f"accuracy on new sequences: {model.score(sequences[test], y[test]):.2f}")

# %%
# The motif moves, and the kernel that allows shifts takes the weight
# -------------------------------------------------------------------

KernelWeightsDisplay.from_estimator(model)
