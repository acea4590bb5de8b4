"""
DNA: which signal identifies a splice site?
===========================================

A splice site is marked by the letters around it. Which signal identifies it: letters
at fixed positions, words at any position, or the twist of the helix? Each kernel on
strings measures one of these, and a sparse model selects among them.
"""

# %%
# Sequences with a motif at a variable position
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
    start = 30 + rng.integers(-2, 3)
    letters[sample, start : start + 6] = list("TTTCAG")
sequences = ["".join(row) for row in letters]

# %%
# One model with five kernels
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
# The kernel that allows shifts has the largest weight
# ----------------------------------------------------

KernelWeightsDisplay.from_estimator(model)
