"""
Precomputed Gram matrices and your own loss
===========================================

Kernels need not be formulas. Here every Gram matrix is precomputed, as for alignments
or graph kernels. The response has outliers, so the example implements Huber's loss.
"""

# %%
# The data: three informative kernels, and six outliers
# -----------------------------------------------------

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from multikernel import SpicyMKLRegressor, stack_grams

n_kernels = 150
rng = np.random.default_rng(0)
views = rng.standard_normal((n_kernels, 120, 3))
grams = [view @ view.T for view in views]
y = sum(views[m] @ rng.standard_normal(3) for m in range(3))
y[rng.choice(120, 6, replace=False)] += 40.0  # outliers

# %%
# The loss
# --------
#
# A loss has a value, a gradient, a conjugate, and derivatives of the conjugate.
# :func:`multikernel.testing.check_loss` checks whether they are consistent.


@dataclass(frozen=True)
class HuberLoss:
    """Quadratic up to a residual of delta, linear beyond."""

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
# The fit
# -------

K = stack_grams(grams)
robust = SpicyMKLRegressor("precomputed", alpha=0.1, loss=HuberLoss(0.5)).fit(K, y)
plain = SpicyMKLRegressor("precomputed", alpha=0.03).fit(K, y)
print("active with Huber's loss:", robust.active_kernels_[:10])
print("active with the squared loss:", plain.active_kernels_[:10])
print(f"within {robust.duality_gap_:.2%} of the optimum")

# %%
# The effect of the outliers
# --------------------------
#
# With the squared loss, outliers change the function. With Huber's loss, they hardly
# do.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for axis, model, name in zip(axes, (robust, plain), ("Huber", "squared"), strict=True):
    axis.axline((0, 0), slope=1, color="0.7")
    axis.plot(y, model.predict(K), "o", alpha=0.6)
    axis.set(title=f"{name} loss", xlabel="reading")
axes[0].set_ylabel("fitted")
