"""What several targets are called in a summary."""

import numpy as np
import pandas as pd
import pytest

from multikernel import SpicyMKLRegressor


def test_several_targets_are_named_as_their_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    Y = pd.DataFrame({"height": X[:, 0], "weight": X[:, 1]})
    model = SpicyMKLRegressor(alpha=0.1).fit(X, Y)
    assert set(model.summary(outputs="each")["output"]) == {"height", "weight"}
    separate = SpicyMKLRegressor(alpha=0.1, selection="separate").fit(X, Y)
    assert set(separate.summary()["output"]) == {"height", "weight"}


@pytest.mark.parametrize("by", ["kernel", "view"])
def test_a_shared_selection_has_one_row_a_kernel_over_all_outputs(by):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 0]])
    model = SpicyMKLRegressor({"a": [0], "b": [1], "c": [2]}, alpha=0.004)
    table = model.fit(X, Y).summary(by)
    each = model.summary(by, outputs="each")
    assert "output" not in table
    assert table[by].is_unique
    assert table["weight"].sum() == pytest.approx(1.0)
    assert table["variance_share"].sum() == pytest.approx(1.0)
    shares = each.groupby(by)["variance_share"].mean()
    assert dict(zip(table[by], table["variance_share"], strict=True)) == pytest.approx(
        dict(shares)
    )
    if by == "kernel":
        norms = np.linalg.norm(model.block_norms_, axis=0)
        assert sorted(table["block_norm"]) == pytest.approx(sorted(norms[norms > 0]))
    with pytest.raises(ValueError, match="outputs must be 'all', 'each' or None"):
        model.summary(by, outputs="both")
