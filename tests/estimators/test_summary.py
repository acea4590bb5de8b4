"""What several targets are called in a summary."""

import numpy as np
import pandas as pd

from multikernel import SpicyMKLRegressor


def test_several_targets_are_named_as_their_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    Y = pd.DataFrame({"height": X[:, 0], "weight": X[:, 1]})
    table = SpicyMKLRegressor(alpha=0.1).fit(X, Y).summary()
    assert set(table["output"]) == {"height", "weight"}
