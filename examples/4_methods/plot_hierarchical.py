"""
Interactions among too many kernels to list
===========================================

Twenty inputs with polynomials up to degree four in each have 5²⁰ products, too many to
list. Hierarchical kernel learning searches them along their graph. Its certificate
covers all of them, including those never visited.
"""

# %%
# The data: a product of two inputs, and a single input
# -----------------------------------------------------

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
print(f"R² on new samples: {model.score(X[300:], y[300:]):.2f}")

# %%
# The selected nodes
# ------------------

HullDisplay.from_estimator(model)
