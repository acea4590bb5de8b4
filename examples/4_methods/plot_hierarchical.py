"""
Interactions among more kernels than atoms
==========================================

Twenty inputs and polynomials up to degree four in each: 5²⁰ products, too many to
list. Hierarchical kernel learning searches them along their graph, and its
certificate counts all of them, the ones never looked at included.
"""

# %%
# A product of two inputs, and one input alone
# --------------------------------------------

import numpy as np

from multikernel import HKLRegressor
from multikernel.display import HullDisplay
from multikernel.kernels.graph import PolynomialGrid

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 20))
y = X[:, 3] * X[:, 7] + 0.5 * X[:, 11] + 0.1 * rng.standard_normal(400)

# %%
# The fit
# -------

graph = PolynomialGrid(4, weight_base=4, root_weight=0.1)
model = HKLRegressor(graph, alpha=0.01).fit(X[:300], y[:300])
print(model.status_message_)
print(f"explained on new samples: {model.score(X[300:], y[300:]):.2f}")

# %%
# What it selected
# ----------------

HullDisplay.from_estimator(model)
