"""Kernels of sparse tables agree with those of the same dense tables."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from command_line import run_command
from scipy import sparse
from sklearn.metrics import jaccard_score

from multikernel import (
    LpMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    load,
    save,
)
from multikernel.inspection import group_permutation_importance, shapley_values
from multikernel.kernels import (
    CategoryKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    PolynomialKernel,
    TanimotoKernel,
    Unpenalized,
    Views,
    per_column,
)
from multikernel.testing import check_kernel

RNG = np.random.default_rng(0)
COUNTS = (RNG.random((120, 60)) < 0.2) * RNG.integers(1, 4, (120, 60)).astype(float)
y = COUNTS[:, :8].sum(axis=1) - COUNTS[:, 8:16].sum(axis=1)
KERNELS = [LinearKernel(), GaussianKernel("median"), PolynomialKernel(2), "cosine"]
VIEWS = {"a": (slice(0, 20), "tanimoto"), "b": (list(range(50, 20, -1)), KERNELS)}


def test_tanimoto_of_bits_is_the_jaccard_index():
    bits = (COUNTS[:12] > 0).astype(float)
    expected = [[jaccard_score(a, b) for a in bits] for b in bits]
    np.testing.assert_allclose(TanimotoKernel()(bits), expected)
    np.testing.assert_array_equal(TanimotoKernel()(np.zeros((2, 3))), np.ones((2, 2)))
    mixed = np.vstack([bits, 0.0 * bits[:2]])
    assert np.linalg.eigvalsh(TanimotoKernel()(mixed)).min() > -1e-12
    check_kernel(TanimotoKernel(), RNG.normal(size=(30, 4)))


@pytest.mark.parametrize("kernels", ["tanimoto", [*KERNELS, "tanimoto"], VIEWS])
@pytest.mark.filterwarnings("ignore:.*can only memorize")
def test_a_model_is_that_of_the_dense_table(kernels, tmp_path):
    model = SpicyMKLRegressor(kernels, alpha=0.01).fit(COUNTS[:90], y[:90])
    names, expected = model.kernel_names_, model.predict(COUNTS[90:])
    for table in (sparse.csr_matrix(COUNTS), sparse.coo_array(COUNTS)):
        rows = sparse.csr_array(table)
        model.fit(rows[:90], y[:90])
        assert model.kernel_names_ == names
        assert model.n_features_in_ == 60
        np.testing.assert_allclose(model.predict(rows[90:]), expected, atol=1e-6)
        np.testing.assert_allclose(model.predict(COUNTS[90:]), expected, atol=1e-6)
    save(model, tmp_path / "model.mkl")
    again = load(tmp_path / "model.mkl").predict(rows[90:])
    np.testing.assert_array_equal(again, model.predict(rows[90:]))


def test_columns_in_another_order_and_stored_zeros_change_nothing():
    rows = sparse.csr_array(COUNTS)
    turned = rows[:, ::-1][:, ::-1]
    turned.data[turned.data == 1.0] = 0.0
    same = sparse.csr_array(np.where(COUNTS == 1.0, 0.0, COUNTS))
    models = [SpicyMKLRegressor("tanimoto").fit(table, y) for table in (turned, same)]
    values = [model.predict(same) for model in models]
    np.testing.assert_array_equal(values[0], values[1])


def test_searches_weights_and_landmarks():
    rows, labels = sparse.csr_array(COUNTS), np.where(y > np.median(y), "up", "down")
    search = SpicyMKLClassifierCV("tanimoto").fit(rows, labels)
    dense = SpicyMKLClassifierCV("tanimoto").fit(COUNTS, labels)
    np.testing.assert_allclose(search.alpha_, dense.alpha_)
    weights = np.repeat([0.0, 1.0], 60)
    part = LpMKLClassifier("tanimoto").fit(rows, labels, weights)
    alone = LpMKLClassifier("tanimoto").fit(rows[60:], labels[60:])
    same = part.decision_function(rows), alone.decision_function(rows)
    np.testing.assert_allclose(*same, atol=1e-9)
    low = SpicyMKLRegressor("tanimoto", storage="low_rank").fit(rows, y)
    whole = SpicyMKLRegressor("tanimoto").fit(rows, y)
    error = np.abs(low.predict(rows) - whole.predict(rows)).max()
    assert error < 0.05 * y.std()
    falls = group_permutation_importance(
        whole, rows, y, {"used": range(16), "noise": range(16, 60)}, random_state=0
    )
    assert falls.importances_mean[0] > 5.0 * falls.importances_mean[1]


def test_memory_is_that_of_the_nonzero_values():
    n_rows, width = 400, 1_000_000  # 3.2 GB as an array
    columns = RNG.integers(0, 200, (n_rows, 10)) * 5000
    rows = np.repeat(np.arange(n_rows), 10)
    table = sparse.csr_array(
        (np.ones(rows.size), (rows, columns.ravel())), (n_rows, width)
    )
    targets = np.asarray(table[:, [0, 5000, 10000]].sum(axis=1))
    kernels = [GaussianKernel("median"), "tanimoto", LinearKernel()]
    tracemalloc.start()
    model = SpicyMKLRegressor(kernels, storage="dense").fit(table, targets)
    model.predict(table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.parametrize(
    ("kernels", "sentence"),
    [
        (None, "has kernels on single columns"),
        (per_column(LinearKernel(), 60), "has kernels on single columns"),
        (Interactions(VIEWS), "Interactions require kernels on single columns"),
        (CategoryKernel(), "cannot be computed from a sparse table"),
        ({"a": [0, 1]}, "has no kernels"),
        ({"a": Unpenalized([0, 1])}, "must not be Unpenalized: remove this view"),
        (
            Views({"a": ([0, 1], LinearKernel())}, missing="zero"),
            "only missing='error'",
        ),
    ],
)
def test_refusals_say_what_to_do(kernels, sentence):
    rows = sparse.csr_array(COUNTS)
    with pytest.raises(ValueError, match=f"{sentence}.*toarray"):
        SpicyMKLRegressor(kernels).fit(rows, y)


def test_values_and_columns_are_checked():
    rows = sparse.csr_array(COUNTS)
    model = SpicyMKLRegressor("tanimoto").fit(rows, y)
    with pytest.raises(ValueError, match="X has 5 features"):
        model.predict(rows[:, :5])
    with pytest.raises(
        ValueError, match="single columns, which a model fitted on a sparse"
    ):
        shapley_values(model, rows, rows)
    row, column = (indices[3] for indices in rows.nonzero())
    rows.data[3] = np.nan
    with pytest.raises(ValueError, match=f"NaN at row {row}, column {column}"):
        model.predict(rows)


def test_the_command_line_compares_fingerprints(tmp_path):
    bits = (COUNTS > 0).astype(int)
    table = np.column_stack([bits, y])
    names = [*(f"bit{k}" for k in range(60)), "activity"]
    np.savetxt(
        tmp_path / "d.csv", table, delimiter=",", header=",".join(names), comments=""
    )
    command = ["fit", tmp_path / "d.csv", "-t", "activity", "--kernels", "tanimoto"]
    command += ["--task", "regression"]
    assert run_command(*command, "-o", tmp_path / "m.mkl").exit_code == 0
    expected = SpicyMKLRegressor("tanimoto").fit(bits, y).predict(bits)
    found = load(tmp_path / "m.mkl").predict(pd.DataFrame(bits, columns=names[:-1]))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    sparse.save_npz(tmp_path / "bits.npz", sparse.csr_array(bits))
    done = run_command("fit", tmp_path / "bits.npz", "--method", "one-class")
    assert done.exit_code == 1
    assert "does not fit on them" in done.stderr


def test_models_of_dense_tables_predict_for_sparse_ones():
    bits = np.random.default_rng(0).integers(0, 2, (60, 30))
    y = bits[:, 0] + bits[:, 1]
    model = SpicyMKLRegressor("tanimoto").fit(bits[:40], y[:40])
    new = sparse.csr_array(bits[40:])
    np.testing.assert_allclose(model.predict(new), model.predict(bits[40:]))
    assert model.score(new, y[40:]) == model.score(bits[40:], y[40:])
    with pytest.raises(ValueError, match="29 features"):
        model.predict(new[:, :29])
