"""
Three thousand Gram matrices and a loss of one's own
====================================================

Kernels need not be formulas. Here every matrix comes from elsewhere, as alignments or
graph kernels would, and the response has outliers, so the loss is Huber's, written on
the spot.
"""

# %%
# The data: one kernel in ten carries signal
# ------------------------------------------

import os
from dataclasses import dataclass

import numpy as np

from multikernel import SpicyMKLRegressor, stack_grams

n_kernels = 3000 if os.environ.get("MULTIKERNEL_EXAMPLES") == "full" else 150
rng = np.random.default_rng(0)
views = rng.standard_normal((n_kernels, 120, 3))
grams = [view @ view.T for view in views]
y = sum(views[m] @ rng.standard_normal(3) for m in range(3))
y[rng.choice(120, 6, replace=False)] += 40.0  # readings that went wrong

# %%
# The loss
# --------
#
# Value, slope, conjugate and its derivatives; a wrong one would be named in a sentence
# by :func:`multikernel.testing.check_loss`.


@dataclass(frozen=True)
class HuberLoss:
    """Squared up to a residual of delta, linear beyond."""

    delta: float = 1.0

    def value(self, y, f):
        size = np.abs(f - y)
        small = np.minimum(size, self.delta)
        return small * (size - 0.5 * small)

    def gradient(self, y, f):
        return np.clip(f - y, -self.delta, self.delta)

    def conjugate(self, y, u):
        return np.where(np.abs(u) <= self.delta, 0.5 * u**2 + y * u, np.inf)

    def dual_bounds(self, y):
        return np.full_like(y, -self.delta), np.full_like(y, self.delta)

    def conjugate_gradient(self, y, u):
        return u + y

    def conjugate_hessian(self, y, u):
        return np.ones_like(u)


# %%
# The fit, in four lines
# ----------------------

K = stack_grams(grams)
robust = SpicyMKLRegressor("precomputed", alpha=0.1, loss=HuberLoss(0.5)).fit(K, y)
plain = SpicyMKLRegressor("precomputed", alpha=0.3).fit(K, y)
print("kept by Huber's loss:", robust.active_kernels_[:10])
print("kept by the squared loss:", plain.active_kernels_[:10])
print(f"within {robust.duality_gap_:.2%} of the optimum")

# %%
# What it kept
# ------------

from multikernel import KernelWeightsDisplay

KernelWeightsDisplay.from_estimator(robust)
