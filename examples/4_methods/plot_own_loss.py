"""
Gram matrices from elsewhere and a loss of one's own
====================================================

Kernels need not be formulas. Here every matrix comes from elsewhere, as alignments or
graph kernels would, and the response has outliers, so the loss is Huber's, written on
the spot.
"""

# %%
# The data: three kernels carry signal, and six readings went wrong
# -----------------------------------------------------------------

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from multikernel import SpicyMKLRegressor, stack_grams

n_kernels = 150
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
plain = SpicyMKLRegressor("precomputed", alpha=0.03).fit(K, y)
print("kept by Huber's loss:", robust.active_kernels_[:10])
print("kept by the squared loss:", plain.active_kernels_[:10])
print(f"within {robust.duality_gap_:.2%} of the optimum")

# %%
# What the outliers do
# --------------------
#
# They pull the function of the squared loss towards them; Huber's leaves them where
# they are.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axis, model, name in zip(axes, (robust, plain), ("Huber", "squared"), strict=True):
    axis.axline((0, 0), slope=1, color="0.7")
    axis.plot(y, model.predict(K), "o", alpha=0.6)
    axis.set(title=f"{name} loss", xlabel="reading")
axes[0].set_ylabel("fitted")
